/** Runs verify.py, the verifier that was written from SPEC.md alone, over many inputs in one process. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface Run {
  readonly args: readonly string[]
  /** What the names in `args` stand for; a name that is not here cannot be opened. */
  readonly files: Readonly<Record<string, Uint8Array>>
}

export interface Answer {
  readonly exit: number
  readonly stdout: string
  /** Both reports of the run, whichever went to stdout. */
  readonly text: string
  readonly json: string
  readonly stderr: string
}

const script = fileURLToPath(new URL('verify.py', import.meta.url))

/** The answers, in the order of the runs. Needs `python3`, 3.11 or later, on the path. */
export async function runSecondVerifier(runs: readonly Run[]): Promise<Answer[]> {
  const python = spawn('python3', [script, '--batch'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const parts: Buffer[] = []
  python.stdout.on('data', (part: Buffer) => parts.push(part))
  const ended = new Promise<number | null>((resolve, reject) => {
    python.once('error', reject)
    python.once('close', resolve)
  })
  python.stdin.on('error', () => {
    // It has died; its exit code is what is reported.
  })
  python.stdin.end(runs.map(toRequest).join(''))
  const code = await ended
  const answers = Buffer.concat(parts).toString('ascii').split('\n').slice(0, -1)
  if (code !== 0 || answers.length !== runs.length) {
    throw new Error(
      `verify.py ended with ${String(code)} after ${String(answers.length)} of ${String(runs.length)}`,
    )
  }
  return answers.map((answer) => JSON.parse(answer) as Answer)
}

function toRequest(run: Run): string {
  const files = Object.fromEntries(
    Object.entries(run.files).map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')]),
  )
  return `${JSON.stringify({ args: run.args, files })}\n`
}
