/**
 * The system as it is deployed, for tests over HTTP: started on a folder that is removed afterwards, its Chain read and
 * judged from public bytes alone.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalAuthorizer, type WorkerModules, startAuthorizer } from '../../examples/local/authorizer.ts'
import { developmentSecrets } from '../../examples/local/secrets.ts'
import type { LocalTenant } from '../../examples/local/tenant.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type PublicKeyHex, parseDigest } from '../../src/record/index.ts'
import { type Report, Walk } from '../../src/verify/index.ts'

export interface System {
  readonly authorizer: LocalAuthorizer
  readonly folder: string
  /** Ends the runtime without a word to it, and starts another one over the same state and port. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

export async function startSystem(
  modules: WorkerModules,
  {
    twin = false,
    bindings = {},
  }: { readonly twin?: boolean; readonly bindings?: Record<string, string> } = {},
): Promise<System> {
  const folder = await mkdtemp(join(tmpdir(), 'aegis-system-'))
  const start = (port: number) =>
    startAuthorizer({ stateFolder: folder, port, secrets: developmentSecrets, modules, twin, bindings })
  let authorizer = await start(0)
  const port = Number(new URL(authorizer.url).port)
  return {
    get authorizer() {
      return authorizer
    },
    folder,
    async restart() {
      await authorizer.stop()
      authorizer = await start(port)
    },
    async stop() {
      await authorizer.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The open Session's bytes, as an auditor gets them. */
export async function readChain(url: string, { keys }: LocalTenant): Promise<Uint8Array> {
  const answer = await fetch(`${url}/v1/chain/live`, { headers: { authorization: `Bearer ${keys.auditor}` } })
  if (answer.status !== 200) throw new Error(`chain/live: ${String(answer.status)} ${await answer.text()}`)
  return new Uint8Array(await answer.arrayBuffer())
}

export function verifyChain(bytes: Uint8Array, publicKey: string): Report {
  const pinned = parseDigest<PublicKeyHex>(publicKey)
  if (pinned === undefined) throw new Error('no public key')
  const walk = new Walk({
    digester: nodeSuite,
    check: (check) => nodeSuite.verify(check.publicKey, check.message, check.signature),
    pins: [{ publicKey: pinned }],
  })
  walk.push(bytes)
  return walk.end()
}

/** What a Line says of itself, as far as these tests read it. */
export interface ReadLine {
  readonly line_type: string
  readonly seq: number
  readonly tool_id?: string
  readonly call_id?: string
  readonly agent_id?: string
  readonly policy_set_hash?: string
  readonly policy?: { readonly status: string; readonly reason?: string }
}

/** The Lines as text, by position. */
export function linesOf(bytes: Uint8Array): readonly string[] {
  return Buffer.from(bytes).toString('utf8').split('\n').slice(0, -1)
}

export function parseLines(lines: readonly string[]): readonly ReadLine[] {
  return lines.map((line) => JSON.parse(line) as ReadLine)
}

/** A command of Node's or Python's; whatever it exits with is an answer. */
export function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve, reject) => {
    execFile(
      command,
      args,
      { env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error !== null && typeof error.code !== 'number') reject(error)
        else resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr })
      },
    )
  })
}

/** What runs in a process group; the dead that nobody has collected yet do not count. */
export async function processesOf(group: number): Promise<readonly string[]> {
  const { stdout } = await run('ps', ['-eo', 'pgid=,stat=,args='])
  return stdout.split('\n').filter((line) => new RegExp(`^ *${String(group)} +[^Z]`).test(line))
}
