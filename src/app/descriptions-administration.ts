/** What the routes of administrators and of the operator take and answer (authorize.md §1, §5); see descriptions.ts. */
import type { DescribeRouteOptions } from 'hono-openapi'
import type { ProblemCode } from '../protocol/index.ts'
import { type SchemaName, authenticated, describe, smallBody } from './descriptions.ts'

const json = 'application/json'

/** Whatever is recorded needs room. */
const act: readonly ProblemCode[] = [...authenticated, 'storage_full']
const actWithBody: readonly ProblemCode[] = [...act, ...smallBody]

const operated: readonly ProblemCode[] = [
  'authorization_malformed',
  'unauthorized',
  'rate_limited',
  'not_configured',
  'unavailable',
]

const after: NonNullable<DescribeRouteOptions['parameters']> = [
  {
    in: 'query',
    name: 'after',
    description: 'The name behind which the page begins: `next` of the page before',
    schema: { type: 'string' },
  },
]

const answers = (says: string, schema: SchemaName) => ({ status: 200, says, type: json, schema }) as const
const theAct = answers('The act', 'ActAnswer')

function describeList(id: string, summary: string, schema: SchemaName) {
  return describe({
    id,
    summary,
    roles: ['admin', 'auditor'],
    parameters: after,
    answer: answers('A page of them', schema),
    problems: [...authenticated, 'query_invalid'],
  })
}

export const describeAgents = describeList('agents', 'Agents, with their last Calls', 'AgentList')

export const describeAgent = describe({
  id: 'agent',
  summary: 'One agent',
  roles: ['admin', 'auditor'],
  answer: answers('The agent', 'Agent'),
  problems: [...authenticated, 'not_found'],
})

export const describeCreateAgent = describe({
  id: 'agent_create',
  summary: 'Create an agent',
  roles: ['admin'],
  request: 'AgentCreate',
  answer: theAct,
  problems: [...actWithBody, 'already_exists'],
})

export const describeChangeAgent = describe({
  id: 'agent_change',
  summary: "Replace an agent's record as a whole",
  roles: ['admin'],
  request: 'AgentChange',
  answer: theAct,
  problems: [...actWithBody, 'not_found', 'agent_revoked'],
})

const agentActs = {
  freeze: 'Freeze an agent: each of its calls is denied',
  unfreeze: 'Unfreeze an agent',
  revoke: 'Revoke an agent, for good',
} as const

export function describeAgentAct(what: keyof typeof agentActs) {
  return describe({
    id: `agent_${what}`,
    summary: agentActs[what],
    roles: ['admin'],
    answer: theAct,
    problems: [...act, 'not_found', 'agent_revoked'],
  })
}

export const describeGroups = describeList('groups', 'Approver groups and who is in them', 'GroupList')

export const describeChangeGroup = describe({
  id: 'group_change',
  summary: 'Say who is in an approver group',
  roles: ['admin'],
  request: 'GroupChange',
  answer: theAct,
  problems: [...actWithBody, 'not_found', 'webhook_refused'],
})

export const describeWebhookSecret = describe({
  id: 'webhook_secret',
  summary: "The secret that signs what is sent to a group's webhook",
  roles: ['admin'],
  answer: answers('The secret', 'WebhookSecret'),
  problems: [...authenticated, 'not_found'],
})

export const describeApiKeys = describeList('apiKeys', 'API keys, without their secrets', 'KeyList')

const keyOnce: NonNullable<DescribeRouteOptions['parameters']> = [
  {
    in: 'header',
    name: 'Idempotency-Key',
    description: 'Makes one key at most: a repeat is refused, and shows nothing',
    schema: { type: 'string', pattern: '^[!-~]{1,128}$' },
  },
]

export const describeIssueKey = describe({
  id: 'key_issue',
  summary: 'Issue an API key; the answer shows it, once',
  roles: ['admin'],
  request: 'KeyRequest',
  parameters: keyOnce,
  answer: answers('The act, and the key', 'KeyIssued'),
  problems: [...actWithBody, 'not_found', 'agent_required', 'agent_revoked', 'already_created'],
})

const keyActs = {
  confirm: {
    summary: "Confirm another admin's new key of an approver or an admin",
    problems: ['confirmation_by_another'],
  },
  revoke: { summary: 'Revoke a key, for good', problems: [] },
} as const satisfies Readonly<Record<string, { summary: string; problems: readonly ProblemCode[] }>>

