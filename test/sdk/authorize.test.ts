/** What `authorize` returns and what it sends (authorize.md §2, §7); the key stays out of sight. */
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { parseAuthorizeRequest } from '../../src/protocol/authorize-request.ts'
import { sourceTrusts as serverTrusts } from '../../src/protocol/source-trust.ts'
import { actionHash } from '../../src/record/index.ts'
import { Aegis, AegisActionError, type AegisOptions, sourceTrusts } from '../../src/sdk/index.ts'
import { allow, client, decide, failure, sequence } from './client.ts'
import type { Arrived } from './hostile-server.ts'
import { action, authorizer } from './mode.ts'

function parsedBody(arrived: Arrived | undefined) {
  const read = parseAuthorizeRequest(arrived?.body ?? new Uint8Array(0))
  if (!read.ok) throw new Error(JSON.stringify(read))
  return read.request
}

describe('a decision', () => {
  it('allow: with grant, receipt and the frozen copy that was decided upon', async () => {
    const server = await sequence(allow)
    const parameters = { base_branch: 'main', labels: ['a', { deep: [1, 0.5, null, true] }] }
    const answer = await client(server).authorize({ ...action, resource: 'repo:acme/widgets#57', parameters })
    if (answer.kind !== 'allowed') throw new Error(answer.kind)
    parameters.labels.push('changed afterwards')
    expect(answer.action).toEqual({
      tool: 'github',
      action: 'merge_pr',
      resource: 'repo:acme/widgets#57',
      mutates_state: true,
      parameters: { base_branch: 'main', labels: ['a', { deep: [1, 0.5, null, true] }] },
    })
    expect(Object.isFrozen(answer.action.parameters['labels'])).toBe(true)
    expect(answer.actionHash).toBe(actionHash(answer.action, nodeSuite))
    expect(answer).toMatchObject({
      reason: { code: 'permitted' },
      risk: { level: 'medium', score: 25 },
      matchedRules: ['the-rule'],
      grant: { toolId: 'github.merge_pr' },
    })
    expect(answer.grant.isUsable()).toBe(true)
    expect(answer.grant.remainingMs()).toBeGreaterThan(50_000)
    expect(answer.grant.remainingMs()).toBeLessThan(60_000)
    expect(JSON.parse(answer.receipt.line)).toMatchObject({
      call_id: answer.callId,
      grant_id: answer.grant.grantId,
    })
  })

  it('deny', async () => {
    const answer = await client(await sequence(decide({ decision: 'deny' }))).authorize(action)
    expect(answer).toMatchObject({
      kind: 'denied',
      reason: { code: 'policy_denied', detail: 'not on a Friday' },
    })
    expect(answer).not.toHaveProperty('grant')
  })

  it('approval required', async () => {
    const answer = await client(await sequence(decide({ decision: 'require_approval' }))).authorize(action)
    if (answer.kind !== 'approval_required') throw new Error(answer.kind)
    expect(answer.approval).toMatchObject({
      groups: ['release-managers'],
      quorum: 1,
      actionHash: answer.actionHash,
    })
    expect(answer.approval.approveBy).toBeGreaterThan(Date.now())
    expect(answer).not.toHaveProperty('grant')
  })
})

