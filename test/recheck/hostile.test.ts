/** Chains of someone who wants to break whoever rechecks them: each row is judged, the engine lives, nothing grows. */
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { openUnnamedPolicySet } from '../../src/policy/index.ts'
import { type JsonObject, type JsonValue, utf8 } from '../../src/record/index.ts'
import { DecidedApprovals } from '../../src/recheck/approvals.ts'
import { summaryText } from '../../src/recheck/report.ts'
import { toFile } from '../harness/chain.ts'
import { Forge } from '../harness/forge.ts'
import { recheck, verdictsOf } from '../harness/recheck.ts'
import { recheckEngine } from '../harness/recorded-tenant.ts'
import {
  type DeskCall,
  axesOf,
  begin,
  bundleObject,
  denied,
  principal,
  recordedSet,
  requestOf,
} from '../harness/vectors/recheck-desk.ts'

function setOf(text: string) {
  const opened = openUnnamedPolicySet(utf8(text), nodeSuite)
  if (!opened.ok) throw new Error(JSON.stringify(opened))
  return opened.policySet
}
const own = setOf(recordedSet.text)

function nested(levels: number): JsonValue {
  let value: JsonValue = 'x'
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? { a: value } : { set: [value] }
  return value
}

const context = axesOf({ amount: 50 })['context'] as JsonObject
const withContext = (over: JsonObject): DeskCall['axes'] => ({ context: { ...context, ...over } })
const withArgs = (args: JsonObject): DeskCall['axes'] => withContext({ args })
const amount = { long: '50' }
const many = (count: number, make: (at: number) => JsonValue): JsonValue[] =>
  Array.from({ length: count }, (_, at) => make(at))

/** Each is a Line that the format has no word against. */
const attacks: Readonly<Record<string, DeskCall['axes']>> = {
  'records within records': withContext({ deep: nested(36) }),
  'a set of 13,000 elements': withArgs({ amount, tags: { set: many(13_000, (at) => String(at % 10)) } }),
  'sets within sets': withArgs({
    amount,
    tags: { set: many(200, () => ({ set: ['a', 'b', { set: [] }] })) },
  }),
  'a set within a set within a set': withArgs({ amount, tags: nested(20) }),
  'a string of 50,000 characters': withArgs({ amount, note: 'x*'.repeat(25_000) }),
  'a name of 50,000 characters': withArgs({ amount, [`n${'x'.repeat(50_000)}`]: 'y' }),
  '5,000 arguments': withArgs(
    Object.fromEntries(many(5_000, () => 0).map((_, at) => [`a${String(at)}`, 'y'])) as JsonObject,
  ),
  'an entity': withArgs({ amount: { __entity: { type: 'Role', id: 'admin' } } }),
  'an extension': withArgs({ amount: { __extn: { fn: 'decimal', arg: '1.0' } } }),
  'an expression': withArgs({ amount: { __expr: 'context.args' } }),
  'an entity inside a set': withArgs({ amount, tags: { set: [{ __entity: { type: 'Role', id: 'a' } }] } }),
  'the prototype': withArgs({ amount, ['__proto__']: { long: '1' } }),
  'two tags': withArgs({ amount: { long: '1', set: [] } }),
  'a long that is none': withArgs({ amount: { long: '9999999999999999' } }),
  'a long with a sign of its own': withArgs({ amount: { long: '+5' } }),
  'a decimal that is none': withArgs({ amount, price: { decimal: '1e400' } }),
  'an address that is none': withArgs({ amount, from: { ipaddr: '::'.repeat(1_000) } }),
  'a time that is none': withArgs({ amount, when: { datetime: '9'.repeat(2_000) } }),
  'integers where values are': withArgs({ amount: 50 }),
  'an array where a value is': withArgs({ amount: [[[]]] }),
  'arguments that are none': withContext({ args: ['x'] }),
  'a trust that is none': withContext({ source_trust: 'root' }),
  'a trust by entity': withContext({ source_trust: { __entity: { type: 'Role', id: 'a' } } }),
  'an agent of a type with 150 brackets': { principal: { ...principal, type: '('.repeat(150) } },
  'a resource of a type with 150 brackets': { resource: { type: '['.repeat(150), id: '' } },
  'an action of a type with 1,000 parts': { action: { type: 'a::'.repeat(1_000), id: 'desk.refund' } },
  'an action that is not the tool': { action: { type: 'Action', id: 'desk.look' } },
  'roles of a type of their own': { principal: { ...principal, parents: [{ type: 'Agent', id: 'root' }] } },
  '1,000 roles': {
    principal: { ...principal, parents: many(1_000, (at) => ({ type: 'Role', id: String(at) })) },
  },
  'an attribute that is an entity': {
    principal: { ...principal, attrs: { owner: { __entity: { type: 'Role', id: 'a' } } } },
  },
  'an id of 20,000 characters': { principal: { ...principal, id: 'x'.repeat(20_000) } },
}

