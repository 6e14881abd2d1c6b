/** The authorize body: every rule of authorize.md §2, each refusal naming its member. */
import { describe, expect, it } from 'vitest'
import { trustLevels } from '../../src/policy/index.ts'
import {
  describeRefusedMembers,
  parseAuthorizeRequest,
  parseInstant,
  formatInstant,
  sourceTrusts,
} from '../../src/protocol/index.ts'
import { utf8 } from '../../src/record/index.ts'

interface Body {
  [member: string]: unknown
  tool_call: Record<string, unknown>
  context: Record<string, unknown>
}

const body = (): Body => ({
  request_id: 'r-1',
  timestamp: '2026-11-30T12:00:00.000Z',
  nonce: 'n-1',
  tool_call: {
    tool: 'github',
    action: 'merge_pr',
    resource: null,
    mutates_state: true,
    parameters: { a: 1 },
  },
  action_hash: 'a'.repeat(64),
  context: { source_trust: 'unknown', contains_sensitive_data: false, session: 's', user: { id: 'u' } },
  metadata: { traceparent: '00' },
})

const parse = (value: unknown, key?: string) => parseAuthorizeRequest(utf8(JSON.stringify(value)), key)

/** Names of refused members; empty when the body passes. */
function refused(value: unknown): string[] {
  const parsed = parse(value)
  if (parsed.ok) return []
  return parsed.code === 'body_invalid' ? parsed.members.map(({ member }) => member) : [parsed.code]
}

describe('a body that passes', () => {
  it('comes out in the forms that the rest works with', () => {
    expect(parse(body())).toEqual({
      ok: true,
      request: {
        requestId: 'r-1',
        timestamp: Date.UTC(2026, 10, 30, 12),
        nonce: 'n-1',
        toolCall: { ...body().tool_call },
        actionHash: 'a'.repeat(64),
        sourceTrust: 'unknown',
        containsSensitiveData: false,
        session: 's',
        userId: 'u',
        metadata: { traceparent: '00' },
      },
    })
  })

  it('needs no more than this', () => {
    const { tool_call, action_hash } = body()
    expect(refused({ tool_call, action_hash, context: { source_trust: 'unknown' } })).toEqual([])
  })

  it('keeps every key of the parameters, those of prototypes too', () => {
    const text = JSON.stringify(body()).replace('{"a":1}', '{"__proto__":1,"constructor":{"prototype":2}}')
    const parsed = parseAuthorizeRequest(utf8(text))
    if (!parsed.ok) throw new Error('refused')
    expect(JSON.stringify(parsed.request.toolCall.parameters)).toBe(
      '{"__proto__":1,"constructor":{"prototype":2}}',
    )
  })

  it('knows the same levels of trust as the policies', () => {
    expect(sourceTrusts).toEqual(trustLevels)
  })
})

