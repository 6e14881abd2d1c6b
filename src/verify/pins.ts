/**
 * The keys that a reader trusts, from `--key` or a trust store (SPEC.md §7). A pin that holds for nothing is still a
 * pin: an empty trust store makes every Session untrusted and never "unpinned".
 */
import {
  type Digester,
  type FormatError,
  type JsonValue,
  type Parsed,
  type PublicKeyHex,
  decodeHex,
  isJsonObject,
  keyIdOf,
  parseBody,
  parseDigest,
} from '../record/index.ts'
import type { TrustLabel } from './report.ts'

/** One trusted key; without a member it holds for every Chain, or every Session. */
export interface Pin {
  readonly publicKey: PublicKeyHex
  readonly chainId?: string
  readonly firstSession?: number
  readonly lastSession?: number
}

/** A whole trust store file: `{"chain_id"?, "keys":[{"public_key", "first_session"?, "last_session"?}]}`. */
export function parseTrustStore(bytes: Uint8Array): Parsed<readonly Pin[]> {
  const read = parseBody(bytes)
  if (!read.ok) return read
  const chainId = read.value['chain_id']
  if (chainId !== undefined && typeof chainId !== 'string') return wrong('$.chain_id', 'expected a string')
  const keys = read.value['keys']
  if (!Array.isArray(keys)) return wrong('$.keys', 'expected an array of keys')
  const pins: Pin[] = []
  for (const [at, entry] of (keys as readonly JsonValue[]).entries()) {
    const pin = parsePin(entry, `$.keys[${String(at)}]`)
    if (!pin.ok) return pin
    pins.push(chainId === undefined ? pin.value : { ...pin.value, chainId })
  }
  return { ok: true, value: pins }
}

function parsePin(entry: JsonValue, path: string): Parsed<Pin> {
  if (!isJsonObject(entry)) return wrong(path, 'expected an object')
  const publicKey = parseDigest<PublicKeyHex>(entry['public_key'])
  if (publicKey === undefined) return wrong(`${path}.public_key`, 'expected 64 lowercase hex characters')
  const range: { firstSession?: number; lastSession?: number } = {}
  for (const [name, member] of [
    ['first_session', 'firstSession'],
    ['last_session', 'lastSession'],
  ] as const) {
    const value = entry[name]
    if (value === undefined || value === null) continue
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
      return wrong(`${path}.${name}`, 'expected an integer from 0')
    }
    range[member] = value
  }
  return { ok: true, value: { publicKey, ...range } }
}

function wrong(path: string, detail: string): { readonly ok: false; readonly error: FormatError } {
  return { ok: false, error: { code: 'wrong_type', path, detail } }
}

/** Whether a Session's key is among the pinned ones for its Chain and index. */
export function isPinned(
  pins: readonly Pin[],
  publicKey: string,
  chainId: string | undefined,
  sessionIndex: number,
): boolean {
  return pins.some(
    (pin) =>
      pin.publicKey === publicKey &&
      (pin.chainId === undefined || pin.chainId === chainId) &&
      (pin.firstSession === undefined || pin.firstSession <= sessionIndex) &&
      (pin.lastSession === undefined || sessionIndex <= pin.lastSession),
  )
}

/** What the report says of the pins; `undefined` pins are none at all. */
export function toTrustLabel(pins: readonly Pin[] | undefined, digester: Digester): TrustLabel {
  if (pins === undefined) return { pinned: false, keyIds: [] }
  const keys = new Set(pins.map((pin) => pin.publicKey))
  const keyIds = [...keys].map((key) => keyIdOf(decodeHex(key) ?? new Uint8Array(0), digester)).sort()
  return { pinned: true, keyIds }
}
