/**
 * A deployment as `aegis pull` sees one, on a loopback port: it serves what a test has published, exactly as the API
 * does, and lies or fails where the test says so. Not for what the Worker does: test/worker has the real one.
 */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { encodeBase32 } from '../../src/protocol/base32.ts'
import { sha256Hex } from './forge.ts'

export interface PublishedSegment {
  session_index: number
  bytes: number
  sha256: string
  calls: number
  opened_at: number
  closed_at: number
  tail: string
  key_id: string
  [extra: string]: unknown
}

export interface Published {
  readonly tenant: string
  /** What the index says. */
  index: PublishedSegment[]
  /** What a segment holds, by `session_index`. */
  readonly files: Map<number, Uint8Array>
  readonly policies: Map<string, Uint8Array>
  keys: Uint8Array | undefined
  /** Lines from the first Session that is not published; `undefined`: none. */
  live: Uint8Array | undefined
  pageSize: number
}

/** What a deployment has after these Sessions were published; change it to make it lie. */
export function publish(
  tenant: string,
  files: readonly Uint8Array[],
  policies: readonly Uint8Array[] = [],
): Published {
  return {
    tenant,
    index: files.map(toEntry),
    files: new Map(files.entries()),
    policies: new Map(policies.map((bytes) => [sha256Hex(bytes), bytes])),
    keys: Buffer.from(JSON.stringify({ chain_id: tenant, deployment: 'test', keys: [] })),
    live: undefined,
    pageSize: 1_000,
  }
}

/** What an honest index says of a segment. */
export function toEntry(bytes: Uint8Array, sessionIndex: number): PublishedSegment {
  const ends = bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes
  const last = ends.subarray(ends.lastIndexOf(0x0a) + 1)
  return {
    session_index: sessionIndex,
    bytes: bytes.length,
    sha256: sha256Hex(bytes),
    calls: 1,
    opened_at: 1,
    closed_at: 2,
    tail: sha256Hex(last),
    key_id: '0'.repeat(64),
  }
}

/** A key of the form that the API has; worthless, and planted so that a test can look for it. */
export function apiKey(role: string, tenant: string): string {
  const part = (bytes: number, fill: number): string => encodeBase32(new Uint8Array(bytes).fill(fill))
  return `aegis_${role}_${tenant}_${part(10, 1)}${part(8, 2)}_${part(32, 0x5a)}`
}

/** Answers a request in its own way and returns `true`, or leaves it to the honest server. */
export type Trick = (request: IncomingMessage, response: ServerResponse, number: number) => boolean

export class SegmentServer {
  published: Published
  trick: Trick | undefined
  /** Paths with queries, in order. */
  readonly requests: string[] = []
  readonly authorizations: (string | undefined)[] = []
  readonly #server: Server

  private constructor(published: Published) {
    this.published = published
    this.#server = createServer((request, response) => {
      this.#answer(request, response)
    })
  }

  static async start(published: Published): Promise<SegmentServer> {
    const server = new SegmentServer(published)
    await new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', resolve)
    })
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`
  }

  async end(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const number = this.requests.push(request.url ?? '')
    this.authorizations.push(request.headers.authorization)
    if (this.trick?.(request, response, number) === true) return
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const { index, files, policies, keys, live, pageSize, tenant } = this.published
    const [, segment] = /^\/v1\/chain\/segments\/(\d+)$/.exec(pathname) ?? []
    const [, policy] = /^\/v1\/policies\/([0-9a-f]{64})$/.exec(pathname) ?? []
    if (pathname === '/v1/chain/segments') {
      const after = Number(searchParams.get('after') ?? '-1')
      const rest = index.filter((entry) => entry.session_index > after)
      const segments = rest.slice(0, pageSize)
      const next = rest.length > pageSize ? { next: segments.at(-1)?.session_index } : {}
      answerJson(response, { segments, ...next, unpublished: { sessions: 0 } })
    } else if (segment !== undefined) {
      answerBytes(response, files.get(Number(segment)))
    } else if (policy !== undefined) {
      answerBytes(response, policies.get(policy))
    } else if (pathname === `/v1/keys/${tenant}`) {
      answerBytes(response, keys)
    } else if (pathname === '/v1/chain/live') {
      const from = Number(searchParams.get('from') ?? '-1')
      answerBytes(
        response,
        index.some((entry) => entry.session_index >= from) ? undefined : (live ?? Buffer.of()),
      )
    } else {
      answerProblem(response, 404, 'not_found', 'there is nothing here')
    }
  }
}

export function answerJson(response: ServerResponse, body: unknown): void {
  answerBytes(response, Buffer.from(JSON.stringify(body)))
}

export function answerBytes(response: ServerResponse, bytes: Uint8Array | undefined): void {
  if (bytes === undefined) {
    answerProblem(response, 404, 'not_found', 'there is nothing here')
    return
  }
  response.writeHead(200, { 'content-length': String(bytes.length) }).end(bytes)
}

export function answerProblem(
  response: ServerResponse,
  status: number,
  code: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify({ type: 'about:blank', title: '-', status, code, detail, call_id: 'call_1' })
  response.writeHead(status, { 'content-type': 'application/problem+json', ...headers }).end(body)
}
