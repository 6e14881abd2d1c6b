/**
 * Load on one address of this machine: a number of clients, each with one connection kept alive, each sending its next
 * request when it has its answer. Raw sockets, so that the client costs little of the two cores; bounded in time.
 */
import { type Socket, connect } from 'node:net'

export interface Load {
  readonly port: number
  readonly clients: number
  readonly seconds: number
  /** The bytes of the next request, head and body. */
  readonly next: () => Buffer
  /** Called with the head of each answer. */
  readonly onHead?: (head: string) => void
}

export interface Measured {
  readonly perSecond: number
  /** Milliseconds, in order. */
  readonly latencies: readonly number[]
}

/** Runs it to the end; an answer that is not 200 ends it with an error. */
export async function runLoad(load: Load): Promise<Measured> {
  const latencies: number[] = []
  const started = performance.now()
  const until = started + load.seconds * 1000
  await Promise.all(Array.from({ length: load.clients }, () => runClient(load, until, latencies)))
  const elapsed = (performance.now() - started) / 1000
  return { perSecond: latencies.length / elapsed, latencies: latencies.sort((a, b) => a - b) }
}

export function percentile({ latencies }: Measured, share: number): number {
  return latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN
}

function runClient(load: Load, until: number, latencies: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: '127.0.0.1', port: load.port, noDelay: true })
    let sentAt = 0
    let received = ''
    const send = (): void => {
      if (performance.now() >= until) {
        socket.end()
        resolve()
        return
      }
      received = ''
      sentAt = performance.now()
      socket.write(load.next())
    }
    const fail = (error: Error): void => {
      socket.destroy()
      reject(error)
    }
    socket.on('connect', send)
    socket.on('error', fail)
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      const bodyAt = received.indexOf('\r\n\r\n') + 4
      if (bodyAt < 4) return
      const head = received.slice(0, bodyAt)
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
      const whole =
        length === undefined ? received.endsWith('0\r\n\r\n') : received.length - bodyAt >= Number(length)
      if (!whole) return
      latencies.push(performance.now() - sentAt)
      if (!head.startsWith('HTTP/1.1 200')) {
        fail(new Error(received.slice(0, 500)))
        return
      }
      load.onHead?.(head)
      send()
    })
  })
}
