/**
 * `aegis pull` ended at every step: killed at each request and at each step of the file system, and with each of those
 * steps failing. Whatever happened, only whole good files are left, and the next run makes the folder what it would have
 * been.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HttpClient } from '../../src/cli/http-client.ts'
import { pullChain } from '../../src/cli/pull/chain-pull.ts'
import { PullFolder } from '../../src/cli/pull/folder.ts'
import { readPullHeads } from '../../src/cli/pull/heads.ts'
import { pullExitCode } from '../../src/cli/pull/report.ts'
import { utf8 } from '../../src/record/index.ts'
import { parseTrustStore } from '../../src/verify/index.ts'
import { joinBytes } from '../harness/chain.ts'
import { answerBytes } from '../harness/segment-server.ts'
import { ended } from './command.ts'
import { auditorKey, chain, fileNames, preparePulls } from './pulling.ts'

const pulls = await preparePulls()
const { aegis, server } = pulls

/** Three Sessions are published, and the fourth is open: every kind of file. */
const openLines = joinBytes(
  chain.lines
    .filter(({ session_index: index }) => index === 3)
    .slice(0, 3)
    .flatMap(({ bytes }) => [bytes, utf8('\n')]),
)
const deploy = (): void => {
  pulls.publishSessions(3)
  server.published.live = openLines
}

const start = (env: Readonly<Record<string, string>> = {}, folder = pulls.folder): ChildProcess =>
  aegis.start(['pull', '--live', '--url', server.url, '--out', folder, '--trust-store', pulls.trust], {
    env: { AEGIS_API_KEY: auditorKey, ...env },
  })

/** Every file with its bytes. */
const snapshot = (folder = pulls.folder): Record<string, string> =>
  Object.fromEntries(fileNames(folder).map((name) => [name, readFileSync(join(folder, name), 'latin1')]))

let wholeFolder: Record<string, string> | undefined
/** What an uninterrupted pull leaves. */
const whole = async (): Promise<Record<string, string>> => {
  if (wholeFolder === undefined) {
    expect((await ended(start())).code).toBe(0)
    wholeFolder = snapshot()
    rmSync(pulls.folder, { recursive: true })
    server.requests.length = 0
  }
  return wholeFolder
}

/** The end of any Session is a good head: an interrupted pull may hold an earlier one. */
const goodHeads = chain.lines
  .filter(({ type }) => type === 'close')
  .map(({ bytes }) => `${Buffer.from(bytes).toString('latin1')}\n`)

/** What is there that should not be: files that differ from those of a whole pull, and more than one that is half. */
const wrongFiles = (want: Record<string, string>, folder = pulls.folder): string[] => {
  if (!existsSync(folder)) return []
  const parts = fileNames(folder).filter((name) => /(^|\/)\.part$/.test(name))
  const wrong = Object.entries(snapshot(folder)).filter(([name, bytes]) => {
    if (parts.includes(name) || name === '.lock') return false
    return name === 'head.aarl' ? !goodHeads.includes(bytes) : bytes !== want[name]
  })
  return [...parts.slice(1), ...wrong.map(([name]) => name)]
}

/** Runs again, undisturbed, and compares the folder. */
const resume = async (want: Record<string, string>): Promise<void> => {
  const { code, stderr } = await ended(start())
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(snapshot()).toEqual(want)
}

/** The same without a process of its own, for tests that do it a hundred times. */
const resumeHere = async (want: Record<string, string>, path: string): Promise<void> => {
  const client = new HttpClient({ baseUrl: server.url, key: auditorKey, timeoutMs: 10_000 })
  const store = parseTrustStore(chain.trustStore)
  if (!store.ok) throw new Error('no trust store')
  const folder = await PullFolder.open(path)
  const setting = { client, tenant: 'acme', folder, pins: store.value, live: true, quiet: true }
  const heads = await readPullHeads(folder, undefined, store.value, 'acme')
  expect(pullExitCode(await pullChain({ ...setting, heads }))).toBe(0)
  await folder.close()
  expect(snapshot(path)).toEqual(want)
}

describe('a pull that is killed', () => {
  it('at any request, with half of an answer, goes on', async () => {
    deploy()
    const want = await whole()
    // Index, three segments, live, policy set, keys.
    for (let at = 1; at <= 7; at += 1) {
      rmSync(pulls.folder, { recursive: true, force: true })
      server.requests.length = 0
      const child = start()
      server.trick = (request, response, number) => {
        if (number !== at) return false
        response.writeHead(200, { 'content-length': '100000' })
        response.write(Buffer.alloc(2_000, 0x7b), () => {
          child.kill('SIGKILL')
        })
        return true
      }
      expect(await ended(child)).toMatchObject({ signal: 'SIGKILL' })
      expect(server.requests).toHaveLength(at)
      expect(wrongFiles(want)).toEqual([])
      server.trick = undefined
      await resume(want)
    }
  })
})

/** Exit code of a command that had fewer steps. */
const notReached = 42

/**
 * Loaded into the command before anything else: does to the k-th step of the file system what a kill, a full disk or a
 * dying one would do.
 */