describe('a Chain that wants to break the engine', { timeout: 60_000 }, () => {
  it('gets `no_binding` row by row, at once, and the honest row behind them is judged as ever', () => {
    const chain = begin()
    for (const axes of Object.values(attacks))
      chain.call({ amount: 50, ...(axes === undefined ? {} : { axes }) })
    chain.call({ amount: 50 })
    const before = recheckEngine.state().rebuilt
    const startedAt = performance.now()
    const done = recheck(chain.end(), { under: own })
    const elapsedMs = performance.now() - startedAt
    const said = Object.fromEntries(Object.keys(attacks).map((name, at) => [name, verdictsOf(done)[at]]))
    expect(said).toEqual(
      Object.fromEntries(Object.keys(attacks).map((name) => [name, 'indeterminate no_binding'])),
    )
    expect(verdictsOf(done).at(-1)).toBe('unchanged allowed')
    expect(recheckEngine.state().rebuilt).toBe(before)
    // Some 30 rows of up to 64 KiB; one such set alone costs the engine more than 60 ms.
    expect(elapsedMs).toBeLessThan(2_000)
  })

  it('gets the same of the agent where the request is bound anew', () => {
    const moved = setOf(
      bundleObject(
        {},
        { refund: { args: {}, default: 'evaluate', mutates_state: true, resource: 'claimed', risk: 'low' } },
      ).text,
    )
    const chain = begin()
    const principals = Object.values(attacks).flatMap((axes) =>
      axes?.['principal'] === undefined ? [] : [axes],
    )
    for (const axes of principals) chain.call({ amount: 50, axes })
    const file = chain.end()
    const envelopes = new Map(
      [[nodeSuite.sha256(utf8(requestOf({ amount: 50 }))), utf8(requestOf({ amount: 50 }))]].map(
        ([digest, bytes]) => [Buffer.from(digest as Uint8Array).toString('hex'), bytes as Uint8Array],
      ),
    )
    const verdicts = verdictsOf(recheck(file, { under: moved, envelopes }))
    expect(verdicts).toEqual(principals.map(() => 'indeterminate no_binding'))
  })

  it('cannot be bound from an Envelope that is no request of ours', () => {
    const bodies = [
      '',
      'null',
      '[]',
      '{}',
      '{"tool_call":{}}',
      `{"a":${'['.repeat(100)}${']'.repeat(100)}}`,
      '\ufeff{}',
      '{"tool_call":1,"tool_call":2}',
    ]
    const chain = begin()
    const envelopes = new Map<string, Uint8Array>()
    for (const body of bodies) {
      const digest = Buffer.from(nodeSuite.sha256(utf8(body))).toString('hex')
      envelopes.set(digest, utf8(body))
      chain.call({ amount: 50, axes: { bindings_hash: '0'.repeat(64) }, over: { request_digest: digest } })
    }
    const verdicts = verdictsOf(recheck(chain.end(), { under: own, envelopes }))
    expect(verdicts).toEqual(bodies.map(() => 'indeterminate no_binding'))
  })
})

describe('a Chain that wants memory', () => {
  it('has a thousand names in each table, and all others in one row', () => {
    const forge = new Forge().open()
    for (let at = 0; at < 3_000; at += 1) {
      forge.outcome('call', {
        tool_id: `tool-${String(at)}`,
        agent_id: `agent-${String(at)}`,
        policy: denied(`code-${String(at)}`),
        decision_axes: at % 2 === 0 ? { decided_by: 'pipeline' } : {},
      })
    }
    const { summary } = recheck(forge.file, { under: own })
    expect(summary.tools.rows).toHaveLength(1_001)
    expect(summary.codes.rows).toHaveLength(1_001)
    expect(summary.tools.rows.at(-1)).toEqual({
      name: undefined,
      counts: { unchanged: 0, newly_blocked: 0, newly_allowed: 0, newly_parked: 0, indeterminate: 500 },
    })
    expect(summaryText(summary)).toContain('\n(all others)')
  })

  it('has the oldest approvals forgotten, which is then said of their uses', () => {
    const approvals = new DecidedApprovals(1_000)
    const asked = { groups: ['a'], quorum: 1 }
    for (let at = 0; at < 100; at += 1) approvals.add(`apr_${String(at)}`, [['a', 1]])
    expect(approvals.meets('apr_0', asked)).toBeUndefined()
    expect(approvals.meets('apr_99', asked)).toBe(true)
    // One that is larger than all there is room for.
    approvals.add('x'.repeat(2_000), [['a', 1]])
    expect(approvals.meets('x'.repeat(2_000), asked)).toBeUndefined()
    expect(approvals.meets('apr_99', asked)).toBeUndefined()
  })

  it('has rows of any kind and number, and none of them hangs or throws', () => {
    const rows = [
      '{}',
      '[]',
      'null',
      '"x"',
      '0',
      '{"line_type":"outcome"}',
      '{"line_type":"decision"}',
      '{"approval_id":"a","line_type":"decision","prev_hash":"","seq":0,"verdict":{"verdict":"approved"}}',
      '{"call_id":"","decision_axes":[],"line_type":"outcome","policy":"x","seq":0}',
      '{"call_id":"a","decision_axes":{"decided_by":"admin"},"line_type":"outcome","seq":0}',
      '{"line_type":"open","session_index":"x"}',
      '{"line_type":{}}',
      '{"__proto__":{"line_type":"outcome"}}',
      '{"line_type":"outcome","line_type":"open"}',
      '\u0000',
      'x'.repeat(70_000),
    ]
    const done = recheck(toFile(rows.map((row) => utf8(row))), { under: own })
    expect(done.rows).toEqual([
      'row 1 is no Line: member_invalid',
      'row 2 is no Line: not_an_object',
      'row 3 is no Line: not_an_object',
      'row 4 is no Line: not_an_object',
      'row 5 is no Line: not_an_object',
      'row 6 is no Line: member_invalid',
      'call - session 0 seq 0: indeterminate no_binding',
      'row 12 is no Line: member_invalid',
      'row 13 is no Line: member_invalid',
      'row 14 is no Line: not_canonical',
      'row 15 is no Line: malformed_line',
      'row 16 is no Line: line_too_long',
    ])
    expect(done.summary.administrative).toBe(1)
  })
})
