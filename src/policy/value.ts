/**
 * Values between the caller's JSON, the record and Cedar. A caller's value becomes a tagged value (record.md §4,
 * context) of the type that its binding declares, and only tagged values become Cedar's JSON: so nothing that a
 * caller wrote can pass for `__entity` or `__extn`.
 */
import type { CedarValueJson } from '@cedar-policy/cedar-wasm/web'
import {
  type Digester,
  type JsonValue,
  type TaggedValue,
  type ValueDigest,
  encodeCanonical,
  encodeUtf8,
  toDigest,
} from '../record/index.ts'
import type { BindingType } from './catalogue.ts'

/** Bytes of UTF-8 of one string that reaches Cedar. */
const stringBytesMax = 2_048
/** Elements of an array under `*`, or of a set. */
export const elementsMax = 256

/** A value of the declared type, or undefined: another type, out of range, too long. Never converts between types. */
export function parseValue(value: JsonValue, type: BindingType): TaggedValue | undefined {
  switch (type) {
    case 'string':
      return typeof value === 'string' && fitsString(value) ? value : undefined
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined
    case 'integer':
      return typeof value === 'number' && Number.isSafeInteger(value) ? { long: String(value) } : undefined
    case 'decimal': {
      const units = parseDecimal(value)
      return units === undefined ? undefined : { decimal: decimalText(units) }
    }
    case 'ipaddr':
      return typeof value === 'string' && isIpAddress(value) ? { ipaddr: value } : undefined
    case 'datetime': {
      const text = typeof value === 'string' ? parseDatetime(value) : undefined
      return text === undefined ? undefined : { datetime: text }
    }
    case 'set<string>':
      return Array.isArray(value) ? toStringSet(value as readonly JsonValue[]) : undefined
  }
}

/** Strings as a set: sorted by UTF-16 code unit, no repeats. */
export function toStringSet(items: readonly JsonValue[]): TaggedValue | undefined {
  if (items.length > elementsMax) return undefined
  const strings: string[] = []
  for (const item of items) {
    if (typeof item !== 'string' || !fitsString(item)) return undefined
    strings.push(item)
  }
  return { set: [...new Set(strings)].sort() }
}

export function fitsString(text: string): boolean {
  // A code unit is at most three bytes: most strings need no encoding to be known to fit.
  if (text.length > stringBytesMax) return false
  const bytes = encodeUtf8(text)
  return bytes !== undefined && bytes.length <= stringBytesMax
}

const unitsPerOne = 10_000n
const i64Max = 2n ** 63n - 1n

/** A number or a decimal string in ten-thousandths, as Cedar counts decimals; undefined with a fifth digit. */
export function parseDecimal(value: JsonValue): bigint | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const matched = /^(-?)(\d{1,15})(?:\.(\d{1,4}))?$/.exec(String(value))
  if (matched === null) return undefined
  const units = BigInt(matched[2] ?? '') * unitsPerOne + BigInt((matched[3] ?? '').padEnd(4, '0'))
  return inDecimalRange(matched[1] === '-' ? -units : units)
}

export function inDecimalRange(units: bigint): bigint | undefined {
  return units > i64Max || units < -i64Max - 1n ? undefined : units
}

/** One spelling: no leading zeros, at least one digit behind the point, no trailing zeros behind that. */
export function decimalText(units: bigint): string {
  const magnitude = units < 0n ? -units : units
  const fraction = String(magnitude % unitsPerOne)
    .padStart(4, '0')
    .replace(/0{1,3}$/, '')
  return `${units < 0n ? '-' : ''}${String(magnitude / unitsPerOne)}.${fraction}`
}

const datePattern = /^(\d{4})-(\d{2})-(\d{2})$/
const timePattern =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,3}))?(?:Z|([+-])(\d{2}):(\d{2}))$/

/** An RFC 3339 date or date-time with at most milliseconds, in UTC with three digits; a date is its midnight. */
export function parseDatetime(text: string): string | undefined {
  const matched = datePattern.exec(text) ?? timePattern.exec(text)
  if (matched === null) return undefined
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map((at) =>
    Number(matched[at] ?? 0),
  ) as [number, number, number, number, number, number]
  const ms = Number((matched[7] ?? '').padEnd(3, '0'))
  const [offsetHours, offsetMinutes] = [Number(matched[9] ?? 0), Number(matched[10] ?? 0)]
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return undefined
  if (offsetHours > 23 || offsetMinutes > 59) return undefined
  const local = new Date(0)
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  local.setUTCFullYear(year, month - 1, day)
  if (local.getUTCDate() !== day) return undefined
  local.setUTCHours(hour, minute, second, ms)
  const offsetMs = (offsetHours * 60 + offsetMinutes) * 60_000 * (matched[8] === '-' ? -1 : 1)
  return datetimeText(local.getTime() - offsetMs)
}

