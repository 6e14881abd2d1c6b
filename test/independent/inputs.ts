/** Inputs on which the two verifiers are compared: Chains as they should be, and broken in every way that came to mind. */
import { type BuiltChain, buildChain, joinBytes, toFile } from '../harness/chain.ts'
import { Forge, type ForgeKey, type Members, forgeKey, sha256Hex } from '../harness/forge.ts'
import { type Random, randomFrom } from '../harness/random.ts'
import type { JsonValue } from '../../src/record/index.ts'
import { hostileRows, hostileStores, hostileValues } from './hostile.ts'

export interface Input {
  readonly name: string
  readonly files: readonly Uint8Array[]
  readonly keys?: readonly string[]
  readonly trustStore?: Uint8Array
  /** `SESSION:SEQ:LINE_HASH`, or the bytes of a head file. */
  readonly head?: string | Uint8Array
}

const ours = forgeKey(7)
const theirs = forgeKey(9)

/** Unbroken Chains of every shape, plain and with pins and a head. */
export function goodInputs(): Input[] {
  const inputs: Input[] = []
  for (let seed = 1; seed <= 16; seed += 1) {
    const chain = buildChain({ ...shape(seed), sessions: 1 + (seed % 3), callsPerSession: seed % 5 })
    const name = `chain ${String(seed)}`
    const { session_index, seq, lineHash } = chain.head
    inputs.push(
      { name, files: chain.files },
      { name: `${name}, pinned`, files: [chain.bytes], trustStore: chain.trustStore },
      { name: `${name}, one key`, files: [chain.bytes], keys: [chain.keys[0]?.publicKey ?? ''] },
      {
        name: `${name}, head`,
        files: [chain.bytes],
        head: `${String(session_index)}:${String(seq)}:${lineHash}`,
      },
    )
    for (const [at, line] of chain.lines.entries()) {
      const pinned = at % 2 === 0 ? {} : { trustStore: chain.trustStore }
      inputs.push({
        name: `${name}, line ${String(at)} as head`,
        files: chain.files,
        head: line.bytes,
        ...pinned,
      })
    }
    for (let from = 1; from < chain.files.length; from += 1) {
      inputs.push({ name: `${name}, from session ${String(from)}`, files: chain.files.slice(from) })
    }
  }
  return inputs
}

function shape(seed: number): Parameters<typeof buildChain>[0] {
  return {
    seed,
    interleave: seed % 2 === 0,
    approvals: seed % 3 !== 0,
    rotate: seed % 4 < 2,
    closeLast: seed % 5 !== 0,
    tenant: seed % 7 === 0 ? 'other' : 'acme',
  }
}

/** The same Chains with one thing done to their bytes or rows. */
export function brokenInputs(count: number): Input[] {
  const random = randomFrom(1)
  const chains = [1, 2, 3, 4, 5].map((seed) =>
    buildChain({ ...shape(seed), sessions: 2, callsPerSession: 2 }),
  )
  const inputs: Input[] = []
  for (let at = 0; at < count; at += 1) {
    const chain = random.pick(chains)
    const [what, change] = random.pick(changes)
    const files = change(chain, random)
    inputs.push(withOptions({ name: `${String(at)}: ${what}`, files }, random))
  }
  return inputs
}

type Change = (chain: BuiltChain, random: Random) => Uint8Array[]

const changes: readonly (readonly [string, Change])[] = [
  ['one bit', ({ bytes }, random) => [withByte(bytes, random, (old) => old ^ (1 << random.below(8)))]],
  ['one bit', ({ bytes }, random) => [withByte(bytes, random, (old) => old ^ (1 << random.below(8)))]],
  ['one byte', ({ bytes }, random) => [withByte(bytes, random, () => random.pick(hostileBytes))]],
  ['cut', ({ bytes }, random) => [bytes.subarray(0, random.below(bytes.length))]],
  ['beginning lost', ({ bytes }, random) => [bytes.subarray(random.below(bytes.length))]],
  ['cut to rows', (chain, random) => [toFile(rowsOf(chain).slice(0, random.below(chain.lines.length + 1)))]],
  [
    'one byte put in',
    ({ bytes }, random) => {
      const at = random.below(bytes.length + 1)
      return [
        joinBytes([bytes.subarray(0, at), Uint8Array.of(random.pick(hostileBytes)), bytes.subarray(at)]),
      ]
    },
  ],
  [
    'a piece taken out',
    ({ bytes }, random) => {
      const at = random.below(bytes.length)
      return [joinBytes([bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(600))])]
    },
  ],
  [
    'two rows swapped',
    (chain, random) => {
      const rows = rowsOf(chain)
      const [a, b] = [random.below(rows.length), random.below(rows.length)]
      const held = rows[a] as Uint8Array
      rows[a] = rows[b] as Uint8Array
      rows[b] = held
      return [toFile(rows)]
    },
  ],
  ['a row lost', (chain, random) => [toFile(rowsOf(chain).toSpliced(random.below(chain.lines.length), 1))]],
  [
    'a row twice',
    (chain, random) => {
      const rows = rowsOf(chain)
      return [toFile(rows.toSpliced(random.below(rows.length + 1), 0, random.pick(rows)))]
    },
  ],
  [
    'a hostile row',
    (chain, random) => [
      toFile(rowsOf(chain).toSpliced(random.below(chain.lines.length + 1), 0, random.pick(hostileRows))),
    ],
  ],
  ['a hostile last row', ({ bytes }, random) => [joinBytes([bytes, random.pick(hostileRows)])]],
  ['files in another order', ({ files }, random) => random.shuffle(files)],
  ['a file twice', ({ files }, random) => [...files, random.pick(files)]],
  ['a file lost', ({ files }, random) => files.toSpliced(random.below(files.length), 1)],
  [
    'cut into files anywhere',
    ({ bytes }, random) => {
      const at = random.below(bytes.length + 1)
      return [bytes.subarray(0, at), new Uint8Array(0), bytes.subarray(at)]
    },
  ],
  ['cut into files at rows', (chain) => rowsOf(chain).map((row, at) => (at % 2 === 0 ? row : toFile([row])))],
  ['empty rows between', (chain) => [toFile(rowsOf(chain).flatMap((row) => [new Uint8Array(0), row]))]],
  ['CR LF', (chain) => [joinBytes(rowsOf(chain).flatMap((row) => [row, Uint8Array.of(0x0d, 0x0a)]))]],
  ['another Chain behind', ({ files }) => [...files, ...buildChain({ seed: 99, sessions: 1 }).files]],
]

