/** What ran is byte for byte what was authorized, or a typed error came before anything ran (SPEC.md §3.5, §6.1). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { parseAuthorizeRequest } from '../../src/protocol/index.ts'
import { type JsonObject, actionHash, canonicalText } from '../../src/record/index.ts'
import { Aegis, AegisActionError, type ApprovalRequired } from '../../src/sdk/index.ts'
import { type ApprovalServer, approvalServer } from './approval-server.ts'
import { TestAuthorizer } from './authorizer.ts'
import { failure } from './client.ts'
import { PatientClock } from './patient-clock.ts'

const authorizer = new TestAuthorizer(nodeSuite)
const tool = { tool: 'files', action: 'write' }
type Anything = Readonly<Record<string, unknown>>

/** A protected function that keeps the canonical text of what it was called with. */
function writing(server: ApprovalServer) {
  const ran: string[] = []
  const aegis = new Aegis({ url: server.url, key: authorizer.key, clock: new PatientClock() })
  const run = aegis.protect((parameters: Anything) => {
    ran.push(canonicalText(parameters as JsonObject))
  }, tool)
  return { aegis, run, ran }
}

/** The parameters that the server was asked about, as it read them. */
function asked(server: ApprovalServer): (string | undefined)[] {
  return server.of('authorize').map(({ body }) => {
    const read = parseAuthorizeRequest(body)
    return read.ok ? canonicalText(read.request.toolCall.parameters) : undefined
  })
}

describe('what ran is what was authorized', () => {
  it.each(['allow', 'require_approval'] as const)(
    'however the caller changes his objects meanwhile: %s',
    async (decision) => {
      const server = await approvalServer(authorizer, { decision, states: ['pending', 'approved'] })
      const { run, ran } = writing(server)
      const inner = { list: [1, { deep: 'a' }] }
      const parameters: Record<string, unknown> = { path: '/a', inner }
      const running = run.with({
        onApproval: () => {
          parameters['path'] = '/approved'
        },
      })(parameters)
      // The call has returned a promise and nothing more.
      parameters['path'] = '/etc/passwd'
      inner.list.push(2)
      ;(inner.list[1] as { deep: string }).deep = 'b'
      Object.assign(parameters, { added: true })
      await running
      expect(ran).toEqual(['{"inner":{"list":[1,{"deep":"a"}]},"path":"/a"}'])
      expect(asked(server)).toEqual(ran)
    },
  )

  it('also when the context and the options are changed meanwhile', async () => {
    const server = await approvalServer(authorizer, { decision: 'allow' })
    const { run } = writing(server)
    const context = { session: 'mine' }
    const running = run.with({ context })({})
    context.session = 'theirs'
    await running
    expect(Buffer.from(server.of('authorize')[0]?.body ?? []).toString()).toContain('"session":"mine"')
  })

  it('also for a member named __proto__, which becomes nobody’s prototype', async () => {
    const server = await approvalServer(authorizer, { decision: 'allow' })
    const { run, ran } = writing(server)
    await run(JSON.parse('{"__proto__":{"admin":true},"a":1}') as Anything)
    expect(ran).toEqual(['{"__proto__":{"admin":true},"a":1}'])
    expect(asked(server)).toEqual(ran)
    expect(({} as Anything)['admin']).toBeUndefined()
  })

  it('for any JSON', async () => {
    const server = await approvalServer(authorizer, { decision: 'allow' })
    const { run, ran } = writing(server)
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), async (parameters) => {
        ran.length = 0
        const before = server.of('authorize').length
        const error = await failure(run(parameters))
        const refused = error instanceof AegisActionError
        const sent = refused ? [] : [canonicalText(parameters as JsonObject)]
        expect(ran).toEqual(sent)
        expect(asked(server).slice(before)).toEqual(sent)
      }),
      { numRuns: 60 },
    )
  })
})

