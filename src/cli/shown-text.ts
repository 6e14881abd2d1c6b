/**
 * Text that somebody else wrote, as a person is shown it: nothing in it reaches the terminal as anything but a visible
 * character, and none of it can stand where our own words stand. Not for sentences of ours, nor for JSON, which is ASCII.
 */

/**
 * What is written `\u{HEX}`: controls, format and bidirectional characters, unassigned ones, white space that is not
 * U+0020, and whatever is drawn as nothing (fillers, variation selectors, the Braille blank).
 */
const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu
/** Marks on what is no letter would change a sign of ours beside them. */
const stray = /(?<![\p{L}\p{N}\p{M}])\p{M}+/gu
/** A third mark on one letter begins to cover the lines above and below. */
const pile = /(\p{M}{2})(\p{M}+)/gu

/** With `\` doubled, so that no text can write an escape of ours; never a line break. */
export function shownText(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replace(hidden, escape)
    .replace(stray, escapeEach)
    .replace(pile, (_, first: string, more: string) => first + escapeEach(more))
}

function escapeEach(marks: string): string {
  return marks.replace(/./gu, escape)
}

function escape(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

/** Code points of a value in a table. */
const cellMax = 64

/** A value in a row among others: cut, and without the runs of spaces that end a column. */
export function cellText(text: string): string {
  if (text === '') return '-'
  const points = text.length <= cellMax ? undefined : Array.from(text.slice(0, 2 * cellMax))
  const isLong = points !== undefined && points.length > cellMax
  const kept = isLong ? points.slice(0, cellMax - 1).join('') : text
  const shown = shownText(kept).replace(/^ | $|(?<= ) /g, '\\u{20}')
  return isLong ? `${shown}…` : shown
}

/** In front of every line of a value: no line of ours begins with it, and every line of a value does. */
const bar = '    | '

/** A value as lines of its own behind a bar, broken where the terminal would break it, each ending with LF. */
export function valueLines(shown: string, columns: number): string {
  const width = Math.max(16, columns - bar.length - 1)
  const lines: string[] = []
  let line = ''
  let used = 0
  for (const piece of shown.match(/\\u\{[0-9a-f]+\}|\\\\|./gu) ?? ['']) {
    const wide = columnsOf(piece)
    if (used + wide > width && line !== '') {
      lines.push(line)
      line = ''
      used = 0
    }
    line += piece
    used += wide
  }
  lines.push(line)
  return lines.map((text) => `${bar}${text}\n`).join('')
}

/** Two for what East Asian fonts and emoji draw wide; too many is no harm. */
function columnsOf(piece: string): number {
  if (piece.length > 2) return piece.length
  const code = piece.codePointAt(0) ?? 0
  return code >= 0x1100 ? 2 : piece === '\\\\' ? 2 : 1
}

/** Columns that may be written to: of the terminal, at most 100; 100 where there is none. */
export function terminalColumns(stream: { readonly columns?: number } = process.stdout): number {
  return Math.min(100, stream.columns ?? 100)
}
