/** A protected function for the tests of `protect`, the server that it asks, and what came of both. */
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { parseReportRequest } from '../../src/protocol/index.ts'
import { Aegis, type RunningCall } from '../../src/sdk/index.ts'
import type { ApprovalServer } from './approval-server.ts'
import { TestAuthorizer } from './authorizer.ts'
import { PatientClock } from './patient-clock.ts'

export const authorizer = new TestAuthorizer(nodeSuite)
export const merge = { tool: 'github', action: 'merge_pr' } as const

/** A protected function and what it was called with. */
export function merging(server: ApprovalServer, clock = new PatientClock()) {
  const ran: { parameters: unknown; call: RunningCall }[] = []
  const aegis = new Aegis({
    url: server.url,
    key: authorizer.key,
    verify: { keys: [authorizer.publicKey] },
    clock,
  })
  const run = aegis.protect(
    (parameters: { base_branch: string }, call) => {
      ran.push({ parameters, call })
      return `merged ${parameters.base_branch}`
    },
    { ...merge, resource: ({ base_branch }) => `branch:${base_branch}` },
  )
  return { aegis, run, ran, clock }
}

export const reports = (server: ApprovalServer) =>
  server.of('report').map(({ body }) => {
    const read = parseReportRequest(body)
    if (!read.ok) throw new Error('not a report')
    return read.request
  })
