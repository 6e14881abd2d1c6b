/**
 * Administrative Calls (SPEC.md §4.9): every act of an operator or an admin is an `intent` and an `outcome` under a
 * reserved `tool_id`, appended in the transaction that makes the change. An act that is refused leaves its Call too.
 * Not an authorizer of HTTP: who the actor is was established before; what he may do is judged here.
 */
import { type LineHash, type PolicySetHash, type RequestDigest, noPolicySet } from '../record/index.ts'
import type { Act, Actor, AdministerResult, AdministrativeCall } from './acts.ts'
import { type RecordedActor, appendEntry } from './administrative-call.ts'
import { type Applied, applyAct } from './apply-act.ts'
import { envelopeNote } from './envelopes.ts'
import { adminSubjects } from './issue-key.ts'
import { readLiveKey } from './key.ts'
import { drawForReading } from './limits.ts'
import type { ChainContext } from './ports.ts'
import type { TenantRecord } from './records.ts'
import { recover } from './recover.ts'
import { unavailable } from './unavailable.ts'

/** Acts that change nothing that a decision reads: they do not raise the revision. */
const neutral: ReadonlySet<Act['act']> = new Set([
  'policy.push',
  'chain.seal',
  'signing_key.rotate',
  'envelope.erase',
])

/** Acts whose Call is the last one of its Session. */
const closing: ReadonlySet<Act['act']> = new Set(['chain.seal', 'signing_key.rotate'])

/** Acts of the operator only. */
const operatorOnly: ReadonlySet<Act['act']> = new Set(['tenant.unfreeze', 'tenant.recover'])

/**
 * Acts that only take away. They draw from the tenant's bucket like every act of an admin, but go on when it is empty: who
 * pulls the plug must not wait behind the agents that emptied it. What bounds them then is the Worker's flood limit.
 */
const urgent: ReadonlySet<Act['act']> = new Set([
  'tenant.freeze',
  'agent.freeze',
  'agent.revoke',
  'tool.freeze',
  'key.revoke',
])

/** One act in its own transaction. */
export function administer(context: ChainContext, call: AdministrativeCall): AdministerResult {
  const { store } = context
  return store.transaction(() => {
    const tenant = store.readTenant()
    if (tenant === undefined) return { kind: 'unauthorized' }
    const actor = readActor(context, call.actor)
    if (actor === undefined) return { kind: 'unauthorized' }
    if (!store.hasRoom()) return unavailable('storage_full')
    const { act } = call
    const limited = drawToken(context, tenant, actor)
    if (limited !== undefined && !urgent.has(act.act)) return { kind: 'limited', retryAfterMs: limited }
    if (isSealedAlready(context, act)) return { kind: 'unchanged', revision: tenant.revision }
    const applied = judge(context, tenant, actor, call)
    if (applied.kind === 'unchanged') return { kind: 'unchanged', revision: tenant.revision }
    const refused = applied.kind === 'refused'
    const raises = !refused && !neutral.has(act.act) && applied.tenant.revision === tenant.revision
    const next: TenantRecord = raises ? { ...applied.tenant, revision: tenant.revision + 1 } : applied.tenant
    // A recovered Chain goes on under its new key; for every other act the Session's key is the one until then.
    const signing = act.act === 'tenant.recover' && !refused ? next : tenant
    const { callId, line, lineHash, head } = appendEntry(
      context,
      signing,
      {
        toolId: `aegis/${act.act}`,
        requestDigest: call.requestDigest,
        policySetHash: tenant.policySetHash ?? noPolicySet,
        actor,
        envelope: envelopeNote(context, tenant, call.requestDigest),
        request: call.request,
        ...(refused ? { refusal: applied.code } : {}),
        ...reasonTextOf(applied, act),
      },
      closing.has(act.act) && !refused ? 'close' : 'go_on',
    )
    const written = act.act === 'signing_key.rotate' && !refused ? rotated(next, act.seedNumber, head) : next
    if (written !== tenant) store.writeTenant(written)
    return {
      kind: refused ? 'refused' : 'done',
      ...(refused ? { code: applied.code } : {}),
      callId,
      line,
      lineHash,
      revision: written.revision,
      ...(applied.kind === 'applied' && applied.confirmed !== undefined
        ? { confirmed: applied.confirmed }
        : {}),
    }
  })
}

/** The operator draws nothing: the bucket is the tenant's, and he must get in when it is empty. */
function drawToken(
  { store, now }: ChainContext,
  { settings }: TenantRecord,
  actor: RecordedActor,
): number | undefined {
  if (actor.role === 'operator') return undefined
  const stored = store.readHead()
  const drawn = drawForReading(stored, settings, now)
  if (drawn.kind === 'limited') return drawn.retryAfterMs
  store.replaceHead(stored, drawn.head)
  return undefined
}

