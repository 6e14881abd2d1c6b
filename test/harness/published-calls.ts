/**
 * A tenant with 50,000 published Calls that takes no room: each Session is written when it is opened. Its Lines are those
 * of a real Chain with other ids and positions; nobody verifies them here.
 */
import type { TenantChainRpc } from '../../durable-objects/rpc.ts'
import type { Bucket } from '../../src/archive/bucket.ts'
import { decodeHex } from '../../src/record/index.ts'
import { buildChain } from './chain.ts'

export const sessionCount = 50
export const callsPerSession = 1_000

const startAt = Date.parse('2026-11-30T00:00:00.000Z')
const sessionMs = 15 * 60_000

const template = findTemplate()

/** An agent's outcome, and the members of it that differ from Call to Call. */
function findTemplate(): { readonly text: string; readonly agent: string } {
  const chain = buildChain({ seed: 7, sessions: 1, callsPerSession: 8, approvals: false })
  for (const { bytes } of chain.lines) {
    const text = Buffer.from(bytes).toString('utf8')
    const line = JSON.parse(text) as { line_type: string; agent_id?: string; policy?: { status: string } }
    if (line.line_type !== 'outcome' || line.policy?.status !== 'allowed' || line.agent_id === undefined)
      continue
    return { text, agent: line.agent_id }
  }
  throw new Error('the Chain has no allowed Call')
}

export class PublishedCalls {
  opened = 0
  onOpen: () => void = () => undefined
  /** A Session whose object was replaced. */
  altered: number | undefined
  readonly head = { sessionIndex: sessionCount - 1, seq: 2 * callsPerSession + 1 }

  get means() {
    return {
      chain: {
        segments: (_: string, after: number) =>
          Promise.resolve({
            kind: 'index',
            segments: Array.from({ length: sessionCount }, (__, at) => this.factsOf(at)).filter(
              ({ sessionIndex }) => sessionIndex > after,
            ),
            more: false,
            waiting: 0,
          }),
      } as unknown as TenantChainRpc,
      keyId: 'key',
      archive: { get: (path: string) => Promise.resolve(this.#open(path)) } as unknown as Bucket,
      tenant: 'acme',
    }
  }

  factsOf(sessionIndex: number) {
    const openedAt = startAt + sessionIndex * sessionMs
    const closedAt = openedAt + callsPerSession
    const bytes = lengthOf(sessionIndex)
    return { sessionIndex, bytes, sha256: '0'.repeat(64), openedAt, closedAt }
  }

  newestIds(count: number): string[] {
    return Array.from({ length: count }, (_, at) => callId(sessionCount - 1, callsPerSession - 1 - at))
  }

  rareIds(): string[] {
    const sessions = Array.from({ length: sessionCount }, (_, at) => sessionCount - 1 - at)
    return sessions.filter(isRare).map((session) => callId(session, 500))
  }

  #open(path: string) {
    const sessionIndex = Number(/(\d{10})\.aarl$/.exec(path)?.[1])
    this.opened += 1
    this.onOpen()
    const bytes = textOf(sessionIndex)
    const isTheirs = sessionIndex !== this.altered
    return {
      size: bytes.length,
      etag: '',
      checksums: { sha256: decodeHex((isTheirs ? '0' : '1').repeat(64))?.buffer },
      body: new Blob([]).stream(),
      arrayBuffer: () =>
        Promise.resolve(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)),
    }
  }
}

/** Sessions whose numbers have as many digits are as long as each other. */
const lengths = new Map<string, number>()

function lengthOf(sessionIndex: number): number {
  const key = `${String(isRare(sessionIndex))} ${String(String(sessionIndex).length)}`
  const length = lengths.get(key) ?? textOf(sessionIndex).length
  lengths.set(key, length)
  return length
}

function isRare(sessionIndex: number): boolean {
  return sessionIndex % 17 === 3
}

function callId(sessionIndex: number, at: number): string {
  return `call_${String(sessionIndex * callsPerSession + at).padStart(26, '0')}`
}

/** The template between the values that differ, so that 50,000 Lines are joined and not searched. */
const members =
  /("call_id":)"[^"]*"|("decided_at":)\d+|("seq":)\d+|("session_index":)\d+|("agent_id":)"[^"]*"/g
const pieces: readonly { readonly text: string; readonly name: string }[] = split(template.text)

function split(text: string): { readonly text: string; readonly name: string }[] {
  const found: { text: string; name: string }[] = []
  let start = 0
  for (const match of text.matchAll(members)) {
    const name = match.slice(1).find((group) => group !== undefined) ?? ''
    found.push({ text: text.slice(start, match.index) + name, name })
    start = match.index + match[0].length
  }
  return [...found, { text: text.slice(start), name: '' }]
}

function outcomeOf(values: Readonly<Record<string, string>>): string {
  return pieces.map(({ text, name }) => text + (values[name] ?? '')).join('')
}

function textOf(sessionIndex: number): Buffer {
  const rows = [`{"line_type":"open","seq":0,"session_index":${String(sessionIndex)}}`]
  for (let at = 0; at < callsPerSession; at += 1) {
    const id = callId(sessionIndex, at)
    const agent = isRare(sessionIndex) && at === 500 ? 'rare' : template.agent
    rows.push(
      `{"call_id":"${id}","line_type":"intent","seq":${String(2 * at + 1)},"padding":"${'x'.repeat(1_000)}"}`,
      outcomeOf({
        '"call_id":': `"${id}"`,
        '"decided_at":': String(startAt + sessionIndex * sessionMs + at),
        '"seq":': String(2 * at + 2),
        '"session_index":': String(sessionIndex),
        '"agent_id":': `"${agent}"`,
      }),
    )
  }
  rows.push(`{"line_type":"close","seq":${String(2 * callsPerSession + 1)}}`)
  return Buffer.from(`${rows.join('\n')}\n`)
}
