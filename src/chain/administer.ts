/**
 * Administrative Calls (SPEC.md §4.9): every act of an operator or an admin is an `intent` and an `outcome` under a
 * reserved `tool_id`, appended in the transaction that makes the change. An act that is refused leaves its Call too.
 * Not an authorizer of HTTP: who the actor is was established before; what he may do is judged here.
 */
import {
  type LineHash,
  type OutcomeDraft,
  type PolicySetHash,
  type RequestDigest,
  decodeUtf8,
  noPolicySet,
} from '../record/index.ts'
import { append } from './append.ts'
import { newId } from './ids.ts'
import { readLiveKey } from './key.ts'
import type { ChainContext } from './ports.ts'
import type { AgentRecord, ChainSettings, KeyRecord, TenantRecord } from './records.ts'
import { foldSubject } from './subject.ts'
import { type Unavailable, unavailable } from './unavailable.ts'

/** Who acts: the deployment's operator, or the holder of a key of this tenant. */
export type Actor = { readonly role: 'operator' } | { readonly role: 'admin'; readonly keyId: string }

export type Act =
  | { readonly act: 'tenant.freeze' }
  | { readonly act: 'tenant.unfreeze' }
  | { readonly act: 'agent.create'; readonly agent: AgentFields }
  | { readonly act: 'agent.change'; readonly agent: AgentFields }
  | { readonly act: 'agent.freeze'; readonly agentId: string }
  | { readonly act: 'agent.unfreeze'; readonly agentId: string }
  | { readonly act: 'agent.revoke'; readonly agentId: string }
  | { readonly act: 'tool.freeze'; readonly toolId: string }
  | { readonly act: 'tool.unfreeze'; readonly toolId: string }
  | { readonly act: 'group.change'; readonly group: string; readonly members: readonly string[] }
  | { readonly act: 'key.issue'; readonly key: Omit<KeyRecord, 'revoked'> }
  | { readonly act: 'key.revoke'; readonly keyId: string }
  | { readonly act: 'policy.push'; readonly policySetHash: PolicySetHash }
  | {
      readonly act: 'policy.activate'
      readonly policySetHash: PolicySetHash
      readonly settings: ChainSettings
    }
  | { readonly act: 'policy.shadow'; readonly policySetHash: PolicySetHash | undefined }

/** An agent's record without what only freezes and revocations change. */
export type AgentFields = Omit<AgentRecord, 'frozen' | 'revoked'>

export interface AdministrativeCall<A extends Act = Act> {
  readonly actor: Actor
  /** The request's body, verbatim, and its SHA-256. */
  readonly request: Uint8Array
  readonly requestDigest: RequestDigest
  readonly act: A
  /** What was found wrong before the transaction, in the archive: the act is recorded as refused. */
  readonly refusal?: AdministerRefusal
}

export type AdministerResult =
  | {
      /** `refused`: recorded, and nothing changed. */
      readonly kind: 'done' | 'refused'
      /** Of `refused`. */
      readonly code?: AdministerRefusal
      readonly callId: string
      readonly line: string
      readonly lineHash: LineHash
      readonly revision: number
    }
  | { readonly kind: 'unauthorized' }
  | Unavailable

export type AdministerRefusal =
  | 'already_exists'
  | 'not_found'
  | 'agent_revoked'
  | 'key_revoked'
  | 'role_not_allowed'
  | 'agent_required'
  | 'group_members_invalid'
  | 'subject_required'
  | 'bundle_invalid'

/** Acts that change nothing that a decision reads: they do not raise the revision. */
const neutral: ReadonlySet<Act['act']> = new Set(['policy.push'])

