/**
 * Receives what Aegis Edge sends when an approver group is asked, and passes it on to a chat. Nothing but Node's own
 * modules, so that it can be copied as it is. What it must do, in this order: bound the body, verify the signature over
 * the bytes as they came, refuse what is old, drop what it has seen, answer at once.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'

/** What a notice says. */
export interface Notice {
  readonly tenant: string
  readonly approval_id: string
  readonly agent: string
  readonly tool_id: string
  readonly approve_by: string
  readonly link?: string
}

export interface ReceiverOptions {
  /** `whsec_…`, from `GET /v1/groups/{name}/webhook-secret`. */
  readonly secret: string
  /** Where a verified notice goes; once for each, unless the receiver was restarted in between. */
  readonly pass: (notice: Notice) => void | Promise<void>
}

/** Notices are well below 4 KiB. */
const bodyBytesMax = 65_536
/** How far the sender's clock may be from ours. */
const toleranceS = 5 * 60
/** Ids that are remembered: attempts come for a day, and then they are of no use. */
const seenMax = 10_000

export function createReceiver({ secret, pass }: ReceiverOptions): Server {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  if (!secret.startsWith('whsec_') || key.length < 24) throw new Error('the secret is not whsec_ and base64')
  const seen = new Set<string>()
  const answer = async (request: IncomingMessage): Promise<number> => {
    if (request.method !== 'POST') return 405
    const body = await readBody(request)
    if (body === undefined) return 413
    const id = header(request, 'webhook-id')
    const timestamp = header(request, 'webhook-timestamp')
    if (!isSigned(key, id, timestamp, body, header(request, 'webhook-signature'))) return 401
    if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceS) return 401
    // Another attempt of one that arrived: its answer was lost.
    if (seen.has(id)) return 204
    const event = JSON.parse(body.toString('utf8')) as { readonly type?: string; readonly data?: Notice }
    if (event.type === 'approval.pending' && event.data !== undefined) await pass(event.data)
    // Remembered once it was passed on: where that fails, the next attempt does it again.
    const [oldest] = seen
    if (seen.size >= seenMax && oldest !== undefined) seen.delete(oldest)
    seen.add(id)
    return 204
  }
  return createServer((request: IncomingMessage, response: ServerResponse) => {
    answer(request)
      .catch(() => 500)
      .then((status) => response.writeHead(status).end())
      .catch(() => undefined)
  })
}

/** Whether one of the signatures is ours: HMAC-SHA-256 over `id.timestamp.body`, compared in constant time. */
function isSigned(key: Buffer, id: string, timestamp: string, body: Buffer, signatures: string): boolean {
  if (id === '' || !/^\d{1,12}$/.test(timestamp)) return false
  const want = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
  return signatures.split(' ').some((signature) => {
    const [version, text] = signature.split(',', 2)
    const got = Buffer.from(text ?? '', 'base64')
    return version === 'v1' && got.length === want.length && timingSafeEqual(got, want)
  })
}

/** `undefined` when there is too much of it. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function header(request: IncomingMessage, name: string): string {
  const value = request.headers[name]
  return typeof value === 'string' ? value : ''
}

/** One line for a chat. */
export function toText({ tenant, agent, tool_id: toolId, approval_id: id, approve_by: until, link }: Notice) {
  const text = `${tenant}: agent ${agent} asks for ${toolId}, until ${until}. aegis approvals show ${id}`
  return link === undefined ? text : `${text} or ${link}`
}
