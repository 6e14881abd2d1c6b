/**
 * What each route takes and answers, for /openapi.json and the table in docs/http.md; a test holds the three
 * together. Schemas are named here and written in openapi.ts, once each. What administrators and the operator do is
 * described in descriptions-administration.ts.
 */
import { type DescribeRouteOptions, describeRoute } from 'hono-openapi'
import { type KeyRole, type ProblemCode, problemStatus } from '../protocol/index.ts'

export type SchemaName =
  | 'ActAnswer'
  | 'AdminKeyRequest'
  | 'Agent'
  | 'AgentChange'
  | 'AgentCreate'
  | 'AgentList'
  | 'ApprovalAct'
  | 'ApprovalList'
  | 'ApprovalReview'
  | 'ApprovalState'
  | 'CallList'
  | 'ConsumeRequest'
  | 'Denial'
  | 'FoundCall'
  | 'GrantList'
  | 'GroupChange'
  | 'GroupList'
  | 'KeyIssued'
  | 'KeyList'
  | 'KeyRequest'
  | 'PolicyActivated'
  | 'PolicyList'
  | 'PolicyPushed'
  | 'ReportAnswer'
  | 'ReportRequest'
  | 'AuthorizeAnswer'
  | 'AuthorizeRequest'
  | 'Explanation'
  | 'Health'
  | 'Problem'
  | 'PublicKeys'
  | 'SegmentIndex'
  | 'Tenant'
  | 'TenantCreate'
  | 'TenantCreated'
  | 'TenantList'
  | 'ToolList'
  | 'WebhookSecret'

interface RouteDescription {
  readonly id: string
  readonly summary: string
  /** Empty: needs no key. */
  readonly roles: readonly (KeyRole | 'operator')[]
  readonly request?: SchemaName
  readonly parameters?: DescribeRouteOptions['parameters']
  readonly answer: Answer
  readonly problems: readonly ProblemCode[]
}

type Answer =
  | { readonly status: 200; readonly says: string; readonly type: string; readonly schema?: SchemaName }
  | { readonly status: 204; readonly says: string }

const schemaRef = (name: SchemaName) => ({ $ref: `#/components/schemas/${name}` })

/** Any route can meet these. */
const everywhere: readonly ProblemCode[] = ['internal_error']
export const authenticated: readonly ProblemCode[] = [
  'authorization_malformed',
  'unauthorized',
  'role_not_allowed',
  'rate_limited',
  'not_configured',
  'unavailable',
  'behind_archive',
]
const withBody: readonly ProblemCode[] = [
  'header_malformed',
  'content_length_mismatch',
  'body_malformed',
  'body_invalid',
  'idempotency_key_mismatch',
  'body_too_large',
  'content_type_unsupported',
  'content_encoding_unsupported',
  'still_stale',
]

export const describeAuthorize = describe({
  id: 'authorize',
  summary: 'Decide one action of an agent, and record the decision',
  roles: ['agent'],
  request: 'AuthorizeRequest',
  parameters: [
    {
      in: 'header',
      name: 'Idempotency-Key',
      description: 'Stands for request_id; both and unequal is refused',
      schema: { type: 'string', pattern: '^[!-~]{1,128}$' },
    },
  ],
  answer: {
    status: 200,
    says: 'The decision and its receipt',
    type: 'application/json',
    schema: 'AuthorizeAnswer',
  },
  problems: [...authenticated, ...withBody, 'idempotency_conflict', 'storage_full', 'line_too_long'],
})

export const describeExplain = describe({
  id: 'explain',
  summary: 'The whole evaluation of an action, without a decision',
  roles: ['auditor', 'admin', 'agent'],
  request: 'AuthorizeRequest',
  parameters: [
    {
      in: 'query',
      name: 'agent',
      description: 'Whose action it would be; an agent key may leave it out',
      schema: { type: 'string' },
    },
  ],
  answer: { status: 200, says: 'The evaluation', type: 'application/json', schema: 'Explanation' },
  problems: [...authenticated, ...withBody, 'query_invalid', 'explain_not_allowed', 'not_found'],
})

export const describeApprovals = describe({
  id: 'approvals',
  summary: 'Approvals that the caller may see',
  roles: ['agent', 'approver', 'admin'],
  parameters: [
    { in: 'query', name: 'status', description: 'Only those in this state', schema: { type: 'string' } },
    {
      in: 'query',
      name: 'after',
      description: 'The approval_id behind which the page begins',
      schema: { type: 'string' },
    },
  ],
  answer: { status: 200, says: 'A page of them', type: 'application/json', schema: 'ApprovalList' },
  problems: [...authenticated, 'query_invalid'],
})