/** One act in its own transaction. */
export function administer(context: ChainContext, call: AdministrativeCall): AdministerResult {
  const { store } = context
  return store.transaction(() => {
    const tenant = store.readTenant()
    if (tenant === undefined) return { kind: 'unauthorized' }
    const actor = readActor(context, call.actor)
    if (actor === undefined) return { kind: 'unauthorized' }
    if (!store.hasRoom()) return unavailable('storage_full')
    const applied: Applied =
      call.refusal === undefined ? apply(context, tenant, call) : { tenant, code: call.refusal }
    const raises = applied.code === undefined && !neutral.has(call.act.act)
    const next: TenantRecord = raises ? { ...applied.tenant, revision: tenant.revision + 1 } : applied.tenant
    if (next !== tenant) store.writeTenant(next)
    const { callId, drafts } = administrativeDrafts(context, {
      toolId: `aegis/${call.act.act}`,
      requestDigest: call.requestDigest,
      policySetHash: tenant.policySetHash ?? noPolicySet,
      actor,
      envelope: tenant.settings.envelope,
      ...(applied.code === undefined ? {} : { refusal: applied.code }),
    })
    const head = store.readHead()
    const appended = append(context, tenant, head, head, drafts)
    // The Lines of an act are short and of our own making: too long would be a fault of ours, and nothing may stay.
    if (appended.kind === 'too_long') throw new Error('an administrative Line is too long')
    if (tenant.settings.envelope === 'on') store.stageEnvelope(call.requestDigest, call.request)
    return {
      kind: applied.code === undefined ? 'done' : 'refused',
      ...(applied.code === undefined ? {} : { code: applied.code }),
      callId,
      line: decodeUtf8(appended.line),
      lineHash: appended.lineHash,
      revision: next.revision,
    }
  })
}

/**
 * Whether an actor may act here now: to be asked before anything is done outside the transaction, which then asks again.
 *
 * @returns the tenant's record, or `undefined`.
 */
export function mayAdminister(context: ChainContext, actor: Actor): TenantRecord | undefined {
  const tenant = context.store.readTenant()
  return tenant === undefined || readActor(context, actor) === undefined ? undefined : tenant
}

export type CreateTenantResult =
  | {
      readonly kind: 'done'
      readonly callId: string
      readonly line: string
      readonly lineHash: LineHash
      readonly revision: number
    }
  | { readonly kind: 'exists' }

/** The Call that every tenant's Chain begins with; makes the tables. */
export function createTenant(
  context: ChainContext,
  tenant: TenantRecord,
  request: { readonly request: Uint8Array; readonly requestDigest: RequestDigest },
): CreateTenantResult {
  const { store, now } = context
  return store.transaction(() => {
    if (store.readTenant() !== undefined) return { kind: 'exists' }
    const { settings } = tenant
    store.createTenant(tenant, {
      head: { state: 'empty', chainId: tenant.tenant },
      openedAt: 0,
      calls: 0,
      bytes: 0,
      bucket: { tokens: settings.tenant_burst, at: now },
      day: { day: 0, calls: 0 },
      pendingApprovals: 0,
    })
    const { callId, drafts } = administrativeDrafts(context, {
      toolId: 'aegis/tenant.create',
      requestDigest: request.requestDigest,
      policySetHash: noPolicySet,
      actor: { role: 'operator' },
      envelope: settings.envelope,
    })
    const head = store.readHead()
    const appended = append(context, tenant, head, head, drafts)
    if (appended.kind === 'too_long') throw new Error('an administrative Line is too long')
    if (settings.envelope === 'on') store.stageEnvelope(request.requestDigest, request.request)
    const line = decodeUtf8(appended.line)
    return { kind: 'done', callId, line, lineHash: appended.lineHash, revision: tenant.revision }
  })
}

interface RecordedActorFields {
  readonly role: string
  readonly api_key?: string
  readonly subject?: string
}

function readActor(context: ChainContext, actor: Actor): RecordedActorFields | undefined {
  if (actor.role === 'operator') return { role: 'operator' }
  const key = readLiveKey(context, actor.keyId, ['admin'])
  if (key === undefined) return undefined
  return { role: key.role, api_key: key.id, subject: key.subject }
}

interface Applied {
  readonly tenant: TenantRecord
  readonly code?: AdministerRefusal
}

