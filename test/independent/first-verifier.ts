/**
 * What the project's verifier says of an input with its flags: the pieces of src/verify put together as SPEC.md §7
 * orders them. `undefined` stands for a usage error. The command line itself is tested with src/cli.
 */
import { nodeSuite } from '../../src/crypto-node/index.ts'
import {
  type HeldHead,
  type Pin,
  type Report,
  type SignatureCheck,
  type SignedHead,
  Walk,
  findForeignHead,
  isHeadText,
  isSignedByPin,
  parseHeadLine,
  parseHeadText,
  parseTrustStore,
} from '../../src/verify/index.ts'
import type { PublicKeyHex } from '../../src/record/index.ts'
import type { Input } from './inputs.ts'

export interface Feeding {
  /** Bytes handed over at a time. */
  readonly chunk: number
  /** Signature checks are answered behind the input, last first, as workers might. */
  readonly late: boolean
}

export function runFirstVerifier(input: Input, feeding: Feeding): Report | undefined {
  const pins = readPins(input)
  if (pins === 'usage') return undefined
  const head = readHead(input.head)
  if (head === 'usage') return undefined
  const signed = head !== undefined && 'line' in head ? head : undefined
  if (signed !== undefined && pins !== undefined && !isSignedByPin(signed, pins, nodeSuite)) return undefined
  const { walk, report } = walkOver(input, pins, head, feeding)
  if (signed === undefined) return report
  const walked = { report, chainId: walk.chainId, headKey: walk.headKey }
  return findForeignHead(signed, walked, pins !== undefined, nodeSuite) === undefined ? report : undefined
}

function readPins({ keys, trustStore }: Input): readonly Pin[] | undefined | 'usage' {
  if (keys === undefined && trustStore === undefined) return undefined
  const pins: Pin[] = (keys ?? []).map((key) => ({ publicKey: key as PublicKeyHex }))
  if (trustStore === undefined) return pins
  const store = parseTrustStore(trustStore)
  return store.ok ? [...pins, ...store.value] : 'usage'
}

function readHead(head: Input['head']): HeldHead | SignedHead | undefined | 'usage' {
  if (head === undefined) return undefined
  if (typeof head === 'string' && !isHeadText(head)) throw new Error(`not a head in text: ${head}`)
  const parsed = typeof head === 'string' ? parseHeadText(head) : parseHeadLine(head, nodeSuite)
  return parsed.ok ? parsed.head : 'usage'
}

function walkOver(
  input: Input,
  pins: readonly Pin[] | undefined,
  head: HeldHead | undefined,
  { chunk, late }: Feeding,
): { readonly walk: Walk; readonly report: Report } {
  const open: SignatureCheck[] = []
  const holds = (check: SignatureCheck): boolean =>
    nodeSuite.verify(check.publicKey, check.message, check.signature)
  const walk = new Walk({
    digester: nodeSuite,
    check(check) {
      if (!late) return holds(check)
      open.push({
        id: check.id,
        publicKey: check.publicKey.slice(),
        message: check.message.slice(),
        signature: check.signature.slice(),
      })
      return undefined
    },
    ...(pins === undefined ? {} : { pins }),
    ...(head === undefined ? {} : { head }),
  })
  for (const file of input.files) {
    for (let at = 0; at < file.length; at += chunk) walk.push(file.subarray(at, at + chunk))
    walk.endFile()
  }
  for (const check of open.reverse()) walk.settle(check.id, holds(check))
  return { walk, report: walk.end() }
}
