/** `npm run dev` as a user starts it: what it prints works, its log is the Worker's, and it ends when it is told to. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { processesOf, run } from './system.ts'

const home = fileURLToPath(new URL('../..', import.meta.url))

let folder: string | undefined
let child: ChildProcess | undefined

afterEach(async () => {
  if (child?.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

describe('npm run dev', () => {
  test('the curl line it prints works, more than once, and leaves a log line each', async () => {
    folder = await mkdtemp(join(tmpdir(), 'aegis-dev-'))
    const dev = spawn('npm', ['run', '--silent', 'dev', '--', '--port', '0', '--state', folder], {
      cwd: home,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = dev
    let output = ''
    const seen = async (wanted: RegExp): Promise<void> => {
      while (!wanted.test(output)) {
        if (dev.exitCode !== null) throw new Error(`it ended:\n${output}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const ended = new Promise<number | null>((resolve) => dev.once('close', resolve))
    dev.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
    dev.stderr.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
    await seen(/Ctrl-C ends it/)
    const curl = /^curl -s .*\\\n.*$/m.exec(output)?.[0] ?? ''
    const printed = output.length
    for (let time = 0; time < 2; time += 1) {
      const answer = JSON.parse((await run('sh', ['-c', curl])).stdout) as { readonly decision?: string }
      expect(answer.decision).toBe('allow')
    }
    await seen(/("route":"\/v1\/authorize"[^]*){2}/)
    // Ids, codes and times; no key, no argument.
    const logged = output.slice(printed)
    const secret = /aegis_agent_dev_[0-9a-z]{29}_([0-9a-z]{52})/.exec(output)?.[1] ?? ''
    expect(secret).toHaveLength(52)
    expect(logged).not.toContain(secret)
    expect(logged).not.toContain('localhost.example.com')
    // As a terminal does it: to the whole group.
    process.kill(-(dev.pid ?? 0), 'SIGINT')
    await ended
    expect(await processesOf(dev.pid ?? 0)).toEqual([])
  })
})
