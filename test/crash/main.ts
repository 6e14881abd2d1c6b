/**
 * `npm run crash [-- --rounds N --seed N]`: real workerd under load on a folder, ended with SIGKILL at random moments and
 * started again. After each round, from public bytes alone: every receipt that a client got is in the Chain at its
 * position, the Chain verifies, and no request stands in it twice, however often it was sent.
 *
 * What it proves: nothing acknowledged is lost when the process dies. What it does not: the page cache survives a killed
 * process, so that a power cut is not tried here; that is SQLite's and the platform's to keep.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { writeModules } from './modules.ts'
import { type PublicKeyHex, actionHash } from '../../src/record/index.ts'
import { Walk, toText } from '../../src/verify/index.ts'
import { bundleWorker } from '../../examples/local/authorizer.ts'
import { randomFrom } from '../harness/random.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    clients: { type: 'string', default: '8' },
  },
})
const rounds = Number(values.rounds)
const seed = Number(values.seed)
const clients = Number(values.clients)
const random = randomFrom(seed)

const server = fileURLToPath(new URL('server.ts', import.meta.url))
const tsx = fileURLToPath(new URL('../../node_modules/tsx/dist/cli.mjs', import.meta.url))

interface Running {
  readonly process: ChildProcess
  readonly url: string
  readonly keys: Readonly<Record<'agent' | 'auditor' | 'admin', string>>
  readonly publicKey: PublicKeyHex
}

/** In a process group of its own: workerd is a grandchild, and must die in the same instant. */
async function start(folder: string, port: number): Promise<Running> {
  const child = spawn(process.execPath, [tsx, server, folder, String(port)], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
    })
    child.once('exit', (code) => {
      reject(new Error(`the authorizer ended with ${String(code)}`))
    })
  })
  return { process: child, ...(JSON.parse(line) as Omit<Running, 'process'>) }
}

async function kill({ process: child }: Running): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  process.kill(-(child.pid ?? 0), 'SIGKILL')
  await ended
}

/** A request, and the receipt once a client has it. */
interface Sent {
  readonly body: string
  receipt?: string
}

let count = 0

function newRequest(): Sent {
  count += 1
  const toolCall = {
    tool: 'airline',
    action: 'get_user_details',
    resource: null,
    mutates_state: false,
    parameters: { user_id: `user_${String(count)}` },
  }
  return {
    body: JSON.stringify({
      request_id: `crash-${String(seed)}-${String(count)}`,
      tool_call: toolCall,
      action_hash: actionHash(toolCall, nodeSuite),
      context: { source_trust: 'semi_trusted_customer' },
    }),
  }
}

/** One client: sends, and remembers what it was not answered, to send the same bytes again next time. */
async function client(running: Running, open: Sent[], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const sent = open.pop() ?? newRequest()
    try {
      const response = await fetch(`${running.url}/v1/authorize`, {
        method: 'POST',
        headers: { authorization: `Bearer ${running.keys.agent}`, 'content-type': 'application/json' },
        body: sent.body,
      })
      const answer = (await response.json()) as { readonly receipt?: { readonly line: string } }
      if (answer.receipt !== undefined) {
        sent.receipt = answer.receipt.line
        acknowledged.push(sent)
        continue
      }
      if (response.status === 429) await sleep(50)
    } catch {
      // Cut off: it may have been taken or not, which the same bytes will show.
    }
    open.push(sent)
  }
}

const acknowledged: Sent[] = []

