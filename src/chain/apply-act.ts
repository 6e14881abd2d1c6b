/** What an administrative act changes, or why it is refused: a refused act has written nothing. */
import { eraseForMs } from './erase.ts'
import type { Act, AdministerRefusal } from './acts.ts'
import type { RecordedActor } from './administrative-call.ts'
import { confirmKey, issueKey } from './issue-key.ts'
import type { ChainContext } from './ports.ts'
import type { TenantRecord } from './records.ts'
import { foldSubject } from './subject.ts'

export type Applied =
  /** Done, with this tenant from now on. */
  | {
      readonly kind: 'applied'
      readonly tenant: TenantRecord
      readonly reasonText?: string
      /** Of a key that was issued. */
      readonly confirmed?: boolean
    }
  | {
      readonly kind: 'refused'
      readonly tenant: TenantRecord
      readonly code: AdministerRefusal
      readonly reasonText?: string
    }
  | { readonly kind: 'unchanged' }

/** Makes the change in the caller's transaction. The Session's end, and the key of the next, are the caller's. */
export function applyAct(
  context: ChainContext,
  tenant: TenantRecord,
  actor: RecordedActor,
  act: Exclude<Act, { act: 'tenant.recover' }>,
): Applied {
  const { store } = context
  const done: Applied = { kind: 'applied', tenant }
  const refuse = (code: AdministerRefusal): Applied => ({ kind: 'refused', tenant, code })
  switch (act.act) {
    case 'tenant.freeze':
    case 'tenant.unfreeze':
      return { kind: 'applied', tenant: { ...tenant, frozen: act.act === 'tenant.freeze' } }
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
      // Calls carry normalised names: a freeze under another spelling would never meet one.
      if (!isNormalisedToolId(act.toolId)) return refuse('tool_id_invalid')
      store.setToolFrozen(act.toolId, true)
      return done
    case 'tool.unfreeze':
      store.setToolFrozen(act.toolId, false)
      return done
    case 'group.change': {
      const members = [...new Set(act.members.map(foldSubject))].sort()
      if (members.includes('')) return refuse('group_members_invalid')
      const webhook = act.webhook === undefined ? store.readGroup(act.group)?.webhook : act.webhook
      const told = webhook === undefined || webhook === null ? {} : { webhook }
      store.writeGroup({ name: act.group, members, ...told })
      return done
    }
    case 'key.issue': {
      if (act.once === true && store.readKey(act.key.id) !== undefined) return { kind: 'unchanged' }
      const issued = issueKey(context, actor, act.key)
      if (issued.kind === 'refused') return refuse(issued.code)
      return { ...done, confirmed: issued.confirmed }
    }
    case 'key.confirm': {
      const confirmed = confirmKey(context, actor, act.keyId)
      if (confirmed.kind === 'refused') return refuse(confirmed.code)
      return confirmed.kind === 'unchanged' ? confirmed : done
    }
    case 'key.revoke': {
      const key = store.readKey(act.keyId)
      if (key === undefined) return refuse('not_found')
      if (key.revoked) return refuse('key_revoked')
      store.writeKey({ ...key, revoked: true })
      return done
    }
    case 'policy.push':
    case 'chain.seal':
    case 'signing_key.rotate':
      return done
    case 'policy.activate':
      // A shorter retention counts from now on, whenever the next look at it would have been.
      if (act.settings.envelope_retention_days !== tenant.settings.envelope_retention_days) {
        store.writeDue({ name: 'retention', at: context.now, attempts: 0 })
      }
      return {
        kind: 'applied',
        tenant: {
          ...tenant,
          policySetHash: act.policySetHash,
          settings: act.settings,
          // The same one again is no change: there is still something to go back to.
          ...(tenant.policySetHash === undefined || tenant.policySetHash === act.policySetHash
            ? {}
            : { previousPolicySetHash: tenant.policySetHash }),
        },
      }
    case 'policy.shadow': {
      const { shadowHash, ...rest } = tenant
      if (act.policySetHash === undefined) return shadowHash === undefined ? done : { ...done, tenant: rest }
      return { kind: 'applied', tenant: { ...rest, shadowHash: act.policySetHash } }
    }
    case 'envelope.erase':
      if (store.isErased(act.digest)) return { kind: 'unchanged' }
      if (!act.found) return refuse('not_found')
      store.insertErased(act.digest, context.now + eraseForMs)
      store.deleteEnvelope(act.digest)
      store.writeDue({ name: 'erase', at: context.now, attempts: 0 })
      return done
  }
}

/** Lowercase `tool.action` of the characters that identifiers may have (authorize.md §3 step 5). */
function isNormalisedToolId(toolId: string): boolean {
  const names = /^([a-z0-9][a-z0-9._:/-]{0,127})\.([a-z0-9][a-z0-9_:/-]{0,127})$/.exec(toolId)
  return names !== null && !/\.\.|\/\//.test(toolId) && !/^(aegis\/|tool:|risk:)/.test(toolId)
}
