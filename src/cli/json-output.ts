/** JSON that a command prints: one value a line, ASCII, so that no character of a file reaches a terminal as it is. */
export function asciiJson(value: unknown): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value).replace(/[^\u0020-\u007e]/g, escape)}\n`
}
