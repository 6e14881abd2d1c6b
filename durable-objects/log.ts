/** One line of JSON for whoever runs this. Names and codes only: never a secret, an argument or a stack. */
export function logFault(what: string, fields: Readonly<Record<string, unknown>>): void {
  // oxlint-disable-next-line no-console -- what a Worker prints is its log
  console.error(JSON.stringify({ level: 'error', what, ...fields }))
}

/** What is safe to print of a thrown value: SQLite and R2 name statements and objects in it, never bound values. */
export function describeCause(cause: unknown): string {
  return cause instanceof Error ? cause.message.slice(0, 512) : 'not an Error'
}
