/** Giving up: the caller's signal ends a protected call wherever it stands, nothing runs, and nothing is left running. */
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type RunOptions } from '../../src/sdk/index.ts'
import { type Script, approvalServer } from './approval-server.ts'
import { TestAuthorizer } from './authorizer.ts'
import { client, failure } from './client.ts'

const authorizer = new TestAuthorizer(nodeSuite)
const silence = (): void => undefined
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

const places: Readonly<Record<string, { script: Script; options?: RunOptions; requests: number }>> = {
  'before the decision': { script: { routes: { authorize: silence } }, requests: 1 },
  'while the callback is at work': {
    script: {},
    options: { onApproval: () => new Promise(silence) },
    requests: 1,
  },
  'while it asks where the approval stands': { script: { routes: { poll: silence } }, requests: 2 },
  'between two questions': { script: { states: ['pending'] }, requests: 2 },
  'while it consumes': { script: { routes: { consume: silence } }, requests: 3 },
}

describe('the signal', () => {
  it.each(Object.entries(places))('%s', async (_name, { script, options = {}, requests }) => {
    const server = await approvalServer(authorizer, script)
    const controller = new AbortController()
    let ran = 0
    const run = client(server).protect(() => (ran += 1), { tool: 'github', action: 'merge_pr' })
    const before = timers()
    const ended = failure(run.with({ ...options, signal: controller.signal })())
    while (server.arrived.length < requests) await new Promise((resolve) => setTimeout(resolve, 5))
    // Long enough that an answer has been read and the first pause of a second has begun.
    await new Promise((resolve) => setTimeout(resolve, 100))
    controller.abort()
    expect(await ended).toMatchObject({ code: 'aborted' })
    expect(ran).toBe(0)
    expect(timers()).toBeLessThanOrEqual(before)
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    expect(server.arrived).toHaveLength(requests)
  })

  it('that has fired already: nothing is sent', async () => {
    const server = await approvalServer(authorizer)
    const run = client(server).protect(() => 1, { tool: 'a', action: 'b', signal: AbortSignal.abort() })
    expect(await failure(run())).toMatchObject({ code: 'aborted' })
    expect(server.arrived).toEqual([])
  })

  it('is handed to the function, whose own end counts and is reported', async () => {
    const server = await approvalServer(authorizer, { decision: 'allow' })
    const controller = new AbortController()
    const run = client(server).protect(
      (_parameters, { signal }) => {
        controller.abort()
        return signal?.aborted
      },
      { tool: 'a', action: 'b' },
    )
    expect(await run.with({ signal: controller.signal })()).toBe(true)
    expect(server.of('report')).toHaveLength(1)
  })
})