export function describeKeyAct(what: keyof typeof keyActs) {
  const { summary, problems } = keyActs[what]
  return describe({
    id: `key_${what}`,
    summary,
    roles: ['admin'],
    answer: theAct,
    problems: [...act, 'not_found', 'key_revoked', ...problems],
  })
}

export const describeFreeze = describe({
  id: 'freeze',
  summary: 'Freeze the whole tenant; only the operator unfreezes it',
  roles: ['admin'],
  answer: theAct,
  problems: act,
})

export const describeTools = describeList('tools', 'Tools that are frozen', 'ToolList')

export function describeToolAct(what: 'freeze' | 'unfreeze') {
  return describe({
    id: `tool_${what}`,
    summary: what === 'freeze' ? 'Freeze a tool for all agents' : 'Unfreeze a tool',
    roles: ['admin'],
    answer: theAct,
    problems: [...act, 'tool_id_invalid'],
  })
}

export const describePolicies = describeList(
  'policySets',
  'Policy sets of the tenant, and the one that the deployment carries',
  'PolicyList',
)

export const describePushPolicy = describe({
  id: 'policy_push',
  summary: 'Keep a policy set; the body is its bundle object',
  roles: ['admin'],
  answer: answers('The act, and the hash', 'PolicyPushed'),
  problems: actWithBody,
})

export const describeActivatePolicy = describe({
  id: 'policy_activate',
  summary: 'Put a policy set in force: a new one, or an earlier one again',
  roles: ['admin'],
  answer: answers('The act, and what holds nevertheless', 'PolicyActivated'),
  problems: [...act, 'not_found', 'bundle_invalid'],
})

export const describeShadowPolicy = describe({
  id: 'policy_shadow',
  summary: 'Evaluate a policy set beside the one in force; its answers are recorded only',
  roles: ['admin'],
  answer: theAct,
  problems: [...act, 'not_found', 'bundle_invalid'],
})

export const describeUnshadowPolicy = describe({
  id: 'policy_unshadow',
  summary: 'Evaluate no policy set beside the one in force',
  roles: ['admin'],
  answer: theAct,
  problems: act,
})

export const describeTenants = describe({
  id: 'tenants',
  summary: 'Tenants of the deployment',
  roles: ['operator'],
  parameters: after,
  answer: answers('A page of them', 'TenantList'),
  problems: [...operated, 'query_invalid'],
})

export const describeTenant = describe({
  id: 'tenant',
  summary: 'One tenant',
  roles: ['operator'],
  answer: answers('The tenant', 'Tenant'),
  problems: [...operated, 'not_found'],
})

export const describeCreateTenant = describe({
  id: 'tenant_create',
  summary: 'Create a tenant with the bundle that the deployment carries for it, and its first admin key',
  roles: ['operator'],
  request: 'TenantCreate',
  answer: answers('The issue of the key, and the key', 'TenantCreated'),
  problems: [
    ...operated,
    ...smallBody,
    'already_exists',
    'tenant_name_invalid',
    'tenant_name_used',
    'storage_full',
    'behind_archive',
  ],
})

export const describeIssueAdminKey = describe({
  id: 'tenant_key_issue',
  summary: 'Issue an admin key of a tenant; needs no confirmation',
  roles: ['operator'],
  request: 'AdminKeyRequest',
  parameters: keyOnce,
  answer: answers('The act, and the key', 'KeyIssued'),
  problems: [...operated, ...smallBody, 'not_found', 'already_created', 'storage_full', 'behind_archive'],
})

const tenantActs = {
  freeze: { summary: 'Freeze a tenant: every call of its agents is denied', problems: ['behind_archive'] },
  unfreeze: { summary: 'Unfreeze a tenant', problems: ['behind_archive'] },
  recover: {
    summary: 'Go on behind the archive, after a restore or a loss',
    problems: ['not_behind', 'archive_not_ours'],
  },
} as const satisfies Readonly<Record<string, { summary: string; problems: readonly ProblemCode[] }>>

export function describeTenantAct(what: keyof typeof tenantActs) {
  const { summary, problems } = tenantActs[what]
  return describe({
    id: `tenant_${what}`,
    summary,
    roles: ['operator'],
    answer: theAct,
    problems: [...operated, 'not_found', 'storage_full', ...problems],
  })
}
