/** Receipts, actions and number literals on which the two verifiers are compared (SPEC.md §3.5, §6.1, §7.12). */
import type { JsonValue } from '../../src/record/index.ts'
import { Forge, type Members, forgeKey } from '../harness/forge.ts'
import { type Random, randomFrom } from '../harness/random.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type ToolCall, actionHash } from '../../src/record/index.ts'
import { hostileRows, hostileValues } from './hostile.ts'

export interface ReceiptCase {
  readonly name: string
  readonly receipt: Uint8Array
  /** JSON text with the five members. */
  readonly action: string
  readonly now: number
  readonly chainId: string
  readonly agentId?: string
  readonly trustStore: string
}

const decidedAt = 1_796_040_000_000
const ours = forgeKey(7)
const toolCall: ToolCall = {
  tool: 'github',
  action: 'merge_pr',
  resource: null,
  mutates_state: true,
  parameters: { count: 1, note: 'é\u007f' },
}
const actions = [
  ...Array.from({ length: 6 }, () => JSON.stringify(toolCall)),
  JSON.stringify({ ...toolCall, resource: 'r' }),
  JSON.stringify(toolCall).replace('"count":1', '"count":1.0'),
  JSON.stringify(toolCall).replace('"é', '"\\ud800'),
]

export function receiptCases(count: number): ReceiptCase[] {
  const cases: ReceiptCase[] = []
  for (let seed = 1; seed <= count; seed += 1) {
    const random = randomFrom(seed * 104_729)
    const agent = random.pick([undefined, 'ci', 'ci', 'other'])
    cases.push({
      name: `receipt ${String(seed)}`,
      receipt: anyReceipt(random),
      action: random.pick(actions),
      now: decidedAt + random.pick([0, 0, 0, 0, -60_000, -60_001, 59_999, 60_000]),
      chainId: random.pick(['acme', 'acme', 'acme', 'acme', 'other']),
      ...(agent === undefined ? {} : { agentId: agent }),
      trustStore: random.pick(stores),
    })
  }
  return cases
}

const pin = { public_key: ours.publicKey }
const stores = [
  ...Array.from({ length: 4 }, () => ({ keys: [pin] })),
  { chain_id: 'acme', keys: [{ ...pin, first_session: 0 }] },
  { chain_id: 'other', keys: [pin] },
  { keys: [{ public_key: forgeKey(9).publicKey }] },
  {
    keys: [
      { ...pin, first_session: 1 },
      { ...pin, last_session: 0 },
    ],
  },
  { keys: [] },
].map((store) => JSON.stringify(store))

function anyReceipt(random: Random): Uint8Array {
  if (random.below(12) === 0) return random.pick(hostileRows)
  const maybe = (value: JsonValue): JsonValue | undefined =>
    random.below(25) === 0 ? random.pick([undefined, ...hostileValues]) : value
  const defined = (members: Members): JsonValue => JSON.parse(JSON.stringify(members)) as JsonValue
  const grant = defined({
    grant_id: maybe('grt_1'),
    tool_id: 'github.merge_pr',
    action_hash: maybe(actionHash(toolCall, nodeSuite)),
    expires_at: maybe(decidedAt + 60_000),
  })
  const over: Members = {
    agent_id: maybe('ci'),
    tool_id: maybe(
      random.pick(['github.merge_pr', 'github.merge_pr', 'github.merge_pr', 'aegis/x', 'aegis', '-']),
    ),
    decided_at: maybe(decidedAt),
    policy: maybe(defined({ status: maybe('allowed') })),
    capability: maybe(defined({ grant: maybe(grant), status: maybe('granted') })),
    execution: maybe(defined({ status: maybe('delegated') })),
  }
  const odd =
    random.below(6) === 0 ? { [random.pick(oddNames)]: random.pick([undefined, 3, 0, ...hostileValues]) } : {}
  const line = new Forge({ key: ours, firstSession: 1 }).outcome('call-1', { ...over, ...odd })
  const row = random.below(15) === 0 ? 'decision' : 'outcome'
  const bytes =
    row === 'outcome'
      ? line.rows[0]
      : new Forge({ key: ours, firstSession: 1 }).decision('apr-1', over).rows[0]
  const end = random.pick(['', '', '\n', '\n', '\n\n', '\r\n'])
  return Buffer.concat([bytes ?? new Uint8Array(0), Buffer.from(end)])
}

const oddNames = [
  'chain_id',
  'session_index',
  'key_id',
  'signature',
  'schema_version',
  'seq',
  'prev_hash',
] as const

/** Sources of an action: right ones, hostile ones, and one around each of many number literals. */
export function actionSources(count: number): string[] {
  const random = randomFrom(4)
  const around = (value: string): string =>
    `{"tool":"t","action":"a","resource":null,"mutates_state":false,"parameters":{"v":${value}}}`
  const digits = (length: number): string =>
    Array.from({ length }, () => String(random.below(3) === 0 ? 0 : random.below(10))).join('')
  const literals = Array.from({ length: count }, () => {
    const whole = random.below(2) === 0 ? '0' : String(1 + random.below(9)) + digits(random.below(18))
    const fraction = random.below(2) === 0 ? '' : `.${digits(1 + random.below(20))}`
    const exponent =
      random.below(2) === 0
        ? ''
        : random.pick(['e', 'E']) + random.pick(['', '+', '-']) + digits(1 + random.below(3))
    return random.pick(['', '', '-']) + whole + fraction + exponent
  })
  const doubles = Array.from({ length: count }, () => {
    const bits = new DataView(new ArrayBuffer(8))
    bits.setUint32(0, random.below(2 ** 32))
    bits.setUint32(4, random.below(2 ** 32))
    const double = bits.getFloat64(0)
    return Number.isFinite(double) ? String(double) : '0'
  })
  const small = Array.from({ length: count }, () => String(random.below(2 ** 32) / 10 ** random.below(30)))
  const texts = [
    '"\\u0000\\u001f\\"\\\\\\/\\b\\f\\n\\r\\t"',
    '"é😀\\ud83d\\ude00\u2028\u007f"',
    '{"\ue000":1,"é":2,"a":{"z":[],"b":{}}}',
    'null',
    '[null,{"a":null}]',
  ]
  const wrong = [
    '', '[]', '{}', 'null', around('1').replace('"t"', '7'), around('1').replace('false', 'null'), around('1').replace('{"v":1}', '[]'),
    around('1').replace('null', '7'), around('1').replace('null', '"r"'), around('1').replace('"tool":"t",', ''), `${around('1')} `, `\ufeff${around('1')}`,
    around('1').replace('"t"', '1.5'),
  ] // prettier-ignore
  const rows = hostileRows
    .map((row) => Buffer.from(row).toString('latin1'))
    .filter((row) => row.length < 1000)
  return [...[...literals, ...doubles, ...small, ...texts, ...rows].map(around), ...wrong]
}
