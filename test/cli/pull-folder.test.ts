/** The folder of `aegis pull`: who may use it, and what was done to it between two pulls. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sha256Hex } from '../harness/forge.ts'
import { apiKey } from '../harness/segment-server.ts'
import { policy, policyFile, preparePulls } from './pulling.ts'

const pulls = await preparePulls()

describe('the folder of a pull', () => {
  it('is refused while another process has it, and taken over from one that is gone', async () => {
    mkdirSync(pulls.folder)
    const lock = join(pulls.folder, '.lock')
    writeFileSync(lock, JSON.stringify({ pid: process.pid, host: hostname() }))
    const { code, stdout, stderr } = await pulls.pull()
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe(
      `error: --out: ${pulls.folder} is in use by process ${String(process.pid)} on ${hostname()}; if that is none of aegis, remove ${lock}\n`,
    )
    writeFileSync(lock, JSON.stringify({ pid: process.pid, host: 'elsewhere' }))
    expect((await pulls.pull()).code).toBe(2)
    for (const gone of [JSON.stringify({ pid: 2 ** 22 + 1, host: hostname() }), '', '{"pid"']) {
      writeFileSync(lock, gone)
      expect((await pulls.pull()).code).toBe(0)
    }
    expect(pulls.names()).not.toContain('.lock')
  })

  it('lets one of two pulls through', async () => {
    pulls.server.trick = (request, response, number) => {
      if (number !== 1) return false
      // Long enough for the other to begin.
      setTimeout(() => {
        response.writeHead(503).end()
      }, 1_500)
      return true
    }
    const first = pulls.pull()
    while (pulls.server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    const second = await pulls.pull()
    expect(second.code).toBe(2)
    expect(second.stderr).toMatch(/is in use by process \d+ on /)
    expect((await first).code).toBe(0)
  })

  it('is refused where it is a file, or lies in one', async () => {
    const file = pulls.aegis.file('not-a-folder', 'text')
    for (const path of [file, join(file, 'below')]) {
      pulls.folder = path
      const { code, stdout, stderr } = await pulls.pull()
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/^error: --out: cannot write .*: .*file; name a folder\n$/)
    }
    expect(readFileSync(file, 'utf8')).toBe('text')
  })

  it('is refused where a folder stands in the place of a file', async () => {
    mkdirSync(join(pulls.folder, 'segments/0000000001.aarl/x'), { recursive: true })
    const { code, stderr } = await pulls.pull()
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: .*0000000001\.aarl/)
  })

  it('of another tenant is refused', async () => {
    await pulls.pull()
    pulls.server.requests.length = 0
    const { code, stdout, stderr } = await pulls.pullAs(apiKey('auditor', 'beta'), '--unpinned')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('it is not of the Chain beta')
    rmSync(join(pulls.folder, 'head.aarl'))
    expect((await pulls.pullAs(apiKey('auditor', 'beta'), '--unpinned')).stderr).toContain(
      'belongs to another Chain than beta',
    )
    expect(pulls.server.requests).toEqual([])
  })

  it.each(['altered', 'cut', 'emptied'] as const)(
    'with a segment that was %s is Tampered, or not whole',
    async (how) => {
      await pulls.pull()
      const path = join(pulls.folder, 'segments/0000000002.aarl')
      const bytes = readFileSync(path)
      const changed = { altered: Buffer.from(bytes), cut: bytes.subarray(0, -200), emptied: Buffer.of() }[how]
      if (how === 'altered') changed[changed.length - 40] = 0x7a
      writeFileSync(path, changed)
      pulls.server.requests.length = 0
      const { code, stdout } = await pulls.pull()
      expect(code).toBe(how === 'cut' ? 3 : 1)
      expect(stdout).toContain('stopped at session 2: ')
      expect(stdout).toContain('kept sessions 0 to 1\n')
      expect(pulls.server.requests).toEqual([])
      expect(readFileSync(path).equals(changed)).toBe(true)
    },
  )

  it('with a policy set that was altered is refused', async () => {
    await pulls.pull()
    writeFileSync(join(pulls.folder, policyFile), 'other')
    const { code, stdout } = await pulls.pull()
    expect(code).toBe(1)
    expect(stdout).toContain(`stopped at policy ${sha256Hex(policy)}: policy_hash: `)
  })
})
