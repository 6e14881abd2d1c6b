import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { processesOf } from './system.ts'

const home = fileURLToPath(new URL('../..', import.meta.url))

describe('npm run demo', () => {
  test('prints what README shows, and leaves no process behind', { timeout: 120_000 }, async () => {
    // A group of its own, so that whatever it leaves running is found afterwards.
    const child = spawn('npm', ['run', '--silent', 'demo'], {
      cwd: home,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
    expect(output).toContain('Tampered bad_signature')
    expect(code).toBe(0)
    expect(await processesOf(child.pid ?? 0)).toEqual([])
    const readme = await readFile(`${home}README.md`, 'utf8')
    const shown = /<!-- demo -->\n+```text\n(.*?)```/s.exec(readme)?.[1] ?? ''
    expect(settled(output)).toContain(settled(shown))
    expect(shown.length).toBeGreaterThan(1_000)
  })
})

/** Ports and ids differ with each run. */
function settled(text: string): string {
  return text.replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT').replace(/call_[0-9a-z]{26}/g, 'call_ID')
}
