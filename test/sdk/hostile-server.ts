/**
 * A server on this machine that answers as a test tells it, byte by byte where need be. Keeps every request that arrived
 * whole. One connection a request, so that no answer can reach another one's request.
 */
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http'
import { type AddressInfo, type Socket, createServer as createTcpServer } from 'node:net'

export interface Arrived {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
  /** `performance.now()` when it was whole. */
  readonly at: number
}

export type Handler = (response: ServerResponse, arrived: Arrived) => void | Promise<void>

export interface HostileServer {
  readonly url: string
  readonly arrived: readonly Arrived[]
  close(): Promise<void>
}

/** Answers with HTTP as node:http makes it. */
export async function serve(handler: Handler): Promise<HostileServer> {
  const arrived: Arrived[] = []
  const server = createServer((request, response) => {
    const chunks: Uint8Array[] = []
    response.setHeader('connection', 'close')
    response.on('error', () => undefined)
    request.on('data', (chunk: Uint8Array) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const one = { method, path: url, headers, body: Buffer.concat(chunks), at: performance.now() }
      arrived.push(one)
      void handler(response, one)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: urlOf(server.address()),
    arrived,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Answers with whatever bytes the handler writes once a request has begun to arrive. */
export async function serveRaw(handler: (socket: Socket) => void): Promise<HostileServer> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', () => handler(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: urlOf(server.address()),
    arrived: [],
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The address of a port on which nothing listens. */
export async function closedPort(): Promise<HostileServer> {
  const server = await serve(() => undefined)
  await server.close()
  return { url: server.url, arrived: [], close: async () => undefined }
}

export function sendJson(
  response: ServerResponse,
  body: unknown,
  status = 200,
  type = 'application/json',
): void {
  response.writeHead(status, { 'content-type': type })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

function urlOf(address: string | AddressInfo | null): string {
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return `http://127.0.0.1:${String(address.port)}`
}