const saboteur = aegis.file(
  'saboteur.mjs',
  `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const at = Number(process.env.FAULT_AT), how = process.env.FAULT_HOW
let steps = 0
const fault = () => Object.assign(new Error('planted'), { code: how === 'after' ? 'EIO' : 'ENOSPC' })
const hit = () => ++steps === at
const wrap = (object, name, applies = () => true) => {
  const real = object[name]
  object[name] = async function (...args) {
    if (!applies(args) || !hit()) return real.apply(this, args)
    if (how === 'kill') { process.kill(process.pid, 'SIGKILL'); await new Promise(() => {}) }
    if (how === 'before') throw fault()
    const result = await real.apply(this, args)
    if (name === 'open') await result.close()
    throw fault()
  }
}
const probe = await fs.promises.open(process.execPath)
const handle = Object.getPrototypeOf(probe)
await probe.close()
for (const name of ['write', 'sync']) wrap(handle, name)
for (const name of ['mkdir', 'rename', 'rm']) wrap(fs.promises, name)
wrap(fs.promises, 'open', (args) => args[1] === 'w')
const writeFileSync = fs.writeFileSync
fs.writeFileSync = (path, text, options) => {
  if (options?.flag !== 'wx' || !hit()) return writeFileSync(path, text, options)
  if (how === 'before') throw fault()
  // Half of the lock is written.
  writeFileSync(path, how === 'kill' ? '' : text, options)
  if (how === 'kill') { process.kill(process.pid, 'SIGKILL'); for (;;); }
  throw fault()
}
syncBuiltinESMExports()
process.on('exit', () => { if (steps < at) process.exitCode = ${String(notReached)} })
`,
)

describe('a pull whose file system', () => {
  const outcomes = {
    kill: { code: null, signal: 'SIGKILL' },
    before: { code: 2, stderr: expect.stringMatching(/^error: --out: /) as string },
    after: { code: 2, stderr: expect.stringMatching(/^error: --out: /) as string },
  } as const

  it.each(['kill', 'before', 'after'] as const)(
    'ends it at any step (%s) goes on from what is whole',
    { timeout: 180_000 },
    async (how) => {
      deploy()
      const want = await whole()
      /** @returns whether the pull has so many steps. */
      const endAt = async (step: number): Promise<boolean> => {
        const folder = `${pulls.folder}-${String(step)}`
        const env = { NODE_OPTIONS: `--import=${saboteur}`, FAULT_AT: String(step), FAULT_HOW: how }
        const interrupted = await ended(start(env, folder))
        if (interrupted.code === notReached) return false
        expect({ step, ...interrupted }).toMatchObject({ step, ...outcomes[how] })
        expect(wrongFiles(want, folder)).toEqual([])
        await resumeHere(want, folder)
        return true
      }
      let step = 1
      // In pairs, for the time that it takes.
      while ((await Promise.all([endAt(step), endAt(step + 1)])).every(Boolean)) step += 2
      // Folder and lock, and to open, write, sync, rename for each of seven files.
      expect(step).toBeGreaterThan(35)
    },
  )
})

describe('a pull whose connection', () => {
  it('breaks once at any request goes on by itself', async () => {
    deploy()
    const want = await whole()
    for (const cut of [0, 1_000]) {
      rmSync(pulls.folder, { recursive: true, force: true })
      const broken = new Set<string>()
      server.trick = (request, response) => {
        const path = request.url ?? ''
        if (broken.has(path)) return false
        broken.add(path)
        if (cut === 0) request.socket.destroy()
        else {
          response.writeHead(200, { 'content-length': '100000' })
          response.write(Buffer.alloc(cut, 0x7b), () => request.socket.destroy())
        }
        return true
      }
      const { code, stderr } = await ended(start())
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(broken.size).toBe(7)
      expect(snapshot()).toEqual(want)
    }
  })

  it('stays broken ends with exit code 2 and what was good', async () => {
    deploy()
    const want = await whole()
    server.trick = (request) => {
      if (request.url !== '/v1/chain/segments/2') return false
      request.socket.destroy()
      return true
    }
    const { code, stdout, stderr } = await ended(start())
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(
      /^error: GET http:\S+\/v1\/chain\/segments\/2: no answer: .*; sessions 0 to 1 are kept: run it again to go on\n$/,
    )
    expect(server.requests.filter((path) => path === '/v1/chain/segments/2')).toHaveLength(4)
    expect(wrongFiles(want)).toEqual([])
    server.trick = undefined
    await resume(want)
  })

  it('truncates an object is no reason to keep any of it', async () => {
    deploy()
    const want = await whole()
    const short = (chain.files[1] ?? Buffer.of()).subarray(0, -100)
    server.trick = (request, response) => {
      if (request.url !== '/v1/chain/segments/1') return false
      answerBytes(response, short)
      return true
    }
    const { code, stdout } = await ended(start())
    expect(code).toBe(1)
    expect(stdout).toContain('stopped at session 1: segment_length: ')
    expect(wrongFiles(want)).toEqual([])
    server.trick = undefined
    await resume(want)
  })
})
