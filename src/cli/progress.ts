/**
 * The progress bar: on a terminal's stderr, past one second, at most ten times a second. Clears itself, on interrupt
 * too, so that nothing of it stays on the screen.
 */
import { hasProgress } from './terminal.ts'

const firstAfterMs = 1_000
const everyMs = 100
const barWidth = 24

export class Progress {
  readonly #stream = process.stderr
  readonly #title: string
  readonly #totalBytes: number | undefined
  readonly #startedAt = performance.now()
  readonly #enabled: boolean
  #dueAt = firstAfterMs
  #shown = false

  /** @param totalBytes `undefined` where it is not known: then only what was read is shown. */
  constructor(title: string, totalBytes: number | undefined) {
    this.#title = title
    this.#totalBytes = totalBytes
    this.#enabled = hasProgress(this.#stream)
    if (this.#enabled) process.on('SIGINT', this.#interrupt)
  }

  /** @param doneBytes of all files so far. */
  update(doneBytes: number): void {
    if (!this.#enabled) return
    const elapsed = performance.now() - this.#startedAt
    if (elapsed < this.#dueAt) return
    this.#dueAt = elapsed + everyMs
    this.#shown = true
    this.#stream.write(`\r\u001b[K${progressText(this.#title, doneBytes, this.#totalBytes, elapsed)}`)
  }

  end(): void {
    if (!this.#enabled) return
    process.off('SIGINT', this.#interrupt)
    if (this.#shown) this.#stream.write('\r\u001b[K')
    this.#shown = false
  }

  readonly #interrupt = (): void => {
    this.end()
    // Without our listener the signal does what it always does, so that a shell sees an interrupted program.
    process.kill(process.pid, 'SIGINT')
  }
}

/** One line of the bar, fitting into 80 columns. */
export function progressText(
  title: string,
  doneBytes: number,
  totalBytes: number | undefined,
  elapsedMs: number,
): string {
  const done = `${(doneBytes / 1e6).toFixed(1)} MB`
  const rate = `${(doneBytes / 1e3 / Math.max(elapsedMs, 1)).toFixed(1)} MB/s`
  if (totalBytes === undefined || totalBytes === 0) return `${title}  ${done}  ${rate}`
  // A file that grows while it is read is no reason for more than a hundred percent.
  const share = Math.min(doneBytes / totalBytes, 1)
  const filled = Math.floor(share * barWidth)
  const bar = `${'='.repeat(filled)}${' '.repeat(barWidth - filled)}`
  const left = share === 0 ? 0 : (elapsedMs / share - elapsedMs) / 1_000
  const percent = `${String(Math.floor(share * 100)).padStart(3)}%`
  return `${title} [${bar}] ${percent}  ${done}  ${rate}  ${String(Math.ceil(left))} s left`
}