const hostileBytes = [
  0x00, 0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x30, 0x5c, 0x7b, 0x7d, 0x7f, 0x80, 0xc0, 0xed, 0xf5, 0xff,
]

function withByte(bytes: Uint8Array, random: Random, change: (old: number) => number): Uint8Array {
  const copy = bytes.slice()
  const at = random.below(copy.length)
  copy[at] = change(copy[at] ?? 0)
  return copy
}

function rowsOf(chain: BuiltChain): Uint8Array[] {
  return chain.lines.map((line) => line.bytes)
}

/** Chains whose signatures and links hold and whose Lines say anything: a hostile writer who has the key. */
export function forgedInputs(count: number): Input[] {
  const inputs: Input[] = []
  for (let seed = 1; seed <= count; seed += 1) {
    const random = randomFrom(seed * 7919)
    const { rows } = forgeAny(random)
    const files = random.below(4) === 0 ? [toFile(rows.slice(0, 2)), toFile(rows.slice(2))] : [toFile(rows)]
    inputs.push(withOptions({ name: `forged ${String(seed)}`, files }, random))
  }
  return inputs
}

function forgeAny(random: Random): Forge {
  const firstSession = random.pick([0, 0, 0, 0, 1, 3])
  const chain = random.pick(['acme', 'acme', 'acme', 'other', '', null])
  const forge = new Forge({ key: ours, firstSession, chain })
  const over = (): Members =>
    random.below(9) === 0 ? { [random.pick(memberNames)]: random.pick(memberValues) } : {}
  forge.open(over())
  const steps = 1 + random.below(9)
  for (let step = 0; step < steps; step += 1) {
    const callId = random.pick(['call-1', 'call 2\\', '\u007f\u{10ffff}', 'x'.repeat(200), '𐀀'.repeat(130)])
    const act = random.below(12)
    if (act < 3) forge.intent(callId, over())
    else if (act < 6) forge.outcome(callId, over())
    else if (act < 8) forge.decision(random.pick(approvals), over())
    else if (act < 9) forge.close(over())
    else if (act < 10) forge.close().open(over(), random.pick([ours, theirs]))
    else if (act < 11) forge.open(over())
    else forge.line(random.pick(['checkpoint', 'attestation', 'Open', '']), over(), random.below(2) === 0)
  }
  if (random.below(4) > 0) forge.close()
  return forge
}

const approvals: readonly JsonValue[] = [
  'apr-1',
  'apr-1',
  'apr-2',
  'apr-3',
  '',
  'é'.repeat(200),
  7,
  ['apr-1'],
  {},
]
const memberNames = [
  'line_type', 'schema_version', 'seq', 'prev_hash', 'signature', 'key_id', 'chain_id', 'session_index',
  'public_key', 'prev_session_tail', 'call_id', 'approval_id', 'unnamed', '\u{10000}', '\ue000', '"\\\n',
  'session_index', 'seq', 'chain_id',
] as const // prettier-ignore
const memberValues: readonly (JsonValue | undefined)[] = [
  ...hostileValues,
  undefined, 0, 1, 2, 3, 4, 5, 'acme', 'other', 'open', 'close', 'intent', 'checkpoint', ours.keyId, theirs.keyId,
  ours.publicKey, theirs.publicKey, ours.publicKey.toUpperCase(), 'f'.repeat(64), 'f'.repeat(128), '0'.repeat(64),
] // prettier-ignore