describe('a typed error, and nothing was sent', () => {
  let read = 0
  const getter = Object.defineProperty({}, 'path', { enumerable: true, get: () => '/a' })
  class Money {
    amount = 1
  }
  const cycle: Record<string, unknown> = {}
  cycle['self'] = { cycle }
  const sparse: unknown[] = []
  sparse[1] = 1
  const traps: ProxyHandler<Record<string, unknown>> = {
    getOwnPropertyDescriptor: () => {
      read += 1
      return { value: read, enumerable: true, configurable: true, writable: true }
    },
    ownKeys: () => ['path'],
  }
  it.each([
    ['a getter', getter, '$.parameters.path'],
    ['a proxy', { p: new Proxy({ path: '/a' }, {}) }, '$.parameters.p'],
    ['a proxy that answers otherwise each time', new Proxy({ path: '/a' }, traps), '$.parameters'],
    ['toJSON', { path: { toJSON: () => '/b' } }, '$.parameters.path.toJSON'],
    ['an instance of a class', { price: new Money() }, '$.parameters.price'],
    ['a Date', { at: new Date(0) }, '$.parameters.at'],
    ['a Map', { map: new Map() }, '$.parameters.map'],
    ['a BigInt', { n: 1n }, '$.parameters.n'],
    ['a cycle', cycle, '$.parameters.self.cycle'],
    ['undefined', { a: undefined }, '$.parameters.a'],
    ['a sparse array', { a: sparse }, '$.parameters.a[0]'],
    ['a function', { f: () => 1 }, '$.parameters.f'],
    ['a symbol as a name', { [Symbol('s')]: 1 }, '$.parameters'],
    ['-0', { n: -0 }, '$.parameters.n'],
    ['NaN', { n: Number.NaN }, '$.parameters.n'],
    ['half a surrogate pair', { s: '\ud800' }, '$.parameters.s'],
    ['an array', [1], '$.parameters'],
    ['a text', 'rm -r /', '$.parameters'],
    ['null', null, '$.parameters'],
    ['undefined itself', undefined, '$.parameters'],
  ])('for %s', async (_name, parameters, path) => {
    const server = await approvalServer(authorizer, { decision: 'allow' })
    const { run, ran } = writing(server)
    const error = await failure(run(parameters as never))
    expect(error).toBeInstanceOf(AegisActionError)
    expect(error).toMatchObject({ code: 'action_invalid', path })
    expect(ran).toEqual([])
    expect(server.arrived).toEqual([])
  })

  it('and no getter ran', async () => {
    let ran = 0
    const { run } = writing(await approvalServer(authorizer, { decision: 'allow' }))
    const parameters = Object.defineProperty({}, 'path', { enumerable: true, get: () => (ran += 1) })
    expect(await failure(run(parameters))).toMatchObject({ path: '$.parameters.path' })
    expect(ran).toBe(0)
  })
})

describe('an approval', () => {
  const original = { path: '/a', text: 'caf\u00e9', n: 0.1, nothing: null, list: [1, 2] }

  async function approved() {
    const server = await approvalServer(authorizer)
    const { aegis } = writing(server)
    const required = await aegis.authorize({ ...tool, parameters: original })
    if (required.kind !== 'approval_required') throw new Error(required.kind)
    await aegis.approval(required.approval.approvalId)
    const consume = (parameters: unknown) =>
      failure(aegis.consume({ ...required, action: { ...required.action, parameters } } as ApprovalRequired))
    return { server, consume }
  }

  it.each([
    ['other order of keys', { list: [1, 2], nothing: null, n: 0.1, text: 'caf\u00e9', path: '/a' }],
    [
      'white space in what it was read from',
      JSON.parse(
        ' {"path" : "/a",\n "text":"caf\\u00e9", "n":1e-1, "nothing":null, "list":[ 1, 2.0 ] }',
      ) as unknown,
    ],
  ])('is for the same action with %s', async (_name, parameters) => {
    const { consume } = await approved()
    expect(await consume(parameters)).toMatchObject({ answered: { kind: 'allowed' } })
  })

  it.each([
    ['another value', { ...original, path: '/b' }],
    ['NFD for NFC', { ...original, text: 'cafe\u0301' }],
    ['another double', { ...original, n: 0.10000000000000002 }],
    ['a number as text', { ...original, n: '0.1' }],
    ['an added member', { ...original, more: 1 }],
    ['a member less', { path: '/a', text: 'caf\u00e9', n: 0.1, nothing: null }],
    ['null left out', { path: '/a', text: 'caf\u00e9', n: 0.1, list: [1, 2] }],
    ['another order of a list', { ...original, list: [2, 1] }],
    ['no member at all', {}],
  ])('is not for %s: nothing is sent', async (_name, parameters) => {
    const { server, consume } = await approved()
    expect(await consume(parameters)).toMatchObject({ code: 'action_invalid', path: '$.action' })
    expect(server.of('consume')).toEqual([])
  })

  it('whose hash the server was told is that of what was sent', async () => {
    const { server, consume } = await approved()
    await consume(original)
    const body = JSON.parse(Buffer.from(server.of('consume')[0]?.body ?? []).toString()) as Anything
    const call = { ...tool, resource: null, mutates_state: true, parameters: original }
    expect(body['action_hash']).toBe(actionHash(call, nodeSuite))
  })
})