/** What an act was about, where neither its request nor its name says it: in words, for whoever reads the Chain. */
function reasonTextOf(applied: Applied, act: Act): { readonly reasonText?: string } {
  if (applied.kind !== 'unchanged' && applied.reasonText !== undefined) {
    return { reasonText: applied.reasonText }
  }
  switch (act.act) {
    case 'agent.change':
      return { reasonText: `agent ${act.agent.id}` }
    case 'group.change':
      return { reasonText: `group ${act.group}` }
    case 'key.issue': {
      const waits = applied.kind === 'applied' && applied.confirmed === false
      return { reasonText: `key ${act.key.id}, role ${act.key.role}${waits ? ', to be confirmed' : ''}` }
    }
    default:
      return {}
  }
}

function judge(
  context: ChainContext,
  tenant: TenantRecord,
  actor: RecordedActor,
  call: AdministrativeCall,
): Applied {
  const { act, refusal } = call
  if (refusal !== undefined) return { kind: 'refused', tenant, code: refusal }
  if (operatorOnly.has(act.act) && actor.role !== 'operator') {
    return { kind: 'refused', tenant, code: 'role_not_allowed' }
  }
  if (act.act === 'tenant.recover') {
    if (act.plan === undefined) throw new Error('a recovery without a plan')
    return recover(context, tenant, act.plan)
  }
  return applyAct(context, tenant, actor, act)
}

/** A Session of nothing but the request to seal it would prove nothing. */
function isSealedAlready({ store }: ChainContext, { act }: Act): boolean {
  return act === 'chain.seal' && store.readHead().head.state !== 'open'
}

/** The next generation, from the Session behind the one that was just closed. */
function rotated(
  tenant: TenantRecord,
  seedNumber: number,
  { head }: ReturnType<typeof appendEntry>['head'],
): TenantRecord {
  if (head.state !== 'closed') throw new Error('a key changes between Sessions only')
  const keyEpoch = tenant.keyEpoch + 1
  const generation = { keyEpoch, seedNumber, firstSession: head.sessionIndex + 1 }
  return { ...tenant, keyEpoch, seedNumber, keys: [...tenant.keys, generation] }
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

/** What the operator sees of a tenant. */
export interface TenantOverview {
  readonly kind: 'overview'
  readonly createdAt: number
  readonly revision: number
  readonly frozen: boolean
  readonly policySetHash?: PolicySetHash
  readonly keyEpoch: number
  /** Subjects with an admin key that may be used now. */
  readonly admins: number
  /** Whether an admin's key was ever issued: what the creation of a tenant ends with. */
  readonly handedOver: boolean
}

/** For the operator, whom the Worker knows; takes no token. */
export function overview(context: ChainContext): TenantOverview | { readonly kind: 'unauthorized' } {
  const tenant = context.store.readTenant()
  if (tenant === undefined) return { kind: 'unauthorized' }
  const { createdAt, revision, frozen, policySetHash, keyEpoch } = tenant
  return {
    kind: 'overview',
    createdAt,
    revision,
    frozen,
    ...(policySetHash === undefined ? {} : { policySetHash }),
    keyEpoch,
    admins: adminSubjects(context).size,
    handedOver: context.store.listAdminKeys().length > 0,
  }
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
  { request, requestDigest }: { readonly request: Uint8Array; readonly requestDigest: RequestDigest },
): CreateTenantResult {
  const { store, now } = context
  return store.transaction(() => {
    if (store.readTenant() !== undefined) return { kind: 'exists' }
    store.createTenant(tenant, {
      head: { state: 'empty', chainId: tenant.tenant },
      openedAt: 0,
      calls: 0,
      bytes: 0,
      bucket: { tokens: tenant.settings.tenant_burst, at: now },
      day: { day: 0, calls: 0 },
      pendingApprovals: 0,
    })
    const { callId, line, lineHash } = appendEntry(context, tenant, {
      toolId: 'aegis/tenant.create',
      requestDigest,
      policySetHash: noPolicySet,
      actor: { role: 'operator' },
      envelope: envelopeNote(context, tenant, requestDigest),
      request,
    })
    return { kind: 'done', callId, line, lineHash, revision: tenant.revision }
  })
}

function readActor(context: ChainContext, actor: Actor): RecordedActor | undefined {
  if (actor.role === 'operator') return { role: 'operator' }
  const key = readLiveKey(context, actor.keyId, ['admin'])
  if (key === undefined) return undefined
  return { role: key.role, api_key: key.id, subject: key.subject }
}
