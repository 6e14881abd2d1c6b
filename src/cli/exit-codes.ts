/**
 * How a command ends: the exit codes, which are API (SPEC.md §7.11, docs/cli.md), and the one error that carries a code
 * and a sentence for a person. Not for verdicts: those are reports on stdout, with a code of their own.
 */

export const exitCodes = {
  ok: 0,
  /** Tampered, refused, a difference; or a usage error: then stdout is empty. */
  failed: 1,
  /** A file could not be opened or read. */
  unreadable: 2,
  /** Nothing contradicts the input, but it cannot be judged whole. */
  indeterminate: 3,
} as const

/** Ends a command with one line on stderr. The message names the flag or the file, and what to do. */
export class CliError extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message)
    this.exitCode = exitCode
  }
}

/** A flag, an argument or its value is not of its form. */
export function usageError(message: string): CliError {
  return new CliError(message, exitCodes.failed)
}

/** A file could not be opened or read. */
export function unreadable(message: string): CliError {
  return new CliError(message, exitCodes.unreadable)
}
