/** Four small Chains with names, small enough to try every single bit of. */
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { Forge, forgeKey } from './forge.ts'
import { buildChain } from './chain.ts'

export interface SmallChain {
  readonly name: string
  readonly bytes: Uint8Array
  /** Offsets behind the LF of each `close`: where a cut leaves a whole Chain. */
  readonly ends: readonly number[]
  /** Position and hash of the last Line. */
  readonly head: { readonly session_index: number; readonly seq: number; readonly lineHash: string }
}

function named(name: string, rows: readonly Uint8Array[], head: SmallChain['head']): SmallChain {
  const ends: number[] = []
  let length = 0
  for (const row of rows) {
    length += row.length + 1
    if (Buffer.from(row).includes('"line_type":"close"')) ends.push(length)
  }
  return { name, bytes: Buffer.concat(rows.flatMap((row) => [row, Buffer.of(10)])), ends, head }
}

function forged(name: string, forge: Forge, session: number, seq: number): SmallChain {
  return named(name, forge.rows, { session_index: session, seq, lineHash: forge.lastHash })
}

/** As another implementation of AAR writes it: nothing but AAR's members. */
const aar = forged('a Session of AAR', new Forge({ chain: null }).open().intent().outcome().close(), 0, 3)

/** Two keys, a decision in another Session than its Call, an `open` over a Session without `close`. */
const rotated = forged(
  'three Sessions, two keys',
  new Forge()
    .open()
    .decision('apr_1')
    .open({}, forgeKey(9))
    .decision('apr_2')
    .close()
    .open({}, forgeKey(7))
    .close(),
  2,
  1,
)

/** Text that a bit can turn into other text, escapes and line ends. */
const texts = forged(
  'text of every kind',
  new Forge()
    .open()
    .intent('J*\u000b\u000e"\\\u001a☕𐀀', { '\ue000': 1, '𐀀': [], n: 9007199254740991 })
    .close({ zz: { é: ['\u2028', '\u007f', {}] } }),
  0,
  2,
)

function written(): SmallChain {
  const chain = buildChain({ seed: 1, sessions: 1, callsPerSession: 1, suite: nodeSuite })
  return named(
    'one Call as it is written',
    chain.lines.map((line) => line.bytes),
    chain.head,
  )
}

export const smallChains: readonly SmallChain[] = [aar, rotated, texts, written()]