/** Sometimes pins, sometimes a head, sometimes both; right or wrong. */
function withOptions(input: Input, random: Random): Input {
  const options: { keys?: string[]; trustStore?: Uint8Array; head?: string | Uint8Array } = {}
  const chance = random.below(10)
  if (chance < 2) options.keys = random.shuffle([ours, theirs]).slice(random.below(2)).map(publicKeyOf)
  if (chance === 1 || chance === 3)
    options.trustStore = Buffer.from(random.pick([...anyStores, ...hostileStores]))
  const rows = Buffer.concat(input.files.flatMap((file) => [file, Buffer.from('\n')]))
    .toString('latin1')
    .split('\n')
    .filter((row) => row !== '')
  if (random.below(3) === 0 && rows.length > 0) {
    const row = Buffer.from(random.pick(rows), 'latin1')
    options.head = random.below(2) === 0 ? anyHead(row, random) : anyHeadFile(row, random)
  }
  return { ...input, ...options }
}

const publicKeyOf = (key: ForgeKey): string => key.publicKey

const anyStores = [
  store(undefined, [{ public_key: ours.publicKey }]),
  store('acme', [{ public_key: ours.publicKey }, { public_key: theirs.publicKey, first_session: 1 }]),
  store('other', [{ public_key: ours.publicKey, last_session: 0 }, { public_key: theirs.publicKey }]),
  store(undefined, [{ public_key: ours.publicKey, first_session: 1, last_session: null }]),
  store(undefined, [
    { public_key: theirs.publicKey, first_session: 2, last_session: 1 },
    { public_key: ours.publicKey },
  ]),
]

function store(chain_id: string | undefined, keys: readonly object[]): string {
  return JSON.stringify({ chain_id, keys })
}

/** Mostly the row's own position and hash. */
function anyHead(row: Uint8Array, random: Random): string {
  const text = Buffer.from(row).toString('latin1')
  const number = (name: string): string =>
    (random.below(5) === 0 ? undefined : new RegExp(`"${name}":(\\d{1,16})[,}]`).exec(text)?.[1]) ??
    random.pick(['0', '1', '2', '3', '7', '9007199254740991'])
  const hash = random.below(5) === 0 ? 'f'.repeat(64) : sha256Hex(row)
  if (random.below(12) === 0)
    return random.pick(['0:0:', '00:1:' + hash, '0:9007199254740992:' + hash, `0:0:${hash}\n`])
  return `${number('session_index')}:${number('seq')}:${hash}`
}

function anyHeadFile(row: Uint8Array, random: Random): Uint8Array {
  const lf = Uint8Array.of(0x0a)
  switch (random.below(10)) {
    case 0:
      return joinBytes([row, lf, lf])
    case 1:
      return joinBytes([row, lf, row])
    case 2:
      return withByte(row, random, (old) => old ^ (1 << random.below(8)))
    case 3:
      return row.subarray(0, random.below(row.length))
    case 4:
      return random.pick(hostileRows)
    case 5:
      return row
    default:
      return joinBytes([row, lf])
  }
}

/** Every hostile row alone, between good rows and at the end; every hostile store. */
export function hostileInputs(): Input[] {
  const good = new Forge({ key: ours }).session()
  const [open, ...rest] = good.rows as [Uint8Array, ...Uint8Array[]]
  const inputs: Input[] = []
  for (const [at, row] of hostileRows.entries()) {
    const name = `hostile row ${String(at)}`
    inputs.push(
      { name: `${name}, alone`, files: [row] },
      { name: `${name}, between`, files: [toFile([open, row, ...rest])] },
      { name: `${name}, last`, files: [joinBytes([good.file, row])] },
    )
    // A long one costs either verifier more than all short ones; three places are enough for it.
    if (row.length > 10_000) continue
    inputs.push(
      { name: `${name}, alone with LF`, files: [toFile([row])] },
      { name: `${name}, first`, files: [toFile([row, open])] },
      { name: `${name}, behind the open`, files: [joinBytes([toFile([open]), row])] },
      { name: `${name}, as head`, files: [good.file], head: row },
    )
  }
  for (const [at, text] of hostileStores.entries()) {
    const files = [good.file]
    inputs.push({ name: `hostile store ${String(at)}`, files, trustStore: Buffer.from(text, 'latin1') })
  }
  return inputs
}

/** Reports with more than a hundred of a thing. */
export function longInputs(): Input[] {
  const calls = new Forge({ key: ours }).open()
  for (let at = 0; at < 205; at += 1) calls.intent(at % 3 === 0 ? '' : `call-${String(at)}`)
  const covered = new Forge({ key: ours }).open()
  for (let at = 0; at < 205; at += 1) covered.intent(`call-${String(at)}`)
  covered.outcome('call-1').intent('call-2')
  const keys = new Forge()
  for (let at = 0; at < 103; at += 1) keys.open({}, forgeKey(at % 102)).close()
  keys.open({}, forgeKey(1)).open({}, forgeKey(200)).close()
  return [
    { name: '205 Calls in flight', files: [calls.file] },
    { name: '205 Calls covered and one in flight', files: [covered.file] },
    { name: 'more than a hundred keys', files: [keys.file] },
  ]
}
