/** What a table is worth nothing without: the command, the date, the machine. */
import { cpus, release, totalmem, type } from 'node:os'
import type { BenchOptions } from './options.ts'

/** `npm run bench -- NAME`, the date, the machine and Node's version, as a line of Markdown. */
export function headline(name: string, { quick }: BenchOptions): string {
  const command = `npm run bench -- ${name}${quick ? ' --quick' : ''}`
  return `\`${command}\`, ${today()}: ${machine()}${quick ? '. A quick run: it shows that the bench works, and no number' : ''}`
}

/** `2026-12-01`, in UTC. */
export function today(): string {
  return new Date().toISOString().slice(0, 10)
}

function machine(): string {
  const processors = cpus()
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`
  const model = `${String(processors.length)} × ${processors[0]?.model.trim() ?? 'unknown processor'}`
  return `${model}, ${memory}, ${type()} ${release()}, Node ${process.versions.node}`
}
