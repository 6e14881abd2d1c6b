/**
 * What admins and auditors are shown of what is administered: agents, keys, groups, frozen tools, which policy sets are in
 * use. Pages in the order of names; each takes a token of the tenant's bucket, like every read. A secret's hash never
 * leaves the object this way.
 */
import type { PolicySetHash } from '../record/index.ts'
import { leaveToRead } from './consult.ts'
import type { ChainContext } from './ports.ts'
import type { AgentRecord, GroupRecord, KeyRecord, Role } from './records.ts'
import type { Unavailable } from './unavailable.ts'

const readers: readonly Role[] = ['admin', 'auditor']

/** At about 1 KiB a record, 256 KiB. */
const pageMax = 250

type NotGranted =
  { readonly kind: 'limited'; readonly retryAfterMs: number } | { readonly kind: 'unauthorized' }

export type ListResult<T> =
  | {
      readonly kind: 'list'
      readonly entries: readonly T[]
      /** The last name listed, where there is more. */
      readonly next?: string
    }
  | NotGranted
  | Unavailable

export interface ListedAgent extends AgentRecord {
  /** Absent before its first Call. */
  readonly lastCallAt?: number
}

export interface ListedKey extends Omit<KeyRecord, 'secretHash'> {
  readonly confirmed: boolean
}

export type AgentResult =
  | { readonly kind: 'agent'; readonly agent: ListedAgent }
  | { readonly kind: 'not_found' }
  | NotGranted
  | Unavailable

export type PolicyStateResult =
  | {
      readonly kind: 'policies'
      readonly active?: PolicySetHash
      /** What was active before. */
      readonly previous?: PolicySetHash
      readonly shadow?: PolicySetHash
    }
  | NotGranted
  | Unavailable

export function listAgents(context: ChainContext, keyId: string, after: string): ListResult<ListedAgent> {
  const { store } = context
  return list(context, keyId, (limit) => store.listAgents(after, limit), {
    nameOf: ({ id }) => id,
    toEntry: (agent) => withLastCall(context, agent),
  })
}

export function readAgent(context: ChainContext, keyId: string, agentId: string): AgentResult {
  const leave = leaveToRead(context, keyId, readers)
  if (leave.kind !== 'granted') return leave
  const agent = context.store.readAgent(agentId)
  return agent === undefined ? { kind: 'not_found' } : { kind: 'agent', agent: withLastCall(context, agent) }
}

function withLastCall({ store }: ChainContext, agent: AgentRecord): ListedAgent {
  const lastCallAt = store.readCounters(agent.id)?.lastCallAt
  return { ...agent, ...(lastCallAt === undefined ? {} : { lastCallAt }) }
}

export function listKeys(context: ChainContext, keyId: string, after: string): ListResult<ListedKey> {
  const { store } = context
  return list(context, keyId, (limit) => store.listKeys(after, limit), {
    nameOf: ({ id }) => id,
    toEntry: ({ secretHash: _secretHash, ...key }): ListedKey => ({
      ...key,
      confirmed: key.confirmed !== false,
    }),
  })
}

export function listGroups(context: ChainContext, keyId: string, after: string): ListResult<GroupRecord> {
  const { store } = context
  return list(context, keyId, (limit) => store.listGroups(after, limit), {
    nameOf: ({ name }) => name,
    toEntry: (group) => group,
  })
}

/** Whether a key may be told the secret of a group's webhook: an admin's, also before the webhook is set. */
export function mayReadWebhookSecret(
  context: ChainContext,
  keyId: string,
  group: string,
): { readonly kind: 'granted' } | { readonly kind: 'not_found' } | NotGranted {
  const leave = leaveToRead(context, keyId, ['admin'])
  if (leave.kind !== 'granted') return leave
  return { kind: context.store.readGroup(group) === undefined ? 'not_found' : 'granted' }
}

export function listFrozenTools(context: ChainContext, keyId: string, after: string): ListResult<string> {
  const { store } = context
  return list(context, keyId, (limit) => store.listFrozenTools(after, limit), {
    nameOf: (toolId) => toolId,
    toEntry: (toolId) => toolId,
  })
}

/** Which sets are evaluated; the sets themselves are in the archive. */
export function readPolicyState(context: ChainContext, keyId: string): PolicyStateResult {
  const leave = leaveToRead(context, keyId, readers)
  if (leave.kind !== 'granted') return leave
  const tenant = context.store.readTenant()
  return {
    kind: 'policies',
    ...(tenant?.policySetHash === undefined ? {} : { active: tenant.policySetHash }),
    ...(tenant?.previousPolicySetHash === undefined ? {} : { previous: tenant.previousPolicySetHash }),
    ...(tenant?.shadowHash === undefined ? {} : { shadow: tenant.shadowHash }),
  }
}

function list<T, E>(
  context: ChainContext,
  keyId: string,
  read: (limit: number) => readonly T[],
  { nameOf, toEntry }: { readonly nameOf: (found: T) => string; readonly toEntry: (found: T) => E },
): ListResult<E> {
  const leave = leaveToRead(context, keyId, readers)
  if (leave.kind !== 'granted') return leave
  const found = read(pageMax + 1)
  const page = found.slice(0, pageMax)
  const last = page.at(-1)
  const next = found.length > pageMax && last !== undefined ? { next: nameOf(last) } : {}
  return { kind: 'list', entries: page.map(toEntry), ...next }
}
