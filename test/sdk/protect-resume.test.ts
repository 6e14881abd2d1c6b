/** Decisions that are kept and resumed, and runs beside each other (authorize.md §7). */
import { describe, expect, it } from 'vitest'
import { parseAuthorizeRequest } from '../../src/protocol/index.ts'
import type { ApprovalRequired } from '../../src/sdk/index.ts'
import { approvalServer } from './approval-server.ts'
import { client, failure } from './client.ts'
import { type Handler, sendJson } from './hostile-server.ts'
import { authorizer, merge, merging } from './merging.ts'
import { PatientClock } from './patient-clock.ts'

describe('a decision that was kept', () => {
  it('as JSON: resumes where it was approved meanwhile, once', async () => {
    const server = await approvalServer(authorizer)
    const { aegis, ran } = merging(server)
    const required = await aegis.authorize({ ...merge, parameters: { base_branch: 'main' } })
    if (required.kind !== 'approval_required') throw new Error(required.kind)
    const kept = JSON.parse(JSON.stringify(required)) as ApprovalRequired
    const run = () =>
      aegis.resume(kept, (parameters: { base_branch: string }) => {
        ran.push({ parameters, call: undefined as never })
        return parameters.base_branch
      })
    expect(await run()).toBe('main')
    expect(await failure(run())).toMatchObject({ code: 'approval_consumed' })
    expect(ran).toHaveLength(1)
    expect(Object.isFrozen(ran[0]?.parameters)).toBe(true)
  })

  it('is for one run, and for what it was given for, whatever was made of it', async () => {
    const server = await approvalServer(authorizer, { decision: 'allow' })
    const { aegis } = merging(server)
    const allowed = await aegis.authorize({ ...merge, parameters: { base_branch: 'main' } })
    if (allowed.kind !== 'allowed') throw new Error(allowed.kind)
    const forged = { ...allowed, action: { ...allowed.action, parameters: { base_branch: 'prod' } } }
    const echo = (parameters: { base_branch: string }) => parameters.base_branch
    expect(await aegis.resume(forged, echo)).toBe('main')
    expect(await failure(aegis.resume(allowed, echo))).toMatchObject({ code: 'grant_used' })
    const stranger = client(server)
    const other = await aegis.authorize({ ...merge, parameters: {} })
    expect(await failure(stranger.resume(other as never, echo))).toMatchObject({ code: 'grant_used' })
  })

  it('reads its approval, reports its grant and lists what was not reported', async () => {
    const grants: Handler = (response, { path }) =>
      sendJson(
        response,
        path.endsWith('&after=grt_1')
          ? { grants: [] }
          : {
              grants: [
                {
                  grant_id: 'grt_1',
                  call_id: 'call_1',
                  tool_id: 'a.b',
                  expires_at: '2026-11-30T12:00:00.000Z',
                },
              ],
              next: 'grt_1',
            },
      )
    const server = await approvalServer(authorizer, { states: ['denied'], routes: { grants } })
    const { aegis } = merging(server)
    const required = await aegis.authorize({ ...merge, parameters: {} })
    if (required.kind !== 'approval_required') throw new Error(required.kind)
    expect(await aegis.approval(required.approval.approvalId)).toMatchObject({
      state: 'denied',
      callId: required.callId,
      reason: { code: 'denied', detail: 'not before the freeze ends' },
    })
    await expect(aegis.approval('../chain/head')).rejects.toMatchObject({ code: 'action_invalid' })
    const { grants: listed, next } = await aegis.unreportedGrants()
    expect(listed).toEqual([
      { grantId: 'grt_1', callId: 'call_1', toolId: 'a.b', expiresAt: Date.UTC(2026, 10, 30, 12) },
    ])
    expect(await aegis.unreportedGrants({ after: next ?? '' })).toEqual({ grants: [], next: undefined })
    const { receipt } = await aegis.report(
      { callId: 'call_1', grantId: 'grt_1' },
      { execution: { status: 'resource_exceeded', kind: 'time' } },
    )
    expect(JSON.parse(receipt.line)).toMatchObject({ tool_id: 'aegis/report', grant_id: 'grt_1' })
  })
})

describe('tasks that run at the same time', () => {
  it('never see each other’s context or parameters', async () => {
    const server = await approvalServer(authorizer, { states: ['pending', 'approved'] })
    const seen: string[] = []
    const run = client(server, { clock: new PatientClock(), context: { session: 'shared' } }).protect(
      async ({ task }: { task: number }, { decision }) => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5))
        seen.push(`${String(task)} ${JSON.stringify(decision.action.parameters)}`)
        return task
      },
      { ...merge, context: { containsSensitiveData: true } },
    )
    const tasks = Array.from({ length: 24 }, (_, task) => task)
    const results = await Promise.all(
      tasks.map((task) =>
        run.with({ context: { user: { id: `u${String(task)}` }, session: `s${String(task)}` } })({ task }),
      ),
    )
    expect(results).toEqual(tasks)
    expect(seen.toSorted()).toEqual(
      tasks.map((task) => `${String(task)} {"task":${String(task)}}`).toSorted(),
    )
    for (const { body } of server.of('authorize')) {
      const read = parseAuthorizeRequest(body)
      if (!read.ok) throw new Error('not read')
      const { toolCall, userId, session, containsSensitiveData } = read.request
      expect([userId, session]).toEqual([
        `u${JSON.stringify(toolCall.parameters['task'])}`,
        `s${JSON.stringify(toolCall.parameters['task'])}`,
      ])
      expect(containsSensitiveData).toBe(true)
    }
  })
})
