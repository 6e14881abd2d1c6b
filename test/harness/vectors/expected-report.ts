/**
 * The reports that SPEC.md §7.9 and §7.10 prescribe, written out from facts that a vector states by hand. It shares
 * nothing with src/verify: the two meet in the tests.
 */

export type At = readonly [session: number, seq: number]

export interface Facts {
  /** key_ids of the Sessions whose `open` verified; one behind the hundredth is not shown. */
  readonly keys?: readonly string[]
  readonly keysMore?: number
  readonly first?: number
  readonly coverage?: At
  readonly lines?: number
  readonly sessions?: number
  readonly inFlight?: readonly string[]
  readonly inFlightMore?: number
  readonly completeTo?: At
  /** key_ids of the pinned keys; absent: unpinned. */
  readonly pinned?: readonly string[]
}

export interface Finding {
  readonly at?: At
  readonly line: number
  readonly evidence?: Readonly<Record<string, string | number>>
}

export interface ExpectedReport {
  readonly exit: 0 | 1 | 3
  readonly text: string
  readonly json: string
}

export function verified(facts: Facts): ExpectedReport {
  return render('verified', undefined, undefined, facts)
}

export function tampered(reason: string, finding: Finding, facts: Facts = {}): ExpectedReport {
  return render('tampered', reason, finding, facts)
}

export function indeterminate(reason: string, finding: Finding, facts: Facts = {}): ExpectedReport {
  return render('indeterminate', reason, finding, facts)
}

const exits = { verified: 0, tampered: 1, indeterminate: 3 } as const
const words = { tampered: 'Tampered', indeterminate: 'Indeterminate' } as const

function render(
  verdict: keyof typeof exits,
  reason: string | undefined,
  finding: Finding | undefined,
  facts: Facts,
): ExpectedReport {
  const pinned = facts.pinned === undefined ? [] : [...new Set(facts.pinned)].sort()
  const place = (at: At): string => `session ${String(at[0])} seq ${String(at[1])}`
  const trust =
    facts.pinned === undefined ? 'unpinned' : pinned.length === 1 ? `pinned to ${pinned.join()}` : 'pinned'
  const where = finding?.at === undefined ? `line ${String(finding?.line)}` : place(finding.at)
  const rows = [
    verdict === 'verified' ? `Verified (${trust})` : `${words[verdict]} ${String(reason)} at ${where}`,
  ]
  for (const key of facts.keys ?? []) rows.push(`key_id ${key}`)
  if (facts.keysMore !== undefined) rows.push(`key_id and ${String(facts.keysMore)} more`)
  if (facts.first !== undefined && facts.first > 0) rows.push(`starts session ${String(facts.first)}`)
  rows.push(facts.coverage === undefined ? 'coverage none' : `coverage ${place(facts.coverage)}`)
  for (const call of facts.inFlight ?? []) rows.push(`in_flight ${escaped(call)}`)
  if (facts.inFlightMore !== undefined) rows.push(`in_flight and ${String(facts.inFlightMore)} more`)
  rows.push(
    facts.completeTo === undefined ? 'completeness not proven' : `complete to ${place(facts.completeTo)}`,
  )
  const position = (at: At | undefined): object | null =>
    at === undefined ? null : { session_index: at[0], seq: at[1] }
  const json = JSON.stringify({
    verdict,
    reason: reason ?? null,
    at: position(finding?.at),
    line: finding?.line ?? null,
    evidence: finding?.evidence ?? null,
    trust: { pinned: facts.pinned !== undefined, key_ids: pinned },
    key_ids: facts.keys ?? [],
    key_ids_more: facts.keysMore ?? 0,
    first_session: facts.first ?? null,
    coverage: position(facts.coverage),
    in_flight: (facts.inFlight ?? []).map((call) => Array.from(call).slice(0, 128).join('')),
    in_flight_more: facts.inFlightMore ?? 0,
    complete_to: position(facts.completeTo),
    lines: facts.lines ?? 0,
    sessions: facts.sessions ?? 0,
  })
  return { exit: exits[verdict], text: rows.map((row) => `${row}\n`).join(''), json: `${toAscii(json)}\n` }
}

function escaped(value: string): string {
  return Array.from(value)
    .slice(0, 128)
    .map((character) => {
      if (character === '\\') return '\\\\'
      const code = character.codePointAt(0) ?? 0
      return code > 0x20 && code < 0x7f ? character : `\\u{${code.toString(16)}}`
    })
    .join('')
}

/** JSON.stringify leaves U+007F and everything beyond as it is; §7.10 does not. */
function toAscii(json: string): string {
  let text = ''
  for (let at = 0; at < json.length; at += 1) {
    const unit = json.charCodeAt(at)
    text += unit < 0x7f ? json.charAt(at) : `\\u${unit.toString(16).padStart(4, '0')}`
  }
  return text
}
