/**
 * Drafts and acts for tests of the writer: what a Worker would send to it, in the shape that it sends, with the numbers
 * that a test cares about given and everything else filled in. Runs in Node and in workerd.
 */
import type { Act, AdministrativeCall, AgentFields } from '../../src/chain/acts.ts'
import type { AuthorizeDraft, DraftEvaluation } from '../../src/chain/draft.ts'
import type { ChainSettings, KeyRecord } from '../../src/chain/records.ts'
import { settingsBeforeFirstBundle } from '../../src/chain/settings.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import {
  type ActionHash,
  type PolicySetHash,
  actionHash,
  requestDigest,
  toDigest,
  utf8,
} from '../../src/record/index.ts'

export const somePolicySet = toDigest<PolicySetHash>(nodeSuite.sha256(utf8('a policy set')))

/** Wide enough that no limit is met by chance. */
export const wideSettings: ChainSettings = {
  ...settingsBeforeFirstBundle,
  agent_rate_per_s: 5_000,
  agent_burst: 20_000,
  tenant_rate_per_s: 5_000,
  tenant_burst: 20_000,
  refused_calls_per_minute: 6_000,
  pending_per_agent: 1_000,
}

export function agentFields(id: string, given: Partial<AgentFields> = {}): AgentFields {
  return {
    id,
    environment: 'production',
    owner: 'owner@example.com',
    riskTier: 'standard',
    trustMax: 'trusted_internal_signed',
    forceApproval: false,
    roles: ['coder'],
    ...given,
  }
}

/** A key that never expires within a test; for an agent when `agentId` is given. */
export function keyFields(id: string, given: Partial<KeyRecord> = {}): Omit<KeyRecord, 'revoked'> {
  return {
    id,
    role: given.agentId === undefined ? 'admin' : 'agent',
    subject: 'admin@example.com',
    secretHash: 'ab'.repeat(32),
    expiresAt: Number.MAX_SAFE_INTEGER,
    ...given,
  }
}

/** An act of the operator, or of the admin whose key is given. */
export function act<A extends Act>(what: A, adminKeyId?: string): AdministrativeCall<A> {
  const request = utf8(JSON.stringify({ act: what.act, nonce: Math.random() }))
  return {
    actor: adminKeyId === undefined ? { role: 'operator' } : { role: 'admin', keyId: adminKeyId },
    request,
    requestDigest: requestDigest(request, nodeSuite),
    act: what,
  }
}

export interface DraftGiven extends Partial<Omit<AuthorizeDraft, 'evaluation'>> {
  readonly evaluation?: Partial<DraftEvaluation>
  /** Makes the bytes; equal bodies are equal requests. */
  readonly body?: string
}

/** An allow of `github.create_issue` unless told otherwise. */
export function draft(
  keyId: string,
  revision: number,
  now: number,
  { body = String(Math.random()), evaluation, ...given }: DraftGiven = {},
): AuthorizeDraft {
  const request = utf8(JSON.stringify({ body, request_id: given.requestId ?? '' }))
  return {
    keyId,
    revision,
    evaluatedAt: now,
    request,
    requestDigest: requestDigest(request, nodeSuite),
    actionHash: someAction(body),
    evaluation: {
      decision: 'allow',
      code: 'permitted',
      toolId: 'github.create_issue',
      policySetHash: somePolicySet,
      environment: 'production',
      sourceTrust: 'trusted_internal_signed',
      axes: { decided_by: 'policy', evaluator: 'test', matched_rules: ['rule'], context: { body } },
      ...evaluation,
    },
    ...given,
  }
}

/** A denial by the policy. */
export function denial(code = 'policy_denied'): Partial<DraftEvaluation> {
  return { decision: 'deny', code }
}

function someAction(body: string): ActionHash {
  const call = {
    tool: 'github',
    action: 'create_issue',
    resource: null,
    mutates_state: true,
    parameters: { body },
  }
  return actionHash(call, nodeSuite)
}