describe('the request', () => {
  it('is what the server reads, with every member', async () => {
    const server = await sequence(allow)
    const aegis = client(server, {
      nonce: true,
      context: { session: 'run-7', sourceTrust: 'untrusted_external' },
    })
    await aegis.authorize(
      { ...action, mutates: false },
      {
        context: { sourceTrust: 'semi_trusted_customer', containsSensitiveData: false, user: { id: 'u1' } },
        metadata: { traceparent: '00-…', __proto__x: '1' },
      },
    )
    const [arrived] = server.arrived
    const request = parsedBody(arrived)
    expect(request).toMatchObject({
      sourceTrust: 'semi_trusted_customer',
      containsSensitiveData: false,
      session: 'run-7',
      userId: 'u1',
      metadata: { traceparent: '00-…' },
      toolCall: { ...action, mutates_state: false, resource: null },
      nonce: expect.stringMatching(/^non_[0-9a-z]{26}$/) as string,
    })
    expect(arrived).toMatchObject({ method: 'POST', path: '/v1/authorize' })
    expect(arrived?.headers).toMatchObject({
      authorization: `Bearer ${authorizer.key}`,
      'content-type': 'application/json',
      'x-request-id': request.requestId,
    })
    expect(arrived?.headers['content-encoding']).toBeUndefined()
    expect(Math.abs((request.timestamp ?? 0) - Date.now())).toBeLessThan(5_000)
  })

  it('claims the lowest trust and a change unless told otherwise', async () => {
    const server = await sequence(allow)
    await client(server).authorize({ tool: 'github', action: 'merge_pr' })
    const request = parsedBody(server.arrived[0])
    expect(request).toMatchObject({
      sourceTrust: 'unknown',
      toolCall: { mutates_state: true, parameters: {} },
    })
    expect(request).not.toHaveProperty('nonce')
  })

  it('has another request_id each time', async () => {
    const server = await sequence(allow)
    await client(server).authorize(action)
    await client(server).authorize(action)
    const ids = server.arrived.map((arrived) => parsedBody(arrived).requestId)
    expect(new Set(ids).size).toBe(2)
  })

  it('knows the same names of trust as the server', () => {
    expect(sourceTrusts).toEqual(serverTrusts)
  })

  it.each([
    [{ context: { sourceTrust: 'trusted' } }, '$context.sourceTrust'],
    [{ context: { sourceTrust: null } }, '$context.sourceTrust'],
    [{ context: { source_trust: 'unknown' } }, '$context'],
    [{ context: { session: 'x'.repeat(257) } }, '$context.session'],
    [{ context: { user: 'u1' } }, '$context.user'],
    [{ context: { user: { id: 1 } } }, '$context.user.id'],
    [{ context: { containsSensitiveData: 'no' } }, '$context.containsSensitiveData'],
    [{ metadata: { a: 1 } }, '$metadata["a"]'],
    [{ metadata: { a: 'é'.repeat(129) } }, '$metadata["a"]'],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${String(at)}`, ''])) },
      '$metadata',
    ],
    [{ metadata: [] }, '$metadata'],
  ])('is not sent with %j', async (options, path) => {
    const server = await sequence(allow)
    const error = await failure(client(server).authorize(action, options as never))
    expect(error).toBeInstanceOf(AegisActionError)
    expect(error).toMatchObject({ code: 'action_invalid', path })
    expect(server.arrived).toEqual([])
  })
})

describe('the key', () => {
  const { key } = authorizer
  const secret = key.slice(-52)

  it('is not shown by the client', () => {
    const aegis = new Aegis({ url: 'https://authorizer.example', key })
    for (const text of [
      inspect(aegis, { depth: 9, showHidden: true }),
      JSON.stringify(aegis),
      `${Object.keys(aegis).join()}${Object.values(aegis).join()}`,
    ]) {
      expect(text).not.toContain(secret)
    }
    expect(aegis.tenant).toBe('acme')
  })

  it.each([
    [
      'a fetch that puts it into its error',
      { fetch: () => Promise.reject(new TypeError(`no: ${key}`, { cause: new Error(`Bearer ${secret}`) })) },
    ],
    [
      'a problem that echoes it',
      {
        fetch: () =>
          Promise.resolve(
            new Response(JSON.stringify({ code: 'unauthorized', detail: `not known: ${key}\u001b[2J` }), {
              status: 401,
              headers: { 'content-type': 'application/problem+json' },
            }),
          ),
      },
    ],
  ] satisfies [string, Partial<AegisOptions>][])('is not shown by %s', async (_name, options) => {
    const aegis = new Aegis({ url: 'https://authorizer.example', key, attemptsMax: 1, ...options })
    const error = await failure(aegis.authorize(action))
    expect(error).toBeInstanceOf(Error)
    const shown = inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error)
    expect(shown).not.toContain(secret)
    expect(shown).toContain('[key]')
    expect(shown).not.toContain('\u001b')
  })
})
