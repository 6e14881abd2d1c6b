/**
 * A whole authorizer on this machine for the tests of `protect`: authorize asks for an approval, a test decides it, and
 * consumes and reports are answered as the API answers them. Each route can be replaced by one that fails or lies.
 */
import type { ServerResponse } from 'node:http'
import { parseConsumeRequest } from '../../src/protocol/index.ts'
import type { ApprovalStateName } from '../../src/protocol/approval-states.ts'
import type { TestAuthorizer } from './authorizer.ts'
import { type Pending } from './authorizer.ts'
import { type Arrived, type Handler, type HostileServer, sendJson, serve } from './hostile-server.ts'
import { opened } from './mode.ts'

export type Route = 'authorize' | 'poll' | 'consume' | 'report' | 'grants'

export interface Script {
  readonly decision?: 'allow' | 'deny' | 'require_approval'
  /** What an approval becomes by itself, poll after poll; the last one stays. Default approved at once. */
  readonly states?: readonly ApprovalStateName[]
  readonly routes?: Partial<Record<Route, Handler>>
}

export interface ApprovalServer extends HostileServer {
  /** The requests of one route. */
  of(route: Route): readonly Arrived[]
}

export function routeOf(path: string): Route {
  if (path === '/v1/authorize') return 'authorize'
  if (path === '/v1/reports') return 'report'
  if (path.startsWith('/v1/grants')) return 'grants'
  return path.endsWith('/consume') ? 'consume' : 'poll'
}

export async function approvalServer(
  authorizer: TestAuthorizer,
  { decision = 'require_approval', states = ['approved'], routes = {} }: Script = {},
): Promise<ApprovalServer> {
  const polls = new Map<string, number>()
  const answered = new Map<string, unknown>()
  const usual: Record<Route, Handler> = {
    authorize: (response, { body }) => sendJson(response, authorizer.answer(body, { decision })),
    poll: (response, { path }) => {
      const id = path.slice('/v1/approvals/'.length)
      const asked = find(authorizer, id)
      if (asked === undefined) return sendProblem(response, 404, { code: 'not_found' })
      const seen = polls.get(id) ?? 0
      polls.set(id, seen + 1)
      if (asked.state === 'pending' || asked.state === 'approved') {
        asked.state = states[Math.min(seen, states.length - 1)] ?? 'pending'
      }
      return sendJson(response, authorizer.state(id))
    },
    consume: (response, { path, body }) => {
      const key = Buffer.from(body).toString()
      const before = answered.get(key)
      if (before !== undefined) return sendJson(response, before)
      const read = parseConsumeRequest(body)
      const asked = find(authorizer, path.split('/')[3] ?? '')
      if (!read.ok || asked === undefined) return sendProblem(response, 404, { code: 'not_found' })
      const refused = refusalOf(asked, read.request)
      if (refused !== undefined) {
        return sendProblem(response, 409, { code: refused, state: asked.state, call_id: 'call_refused' })
      }
      const answer = authorizer.answer(body, { decision: 'allow' })
      answered.set(key, answer)
      return sendJson(response, answer)
    },
    report: (response, { body }) => sendJson(response, authorizer.report(body)),
    grants: (response) => sendJson(response, { grants: [] }),
  }
  const server = opened(
    await serve((response, arrived) => {
      const route = routeOf(arrived.path)
      return (routes[route] ?? usual[route])(response, arrived)
    }),
  )
  return { ...server, of: (route) => server.arrived.filter(({ path }) => routeOf(path) === route) }
}

export function sendProblem(response: ServerResponse, status: number, body: object): void {
  sendJson(response, { title: 'No', status, detail: 'no', ...body }, status, 'application/problem+json')
}

function find(authorizer: TestAuthorizer, id: string): Pending | undefined {
  return authorizer.pending.find(({ approvalId }) => approvalId === id)
}

function refusalOf(
  asked: Pending,
  request: { readonly actionHash: string; readonly bindingHash: string },
): string | undefined {
  if (asked.state === 'consumed') return 'already_consumed'
  if (asked.state === 'expired' || asked.state === 'lapsed') return 'expired'
  if (asked.state !== 'approved') return 'not_approved'
  const same = request.actionHash === asked.call.action_hash && request.bindingHash === asked.bindingHash
  return same ? undefined : 'hash_mismatch'
}