describe('a member that is wrong', () => {
  const long = (bytes: number) => 'é'.repeat(bytes / 2)
  const cases: [string, (value: Body) => void][] = [
    ['request_id', (value) => (value['request_id'] = '')],
    ['request_id', (value) => (value['request_id'] = 'x'.repeat(129))],
    ['request_id', (value) => (value['request_id'] = 'a b')],
    ['request_id', (value) => (value['request_id'] = 'é')],
    ['request_id', (value) => (value['request_id'] = null)],
    ['request_id', (value) => (value['request_id'] = 1)],
    ['nonce', (value) => (value['nonce'] = '')],
    ['nonce', (value) => (value['nonce'] = '\u007f')],
    ['timestamp', (value) => (value['timestamp'] = 1_796_040_000_000)],
    ['timestamp', (value) => (value['timestamp'] = '2026-11-30T12:00:00Z')],
    ['timestamp', (value) => (value['timestamp'] = '2026-11-30T12:00:00.0000Z')],
    ['timestamp', (value) => (value['timestamp'] = '2026-11-30T12:00:00.000+00:00')],
    ['timestamp', (value) => (value['timestamp'] = '2026-02-30T12:00:00.000Z')],
    ['timestamp', (value) => (value['timestamp'] = '2026-11-30T24:00:00.000Z')],
    ['timestamp', (value) => (value['timestamp'] = '2026-12-31T23:59:60.000Z')],
    ['tool_call', (value) => delete (value as Partial<Body>).tool_call],
    ['tool_call', (value) => ((value as Record<string, unknown>)['tool_call'] = 'x')],
    ['tool_call.tool', (value) => delete value.tool_call['tool']],
    ['tool_call.tool', (value) => (value.tool_call['tool'] = 1)],
    ['tool_call.action', (value) => delete value.tool_call['action']],
    ['tool_call.resource', (value) => delete value.tool_call['resource']],
    ['tool_call.resource', (value) => (value.tool_call['resource'] = {})],
    ['tool_call.resource', (value) => (value.tool_call['resource'] = `${long(2048)}x`)],
    ['tool_call.mutates_state', (value) => delete value.tool_call['mutates_state']],
    ['tool_call.mutates_state', (value) => (value.tool_call['mutates_state'] = 'true')],
    ['tool_call.parameters', (value) => delete value.tool_call['parameters']],
    ['tool_call.parameters', (value) => (value.tool_call['parameters'] = [])],
    ['tool_call.parameters', (value) => (value.tool_call['parameters'] = null)],
    ['tool_call.extra', (value) => (value.tool_call['extra'] = 1)],
    ['action_hash', (value) => delete value['action_hash']],
    ['action_hash', (value) => (value['action_hash'] = 'A'.repeat(64))],
    ['action_hash', (value) => (value['action_hash'] = 'a'.repeat(63))],
    ['context', (value) => delete (value as Partial<Body>).context],
    ['context.source_trust', (value) => delete value.context['source_trust']],
    ['context.source_trust', (value) => (value.context['source_trust'] = 'Unknown')],
    ['context.contains_sensitive_data', (value) => (value.context['contains_sensitive_data'] = 0)],
    ['context.session', (value) => (value.context['session'] = `${long(256)}x`)],
    ['context.user', (value) => (value.context['user'] = 'u1')],
    ['context.user.id', (value) => (value.context['user'] = {})],
    ['context.user.id', (value) => (value.context['user'] = { id: `${long(256)}x` })],
    ['context.user.name', (value) => (value.context['user'] = { id: 'u', name: 'x' })],
    ['metadata', (value) => (value['metadata'] = [])],
    [
      'metadata',
      (value) => (value['metadata'] = Object.fromEntries('abcdefghijklmnopq'.split('').map((k) => [k, '']))),
    ],
    ['metadata["a"]', (value) => (value['metadata'] = { a: 1 })],
    ['metadata["a"]', (value) => (value['metadata'] = { a: `${long(256)}x` })],
    ['tenant', (value) => (value['tenant'] = 'acme')],
    ['agent_id', (value) => (value['agent_id'] = 'other')],
    ['constructor', (value) => Object.assign(value, { constructor: {} })],
    ['["a b"]', (value) => (value['a b'] = {})],
  ]
  it.each(cases)('is named: %s (%#)', (member, change) => {
    const value = body()
    change(value)
    expect(refused(value)).toEqual([member])
  })

  it('is named together with all the others', () => {
    const value = { ...body(), action_hash: 1, x: 1, y: 2 }
    value.context['z'] = 3
    value.tool_call['tool'] = null
    const parsed = parse(value)
    if (parsed.ok || parsed.code !== 'body_invalid') throw new Error('passed')
    expect(parsed.members.map(({ member }) => member).sort()).toEqual([
      'action_hash',
      'context.z',
      'tool_call.tool',
      'x',
      'y',
    ])
    expect(describeRefusedMembers(parsed.members)).toContain('tool_call.tool must be a string; ')
  })

  it('named __proto__ is a member like any other', () => {
    const text = JSON.stringify(body()).replace('{"request_id"', '{"__proto__":{},"request_id"')
    const parsed = parseAuthorizeRequest(utf8(text))
    expect(parsed).toMatchObject({ ok: false, members: [{ member: '__proto__' }] })
  })

  it('is one of at most 32 that are named', () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`m${String(at)}`, at]))
    expect(refused({ ...body(), ...many })).toHaveLength(32)
  })

  it('at its limit passes', () => {
    const value = body()
    value['request_id'] = '~'.repeat(128)
    value['nonce'] = '!'
    value.tool_call['resource'] = long(2048)
    value.context['session'] = long(256)
    value.context['user'] = { id: '𝄞'.repeat(64) }
    value['metadata'] = Object.fromEntries('abcdefghijklmnop'.split('').map((k) => [k, '€'.repeat(85)]))
    expect(refused(value)).toEqual([])
  })
})

describe('bytes that are not read', () => {
  it.each([
    ['', '$'],
    ['{', '$'],
    ['[]', '$'],
    ['{"a":1,"a":2}', '$.a'],
    ['{"a":0.10000000000000001}', '$.a'],
    ['{"a":1e400}', '$.a'],
    ['{"a":9007199254740993}', '$.a'],
    ['{"a":-0}', '$.a'],
    ['{"a":NaN}', '$.a'],
    ['{"a":"\\ud800"}', '$.a'],
    ['{"\u{1d11e}":1}', '$'],
    ['\ufeff{}', '$'],
  ])('say where: %s', (text, where) => {
    const parsed = parseAuthorizeRequest(utf8(text))
    if (parsed.ok || parsed.code !== 'body_malformed') throw new Error('read')
    expect(parsed.detail.slice(0, where.length)).toBe(where)
  })
})

describe('Idempotency-Key', () => {
  it('stands for request_id', () => {
    const { tool_call, action_hash, context } = body()
    expect(parse({ tool_call, action_hash, context }, 'k')).toMatchObject({
      ok: true,
      request: { requestId: 'k' },
    })
  })
  it('may repeat it', () => {
    expect(parse(body(), 'r-1')).toMatchObject({ ok: true, request: { requestId: 'r-1' } })
  })
  it('may not contradict it', () => {
    expect(parse(body(), 'r-2')).toEqual({ ok: false, code: 'idempotency_key_mismatch' })
  })
})

describe('instants', () => {
  it('are read back from what is written', () => {
    for (const ms of [0, 1, -1, 1_796_040_000_040, 253_402_300_799_999])
      expect(parseInstant(formatInstant(ms))).toBe(ms)
  })
})
