/** Times in options: RFC 3339 with its zone, or a span from now, `90d`, `12h`, `30m`, `45s`. */
import { parseDatetime } from '../policy/index.ts'
import { refuseValue } from './command.ts'

const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/**
 * The parser of an option that names a time.
 *
 * @param direction of a span: `90d` is so long from now, or so long ago.
 * @returns integer ms since the epoch.
 */
export function timeValue(
  direction: 'ahead' | 'ago',
  now: () => number = Date.now,
): (value: string) => number {
  return (value) => {
    const span = /^([1-9]\d{0,5})([smhd])$/.exec(value)
    if (span !== null) {
      const ms = Number(span[1]) * units[span[2] as keyof typeof units]
      return direction === 'ahead' ? now() + ms : now() - ms
    }
    const text = parseDatetime(value)
    if (text !== undefined) return Date.parse(text)
    throw refuseValue('It is a time like 2026-01-01T00:00:00Z, or a span like 90d, 12h, 30m or 45s.')
  }
}
