/**
 * `npm run bench -- verify`: how fast `aegis verify` is, next to the same signatures checked by `node:crypto` and
 * nothing else, in one run; and what memory it takes at 100,000 and 1,000,000 Lines. The command runs as its users run
 * it, start included. Its files are removed.
 */
import { createPublicKey, verify } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeSuite } from '../src/crypto-node/index.ts'
import { Walk } from '../src/verify/index.ts'
import { type WrittenChain, linesPerSession, writeChain } from './chain.ts'
import { type Run, program, runCommand } from './command-run.ts'
import type { BenchOptions } from './options.ts'

const rounds = 3

export async function benchVerify({ quick }: BenchOptions): Promise<readonly string[]> {
  if (!existsSync(program)) throw new Error('the command is not built: npm run build')
  const folder = mkdtempSync(join(tmpdir(), 'aegis-bench-'))
  try {
    const [smallLines, largeLines] = quick ? [10_000, 20_000] : [100_000, 1_000_000]
    const small = chainOf(folder, smallLines)
    const { signatures, lines } = small.written
    const checks = readSignatures(small.path)
    if (checks.length !== signatures) throw new Error(`${String(checks.length)} signatures were read`)
    const bare: number[] = []
    const one: Run[] = []
    const two: Run[] = []
    // In turns, so that a change of the machine's speed meets all of them.
    for (let round = 1; round <= rounds; round += 1) {
      note(`round ${String(round)} of ${String(rounds)}`)
      bare.push(bareSeconds(checks))
      one.push(await runVerify(small.path, 1))
      two.push(await runVerify(small.path, 2))
    }
    checks.length = 0
    const large = chainOf(folder, largeLines)
    const largeOne = await runVerify(large.path, 1)
    const largeTwo = await runVerify(large.path, 2)
    const secondsOf = (runs: readonly Run[]): number => median(runs.map((run) => run.seconds))
    const peakOf = (runs: readonly Run[]): string => megabytes(Math.max(...runs.map((run) => run.peakBytes)))
    const ratio = (over: readonly number[], under: readonly number[]): string =>
      median(over.map((seconds, at) => seconds / (under[at] ?? Number.NaN))).toFixed(2)
    const oneSeconds = one.map((run) => run.seconds)
    return [
      `${count(lines)} Lines (${count(signatures)} signatures, ${megabytes(small.written.bytes)}), ` +
        `median of ${String(rounds)} rounds; ${count(large.written.lines)} Lines (${megabytes(large.written.bytes)}) once.`,
      '',
      `| | Lines/s | ratio | peak memory, ${count(smallLines)} Lines | ${count(largeLines)} Lines |`,
      '|---|---|---|---|---|',
      `| \`node:crypto\`, these signatures and nothing else | ${rate(lines, median(bare))} | 1 | | |`,
      `| \`aegis verify --threads 1\` | ${rate(lines, secondsOf(one))} | ${ratio(bare, oneSeconds)} of bare | ${peakOf(one)} | ${peakOf([largeOne])} |`,
      `| \`aegis verify --threads 2\` | ${rate(lines, secondsOf(two))} | ${ratio(
        oneSeconds,
        two.map((run) => run.seconds),
      )} × one thread | ${peakOf(two)} | ${peakOf([largeTwo])} |`,
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function chainOf(folder: string, lines: number): { readonly path: string; readonly written: WrittenChain } {
  const path = join(folder, `${String(lines)}.aarl`)
  note(`writing ${count(lines)} Lines`)
  return { path, written: writeChain(path, Math.ceil(lines / linesPerSession)) }
}

interface Check {
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
}

/** What the command checks, taken from a walk that believes everything. */
function readSignatures(path: string): Check[] {
  const checks: Check[] = []
  const walk = new Walk({
    digester: nodeSuite,
    check: ({ publicKey, message, signature }) => {
      checks.push({ publicKey, message: message.slice(), signature: signature.slice() })
      return true
    },
  })
  walk.push(readFileSync(path))
  const report = walk.end()
  if (report.verdict !== 'verified') throw new Error(`the Chain is ${report.verdict}`)
  return checks
}

const publicKeyPrefix = Buffer.from('302a300506032b6570032100', 'hex')

function bareSeconds(checks: readonly Check[]): number {
  const first = checks[0]
  if (first === undefined) throw new Error('no signature')
  const der = Buffer.concat([publicKeyPrefix, first.publicKey])
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  const startedAt = performance.now()
  for (const { message, signature } of checks) {
    if (!verify(null, message, key, signature)) throw new Error('a signature does not hold')
  }
  return (performance.now() - startedAt) / 1_000
}

async function runVerify(path: string, threads: number): Promise<Run> {
  const run = await runCommand(['verify', '--threads', String(threads), path])
  if (run.code !== 0 || !run.stdout.startsWith('Verified ')) throw new Error(`aegis verify: ${run.stdout}`)
  return run
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Always with a comma at thousands, whatever the locale. */
function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

function rate(lines: number, seconds: number): string {
  return count(lines / seconds)
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}

function note(text: string): void {
  process.stderr.write(`bench: ${text}\n`)
}
