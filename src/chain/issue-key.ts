/**
 * Keys are issued and confirmed (authorize.md §1). A key with which people are made (admin) or decide (approver) needs two
 * of them: issued by one admin it can do nothing until another confirms it, as soon as the tenant has two. The operator,
 * who could freeze or recover the tenant anyway, needs nobody. Not for secrets: only their hashes come here.
 */
import type { AdministerRefusal, KeyFields } from './acts.ts'
import type { RecordedActor } from './administrative-call.ts'
import { isLive } from './key.ts'
import type { ChainContext } from './ports.ts'
import type { Role } from './records.ts'
import { foldSubject } from './subject.ts'

type Refused = { readonly kind: 'refused'; readonly code: AdministerRefusal }

const refused = (code: AdministerRefusal): Refused => ({ kind: 'refused', code })

/** Roles whose keys a second admin confirms. */
const confirmedRoles: readonly Role[] = ['approver', 'admin']

/** Writes a new key in the caller's transaction, or says why not. */
export function issueKey(
  context: ChainContext,
  actor: RecordedActor,
  key: KeyFields,
): { readonly kind: 'issued'; readonly confirmed: boolean } | Refused {
  const { store } = context
  const code = findKeyRefusal(context, key)
  if (code !== undefined) return refused(code)
  const confirmed =
    actor.role === 'operator' || !confirmedRoles.includes(key.role) || adminSubjects(context).size < 2
  store.writeKey({
    ...key,
    revoked: false,
    confirmed,
    ...(actor.subject === undefined ? {} : { issuedBy: actor.subject }),
  })
  return { kind: 'issued', confirmed }
}

/** By an admin who is neither the one who issued it nor the one whose it is. */
export function confirmKey(
  { store }: ChainContext,
  actor: RecordedActor,
  keyId: string,
): { readonly kind: 'confirmed' } | { readonly kind: 'unchanged' } | Refused {
  const key = store.readKey(keyId)
  if (key === undefined) return refused('not_found')
  if (key.revoked) return refused('key_revoked')
  if (key.confirmed !== false) return { kind: 'unchanged' }
  if (actor.subject === undefined) return refused('role_not_allowed')
  const subject = foldSubject(actor.subject)
  const involved = [key.subject, key.issuedBy ?? ''].map(foldSubject)
  if (involved.includes(subject)) return refused('confirmation_by_another')
  store.writeKey({ ...key, confirmed: true })
  return { kind: 'confirmed' }
}

/** Of whom there are admin keys that may be used now, folded. */
export function adminSubjects({ store, now }: ChainContext): ReadonlySet<string> {
  const live = store.listAdminKeys().filter((key) => isLive(key, now))
  return new Set(live.map((key) => foldSubject(key.subject)))
}

/** Roles include no other; an agent's key names an agent that can act. */
function findKeyRefusal({ store }: ChainContext, key: KeyFields): AdministerRefusal | undefined {
  if (store.readKey(key.id) !== undefined) return 'already_exists'
  if (key.subject === '') return 'subject_required'
  if (key.envelopes === true && key.role !== 'auditor') return 'role_not_allowed'
  if (key.role !== 'agent') return key.agentId === undefined ? undefined : 'role_not_allowed'
  if (key.agentId === undefined) return 'agent_required'
  const agent = store.readAgent(key.agentId)
  if (agent === undefined) return 'not_found'
  return agent.revoked ? 'agent_revoked' : undefined
}
