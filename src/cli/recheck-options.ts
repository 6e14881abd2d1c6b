/** Values of `--since` and `--fail-on`, for the commands that compare answers. */
import { parseDatetime } from '../policy/index.ts'
import { type DifferenceName, differenceNames } from '../recheck/index.ts'
import { refuseValue } from './command.ts'

/** @returns integer ms. */
export function timeValue(value: string): number {
  const text = parseDatetime(value)
  if (text !== undefined) return Date.parse(text)
  throw refuseValue('It is a time like 2026-01-01T00:00:00Z.')
}

export function differenceValues(value: string): readonly DifferenceName[] {
  return value.split(',').map((kind) => {
    const known = differenceNames.find((name) => name === kind)
    if (known !== undefined) return known
    throw refuseValue(`It is a list of ${differenceNames.join(', ')}, with commas and no spaces.`)
  })
}
