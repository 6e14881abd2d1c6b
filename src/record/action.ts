/**
 * What an approval and a grant are bound to: `action_hash` over the action as the caller sent it, `binding_hash` over
 * everything that a human approved (SPEC.md §6). Not for parsing a request: the values come in parsed under the
 * profile of action parameters.
 */
import {
  type ActionHash,
  type BindingHash,
  type PolicySetHash,
  type RequestDigest,
  toDigest,
} from './digest.ts'
import { encodeCanonical } from './jcs.ts'
import type { JsonObject } from './json.ts'
import type { Digester } from './signature.ts'

/** An action as the caller sent it; identifiers are not normalised here. */
export interface ToolCall {
  readonly tool: string
  readonly action: string
  readonly resource: string | null
  readonly mutates_state: boolean
  readonly parameters: JsonObject
}

/** The bytes that `action_hash` is the SHA-256 of: exactly five members, whatever else the object carries. */
export function actionPreimage(call: ToolCall): Uint8Array {
  return encodeCanonical({
    action: call.action,
    mutates_state: call.mutates_state,
    parameters: call.parameters,
    resource: call.resource,
    tool: call.tool,
  })
}

/** SHA-256 of {@link actionPreimage} (SPEC.md §6.1). */
export function actionHash(call: ToolCall, digester: Digester): ActionHash {
  return toDigest<ActionHash>(digester.sha256(actionPreimage(call)))
}

/** What a human approves, in the member names of SPEC.md §6.2. */
export interface ApprovalBinding {
  readonly action_hash: ActionHash
  readonly agent_id: string
  readonly approval_id: string
  /** Integer ms since the epoch, UTC. */
  readonly approve_by: number
  readonly approver_groups: readonly string[]
  readonly call_id: string
  /** Empty when the agent has none. */
  readonly environment: string
  readonly policy_set_hash: PolicySetHash
  readonly quorum: number
  readonly request_digest: RequestDigest
  /** The effective one, not the claimed one. */
  readonly source_trust: string
  readonly tenant: string
  readonly use_within_ms: number
}

/** The bytes that `binding_hash` is the SHA-256 of; the groups are sorted here. */
export function bindingPreimage(binding: ApprovalBinding): Uint8Array {
  return encodeCanonical({
    action_hash: binding.action_hash,
    agent_id: binding.agent_id,
    approval_id: binding.approval_id,
    approve_by: binding.approve_by,
    approver_groups: [...binding.approver_groups].sort(),
    call_id: binding.call_id,
    environment: binding.environment,
    policy_set_hash: binding.policy_set_hash,
    quorum: binding.quorum,
    request_digest: binding.request_digest,
    source_trust: binding.source_trust,
    tenant: binding.tenant,
    use_within_ms: binding.use_within_ms,
  })
}

/** SHA-256 of {@link bindingPreimage} (SPEC.md §6.2). */
export function bindingHash(binding: ApprovalBinding, digester: Digester): BindingHash {
  return toDigest<BindingHash>(digester.sha256(bindingPreimage(binding)))
}
