/**
 * docs/quickstart.md, followed to the letter in a fresh clone: its first block starts the deployment, the others run one
 * after the other in one shell, exactly as they stand. Only `npm ci` is not repeated: the packages are those of here.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ended } from '../cli/command.ts'

const home = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(home, 'docs', 'quickstart.md'), 'utf8')
const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)

describe('docs/quickstart.md', () => {
  let clone: string
  let dev: ChildProcess

  beforeAll(async () => {
    clone = mkdtempSync(join(tmpdir(), 'aegis-clone-'))
    execFileSync('git', ['clone', '--quiet', home, clone])
    // What is not committed yet counts too, as far as this page is about it.
    writeFileSync(join(clone, 'docs', 'quickstart.md'), page)
    symlinkSync(join(home, 'node_modules'), join(clone, 'node_modules'))
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: clone })
    const [start = ''] = blocks
    dev = spawn('bash', ['-c', `exec ${start.replace('npm ci\n', '').trim()}`], {
      cwd: clone,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    await new Promise<void>((resolve, reject) => {
      let said = ''
      const hear = (chunk: Buffer): void => {
        said += chunk.toString('utf8')
        if (said.includes('Ctrl-C ends it')) resolve()
      }
      dev.stdout?.on('data', hear)
      dev.stderr?.on('data', hear)
      dev.once('exit', () => {
        reject(new Error(`it did not start:\n${said}`))
      })
    })
  }, 120_000)

  afterAll(() => {
    try {
      process.kill(-(dev.pid ?? 0), 'SIGKILL')
    } catch {
      // It has ended by itself, and the test says so.
    }
    rmSync(clone, { recursive: true, force: true })
  })

  test('leads from nothing to a verified record', { timeout: 120_000 }, async () => {
    const script = blocks.slice(1).join('\n')
    const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: clone,
      env: { ...process.env, NO_COLOR: '1' },
    })
    const said = await ended(shell)
    // It warns of empty groups, and says that inspecting verifies nothing; nothing is an error.
    expect(said.code).toBe(0)
    expect(said.stderr).not.toContain('error')
    expect(said.stderr).toContain('warning: quorum_unreachable')
    expect(said.stdout).toMatch(/^Verified \(pinned to [0-9a-f]{64}\)$/m)
    expect(said.stdout).toMatch(/^complete to session 0 seq \d+$/m)
    expect(said.stdout).toMatch(/airline\.get_user_details.*allow/)
    expect(said.stdout).toMatch(/airline\.transfer_money.*deny/)
    expect(said.stdout).not.toMatch(/aegis_(agent|admin|auditor|operator)_/)
  })
})