export const describeApproval = describe({
  id: 'approval',
  summary: 'The state for its agent and for admins, the whole frozen action for its approvers',
  roles: ['agent', 'approver', 'admin'],
  answer: { status: 200, says: 'The approval', type: 'application/json', schema: 'ApprovalReview' },
  problems: [...authenticated, 'not_found'],
})

export const smallBody: readonly ProblemCode[] = [
  'header_malformed',
  'content_length_mismatch',
  'body_malformed',
  'body_invalid',
  'body_too_large',
  'content_type_unsupported',
  'content_encoding_unsupported',
]

const approvalActs = {
  approve: { summary: 'Approve exactly what was shown', request: 'ApprovalAct' },
  deny: { summary: 'Deny; one denial decides', request: 'Denial' },
  withdraw: { summary: 'Withdraw an approval that was not used', request: 'ApprovalAct' },
  cancel: { summary: 'Cancel an approval that is pending', request: undefined },
} as const

export function describeApprovalAct(act: keyof typeof approvalActs) {
  const { summary, request } = approvalActs[act]
  return describe({
    id: `approval_${act}`,
    summary,
    roles: act === 'cancel' ? ['agent', 'admin'] : ['approver'],
    ...(request === undefined ? {} : { request }),
    answer: { status: 200, says: 'As it is now', type: 'application/json', schema: 'ApprovalReview' },
    problems: [
      ...authenticated,
      ...(request === undefined
        ? []
        : ([
            ...smallBody,
            'owner_excluded',
            'not_in_group',
            'subject_required',
            'approval_changed',
          ] as const)),
      'not_found',
      'approval_decided',
      'storage_full',
    ],
  })
}

export const describeConsume = describe({
  id: 'consume',
  summary: 'Use an approval, once, for exactly what was approved',
  roles: ['agent'],
  request: 'ConsumeRequest',
  answer: {
    status: 200,
    says: 'The decision and its receipt',
    type: 'application/json',
    schema: 'AuthorizeAnswer',
  },
  problems: [
    ...authenticated,
    ...smallBody,
    'idempotency_key_mismatch',
    'not_found',
    'already_consumed',
    'not_approved',
    'expired',
    'hash_mismatch',
    'idempotency_conflict',
    'still_stale',
    'storage_full',
    'line_too_long',
  ],
})

export const describeReport = describe({
  id: 'report',
  summary: 'Say what came of a grant',
  roles: ['agent'],
  request: 'ReportRequest',
  answer: {
    status: 200,
    says: 'The report and its receipt',
    type: 'application/json',
    schema: 'ReportAnswer',
  },
  problems: [
    ...authenticated,
    ...smallBody,
    'not_found',
    'already_reported',
    'report_too_late',
    'storage_full',
    'line_too_long',
  ],
})

export const describeGrants = describe({
  id: 'grants',
  summary: "The agent's grants that expired and were not reported",
  roles: ['agent'],
  parameters: [
    { in: 'query', name: 'unreported', description: 'true', schema: { type: 'boolean' } },
    {
      in: 'query',
      name: 'after',
      description: 'The grant_id behind which the page begins',
      schema: { type: 'string' },
    },
  ],
  answer: { status: 200, says: 'A page of them', type: 'application/json', schema: 'GrantList' },
  problems: [...authenticated, 'query_invalid'],
})

export const describeHead = describe({
  id: 'chainHead',
  summary: 'The last signed Line, verbatim',
  roles: ['auditor'],
  answer: { status: 200, says: 'One Line, without LF', type: 'application/json' },
  problems: authenticated,
})

export const describeLive = describe({
  id: 'chainLive',
  summary: 'The open Session so far, verbatim',
  roles: ['auditor'],
  parameters: [
    {
      in: 'query',
      name: 'from',
      description:
        'Begins at this Session, if it is not published yet: sealed ones that wait, then the open one',
      schema: { type: 'integer', minimum: 0 },
    },
  ],
  answer: { status: 200, says: 'Lines, each with its LF; empty between Sessions', type: 'application/jsonl' },
  problems: [...authenticated, 'query_invalid', 'not_found'],
})

export const describeSegments = describe({
  id: 'segments',
  summary: 'The index of published Sessions',
  roles: ['auditor'],
  parameters: [
    {
      in: 'query',
      name: 'after',
      description: 'The session_index behind which the page begins',
      schema: { type: 'integer', minimum: 0 },
    },
  ],
  answer: { status: 200, says: 'A page of the index', type: 'application/json', schema: 'SegmentIndex' },
  problems: [...authenticated, 'query_invalid'],
})

