/** One thing with its members for people: a name and a value a line, values in one column. */
export function fieldLines(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`.trimEnd()).join('\n') + '\n'
}