async function readChain({ url, keys }: Running): Promise<readonly Uint8Array[]> {
  const get = async (path: string): Promise<Response> => {
    for (;;) {
      const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${keys.auditor}` } })
      if (response.status === 429) {
        await sleep(100)
        continue
      }
      if (response.status !== 200)
        throw new Error(`${path}: ${String(response.status)} ${await response.text()}`)
      return response
    }
  }
  const files: Uint8Array[] = []
  let next = 0
  for (;;) {
    const after = next === 0 ? '' : `?after=${String(next - 1)}`
    const index = (await (await get(`/v1/chain/segments${after}`)).json()) as {
      readonly segments: readonly { readonly session_index: number }[]
    }
    for (const { session_index: session } of index.segments) {
      files.push(new Uint8Array(await (await get(`/v1/chain/segments/${String(session)}`)).arrayBuffer()))
      next = session + 1
    }
    if (index.segments.length < 1_000) break
  }
  try {
    files.push(new Uint8Array(await (await get(`/v1/chain/live?from=${String(next)}`)).arrayBuffer()))
  } catch (published) {
    // That Session was published between the two readings.
    if (String(published).includes(': 404 ')) return readChain({ url, keys } as Running)
    throw published
  }
  return files
}

interface Judged {
  readonly lines: number
  readonly sessions: number
  readonly lost: number
  readonly doubled: number
}

async function judge(running: Running): Promise<Judged> {
  const files = await readChain(running)
  const walk = new Walk({
    digester: nodeSuite,
    check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
    pins: [{ publicKey: running.publicKey }],
  })
  const lines = new Set<string>()
  const digests = new Map<string, number>()
  let sessions = 0
  for (const file of files) {
    walk.push(file)
    walk.endFile()
    for (const text of new TextDecoder().decode(file).split('\n')) {
      if (text === '') continue
      const line = JSON.parse(text) as { line_type: string; request_digest?: string; agent_id?: string }
      if (line.line_type === 'open') sessions += 1
      if (line.line_type !== 'outcome' || line.agent_id === undefined) continue
      lines.add(text)
      digests.set(line.request_digest ?? '', (digests.get(line.request_digest ?? '') ?? 0) + 1)
    }
  }
  const report = walk.end()
  const isWhole =
    report.verdict === 'verified' ||
    (report.verdict === 'indeterminate' &&
      report.finding.reason === 'unanchored_tail' &&
      report.inFlight.length === 0)
  if (!isWhole) throw new Error(`the Chain does not hold:\n${toText(report)}`)
  const lost = acknowledged.filter(({ receipt }) => !lines.has(receipt ?? '')).length
  // Counted by the bytes that were sent: the digest is what the Line has of them.
  const sent = new Set(acknowledged.map(({ body }) => createHash('sha256').update(body).digest('hex')))
  const doubled = [...digests].filter(([digest, times]) => times > 1 && sent.has(digest)).length
  return { lines: lines.size, sessions, lost, doubled }
}

const folder = await mkdtemp(join(tmpdir(), 'aegis-crash-'))
// Built once: a start is then the start of workerd and little else.
await writeModules(await bundleWorker(), join(folder, 'worker'))
const startedAt = Date.now()
let kills = 0
let lost = 0
let doubled = 0
const open: Sent[] = []
process.stdout.write(`seed ${String(seed)}, ${String(rounds)} rounds, ${String(clients)} clients\n`)
let running = await start(folder, 0)
const port = Number(new URL(running.url).port)
try {
  for (let round = 1; round <= rounds; round += 1) {
    let isOver = false
    const load = Array.from({ length: clients }, () => client(running, open, () => isOver))
    await sleep(20 + random.below(700))
    await kill(running)
    kills += 1
    isOver = true
    await Promise.all(load)
    running = await start(folder, port)
    // Every tenth Session ends on demand too, so that what is killed is also a publishing.
    if (round % 10 === 0) {
      await fetch(`${running.url}/v1/chain/seal`, {
        method: 'POST',
        headers: { authorization: `Bearer ${running.keys.admin}` },
      })
    }
    const judged = await judge(running)
    lost += judged.lost
    doubled += judged.doubled
    if (judged.lost + judged.doubled > 0 || round % 10 === 0 || round === rounds) {
      process.stdout.write(
        `round ${String(round)}: ${String(acknowledged.length)} acknowledged, ${String(judged.lines)} in the Chain, ` +
          `${String(judged.sessions)} Sessions, lost ${String(judged.lost)}, doubled ${String(judged.doubled)}\n`,
      )
    }
  }
} finally {
  await kill(running).catch(() => undefined)
  await rm(folder, { recursive: true, force: true })
}
const seconds = Math.round((Date.now() - startedAt) / 1000)
process.stdout.write(
  `${String(kills)} kills in ${String(seconds)} s: ${String(acknowledged.length)} acknowledged, lost ${String(lost)}, doubled ${String(doubled)}\n`,
)
process.exitCode = lost + doubled === 0 ? 0 : 1