/** Milliseconds since the epoch as text; undefined outside the years 0 to 9999. */
export function datetimeText(ms: number): string | undefined {
  const moment = new Date(ms)
  const year = moment.getUTCFullYear()
  return year >= 0 && year <= 9999 ? moment.toISOString() : undefined
}

/** What Cedar's `ip()` reads: an address or a range, no leading zeros, no zone, no IPv4 inside IPv6. */
function isIpAddress(text: string): boolean {
  const [address, prefix, more] = text.split('/')
  if (address === undefined || more !== undefined || text.length > 43) return false
  const isFour = isIpv4(address)
  if (!isFour && !isIpv6(address)) return false
  return prefix === undefined || (/^(0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= (isFour ? 32 : 128))
}

function isIpv4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
}

function isIpv6(text: string): boolean {
  const halves = text.split('::')
  if (halves.length > 2) return false
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  if (!groups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return false
  return halves.length === 2 ? groups.length <= 7 : groups.length === 8
}

/** What stands in the Chain for a value whose binding says `"record": "digest"`. */
export function digestValue(value: TaggedValue, digester: Digester): TaggedValue {
  return { digest: toDigest<ValueDigest>(digester.sha256(encodeCanonical(value))) }
}

/** Why a recorded value has no Cedar form: it is a digest, or not a tagged value at all. */
export type NoCedarValue = 'digest' | 'malformed'

/** A tagged value as Cedar's JSON: the only way from the record, or a caller, into the engine. */
export function toCedarValue(
  value: TaggedValue,
):
  { readonly ok: true; readonly value: CedarValueJson } | { readonly ok: false; readonly why: NoCedarValue } {
  if (typeof value === 'string' || typeof value === 'boolean') return { ok: true, value }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { ok: false, why: 'malformed' }
  const keys = Object.keys(value)
  const tag = keys.length === 1 ? keys[0] : undefined
  const inner: unknown = tag === undefined ? undefined : (value as Record<string, unknown>)[tag]
  switch (tag) {
    case 'digest':
      return typeof inner === 'string' ? { ok: false, why: 'digest' } : { ok: false, why: 'malformed' }
    case 'long': {
      const long = typeof inner === 'string' && /^-?\d{1,16}$/.test(inner) ? Number(inner) : Number.NaN
      return Number.isSafeInteger(long) ? { ok: true, value: long } : { ok: false, why: 'malformed' }
    }
    case 'decimal':
    case 'datetime':
    case 'ipaddr':
      if (typeof inner !== 'string') return { ok: false, why: 'malformed' }
      return { ok: true, value: { __extn: { fn: tag === 'ipaddr' ? 'ip' : tag, arg: inner } } }
    case 'set': {
      if (!Array.isArray(inner)) return { ok: false, why: 'malformed' }
      const items: CedarValueJson[] = []
      for (const item of inner as readonly TaggedValue[]) {
        const converted = toCedarValue(item)
        if (!converted.ok) return converted
        items.push(converted.value)
      }
      return { ok: true, value: items }
    }
    default:
      return toCedarRecord(value as { readonly [name: string]: TaggedValue })
  }
}

/** A record of tagged values as Cedar's JSON. */
export function toCedarRecord(record: {
  readonly [name: string]: TaggedValue
}):
  | { readonly ok: true; readonly value: { [name: string]: CedarValueJson } }
  | { readonly ok: false; readonly why: NoCedarValue } {
  const converted: { [name: string]: CedarValueJson } = {}
  for (const [name, value] of Object.entries(record)) {
    // Names are the catalogue's, and none begins so; a recorded one that does was not written by us.
    if (name.startsWith('__')) return { ok: false, why: 'malformed' }
    const one = toCedarValue(value)
    if (!one.ok) return one
    converted[name] = one.value
  }
  return { ok: true, value: converted }
}