export const describeSegment = describe({
  id: 'segment',
  summary: 'A published Session, verbatim; takes Range, If-Range and If-None-Match',
  roles: ['auditor'],
  answer: { status: 200, says: 'The segment; 206 a range of it, 304 it is known', type: 'application/jsonl' },
  problems: [...authenticated, 'not_found', 'range_not_satisfiable'],
})

export const describeSeal = describe({
  id: 'seal',
  summary: 'End the open Session',
  roles: ['admin'],
  answer: { status: 200, says: 'The act', type: 'application/json', schema: 'ActAnswer' },
  problems: [...authenticated, 'storage_full'],
})

export const describeRotateKey = describe({
  id: 'rotateKey',
  summary: 'End the open Session and sign the next ones with a new key',
  roles: ['admin'],
  answer: { status: 200, says: 'The act', type: 'application/json', schema: 'ActAnswer' },
  problems: [...authenticated, 'storage_full'],
})

export const describeEnvelope = describe({
  id: 'envelope',
  summary: 'The bytes of a request, for an auditor to whom that was granted',
  roles: ['auditor'],
  answer: { status: 200, says: 'The bytes', type: 'application/octet-stream' },
  problems: [...authenticated, 'not_found', 'envelope_erased', 'envelopes_not_granted'],
})

export const describeEraseEnvelope = describe({
  id: 'eraseEnvelope',
  summary: 'Erase the bytes of a request, for good',
  roles: ['admin'],
  answer: { status: 200, says: 'The act', type: 'application/json', schema: 'ActAnswer' },
  problems: [...authenticated, 'not_found', 'storage_full'],
})

export const describeKeys = describe({
  id: 'publicKeys',
  summary: 'The public keys of a tenant, as a trust store',
  roles: [],
  answer: { status: 200, says: 'The keys', type: 'application/json', schema: 'PublicKeys' },
  problems: ['not_found', 'not_configured'],
})

export const describePolicy = describe({
  id: 'policySet',
  summary: 'A policy set by its hash, in the bytes that are hashed',
  roles: ['auditor', 'admin'],
  answer: { status: 200, says: 'The bundle object', type: 'application/json' },
  problems: [...authenticated, 'not_found'],
})

export const describeHealth = describe({
  id: 'health',
  summary: 'Whether the Worker lives, and whether it serves',
  roles: [],
  answer: { status: 200, says: 'It lives', type: 'application/json', schema: 'Health' },
  problems: [],
})

export const describeReady = describe({
  id: 'ready',
  summary: 'Whether the Worker serves, as a status',
  roles: [],
  answer: { status: 204, says: 'It serves' },
  problems: ['not_ready'],
})

export const describeOpenApi = describe({
  id: 'openapi',
  summary: 'This document',
  roles: [],
  answer: { status: 200, says: 'OpenAPI 3.1', type: 'application/json' },
  problems: ['not_configured'],
})

/** One route, with whatever any route can meet. */
export function describe(route: RouteDescription) {
  const { answer } = route
  const responses: NonNullable<DescribeRouteOptions['responses']> = {
    [answer.status]: {
      description: answer.says,
      ...(answer.status === 204
        ? {}
        : {
            content: {
              [answer.type]: answer.schema === undefined ? {} : { schema: schemaRef(answer.schema) },
            },
          }),
    },
  }
  for (const [status, codes] of byStatus([...route.problems, ...everywhere])) {
    responses[status] = {
      description: codes.join(', '),
      content: { 'application/problem+json': { schema: schemaRef('Problem') } },
    }
  }
  return describeRoute({
    operationId: route.id,
    summary: route.summary,
    ...(route.roles.length === 0
      ? { security: [] }
      : { security: [{ key: [] }], description: `Roles: ${route.roles.join(', ')}` }),
    ...(route.parameters === undefined ? {} : { parameters: route.parameters }),
    ...(route.request === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaRef(route.request) } },
          },
        }),
    responses,
  })
}

function byStatus(codes: readonly ProblemCode[]): Map<number, ProblemCode[]> {
  const groups = new Map<number, ProblemCode[]>()
  for (const code of codes) {
    const status = problemStatus(code)
    groups.set(status, [...(groups.get(status) ?? []), code])
  }
  return new Map([...groups].sort(([left], [right]) => left - right))
}