/** Makes the change, or says why not; writes nothing when it refuses. */
function apply(context: ChainContext, tenant: TenantRecord, call: AdministrativeCall): Applied {
  const { store } = context
  const { act } = call
  const done: Applied = { tenant }
  const refuse = (code: AdministerRefusal): Applied => ({ tenant, code })
  switch (act.act) {
    case 'tenant.freeze':
    case 'tenant.unfreeze':
      return { tenant: { ...tenant, frozen: act.act === 'tenant.freeze' } }
    case 'agent.create':
      if (store.readAgent(act.agent.id) !== undefined) return refuse('already_exists')
      store.writeAgent({ ...act.agent, frozen: false, revoked: false })
      return done
    case 'agent.change':
    case 'agent.freeze':
    case 'agent.unfreeze':
    case 'agent.revoke': {
      const agent = store.readAgent(act.act === 'agent.change' ? act.agent.id : act.agentId)
      if (agent === undefined) return refuse('not_found')
      if (agent.revoked) return refuse('agent_revoked')
      if (act.act === 'agent.change') store.writeAgent({ ...agent, ...act.agent })
      else if (act.act === 'agent.revoke') store.writeAgent({ ...agent, revoked: true })
      else store.writeAgent({ ...agent, frozen: act.act === 'agent.freeze' })
      return done
    }
    case 'tool.freeze':
    case 'tool.unfreeze':
      store.setToolFrozen(act.toolId, act.act === 'tool.freeze')
      return done
    case 'group.change': {
      const members = [...new Set(act.members.map(foldSubject))].sort()
      if (members.includes('')) return refuse('group_members_invalid')
      store.writeGroup({ name: act.group, members })
      return done
    }
    case 'key.issue':
      return issueKey(context, tenant, act.key)
    case 'key.revoke': {
      const key = store.readKey(act.keyId)
      if (key === undefined) return refuse('not_found')
      if (key.revoked) return refuse('key_revoked')
      store.writeKey({ ...key, revoked: true })
      return done
    }
    case 'policy.push':
      return done
    case 'policy.activate':
      return { tenant: { ...tenant, policySetHash: act.policySetHash, settings: act.settings } }
    case 'policy.shadow': {
      const { shadowHash, ...rest } = tenant
      if (act.policySetHash === undefined) return shadowHash === undefined ? done : { tenant: rest }
      return { tenant: { ...rest, shadowHash: act.policySetHash } }
    }
  }
}

/** Roles include no other; an agent's key names an agent that can act. */
function issueKey({ store }: ChainContext, tenant: TenantRecord, key: Omit<KeyRecord, 'revoked'>): Applied {
  const refuse = (code: AdministerRefusal): Applied => ({ tenant, code })
  if (store.readKey(key.id) !== undefined) return refuse('already_exists')
  if (key.subject === '') return refuse('subject_required')
  if (key.role === 'agent') {
    if (key.agentId === undefined) return refuse('agent_required')
    const agent = store.readAgent(key.agentId)
    if (agent === undefined) return refuse('not_found')
    if (agent.revoked) return refuse('agent_revoked')
  } else if (key.agentId !== undefined) {
    return refuse('role_not_allowed')
  }
  store.writeKey({ ...key, revoked: false })
  return { tenant }
}

function administrativeDrafts(
  { now, random }: ChainContext,
  call: {
    readonly toolId: string
    readonly requestDigest: RequestDigest
    readonly policySetHash: PolicySetHash
    readonly actor: RecordedActorFields
    readonly envelope: ChainSettings['envelope']
    readonly refusal?: AdministerRefusal
  },
) {
  const callId = newId('call', random)
  const shared = { call_id: callId, tool_id: call.toolId, request_digest: call.requestDigest }
  const outcome: OutcomeDraft = {
    line_type: 'outcome',
    ...shared,
    policy_set_hash: call.policySetHash,
    policy: call.refusal === undefined ? { status: 'allowed' } : { status: 'denied', reason: call.refusal },
    capability: { status: 'denied', reason: 'administrative' },
    execution:
      call.refusal === undefined ? { status: 'success' } : { status: 'host_denied', reason: call.refusal },
    decision_axes: {
      decided_by: 'admin',
      actor: call.actor,
      ...(call.envelope === 'off' ? { envelope: 'off' as const } : {}),
    },
    decided_at: now,
  }
  return { callId, drafts: [{ line_type: 'intent', ...shared }, outcome] as const }
}
