/** A client of a server that answers request after request as a test says; for the tests of what a client does. */
import { Aegis, type AegisOptions, type UnverifiedReads } from '../../src/sdk/index.ts'
import type { Decided } from './authorizer.ts'
import { type Handler, type HostileServer, sendJson, serve } from './hostile-server.ts'
import { authorizer, opened } from './mode.ts'

/** A server that goes through handlers, one a request; the last one again. */
export async function sequence(...handlers: Handler[]): Promise<HostileServer> {
  let at = 0
  const server = await serve((response, arrived) => {
    const handler = handlers[Math.min(at, handlers.length - 1)]
    at += 1
    return handler?.(response, arrived)
  })
  return opened(server)
}

export const decide =
  (decided: Decided): Handler =>
  (response, arrived) => {
    sendJson(response, authorizer.answer(arrived.body, decided))
  }
export const allow = decide({ decision: 'allow' })
export const refuse =
  (status: number, headers: Record<string, string> = {}): Handler =>
  (response) => {
    response.writeHead(status, headers).end()
  }

export function client(
  server: HostileServer,
  options: Partial<AegisOptions> = {},
): Aegis<UnverifiedReads | undefined> {
  return new Aegis({
    url: server.url,
    key: authorizer.key,
    verify: { keys: [authorizer.publicKey] },
    timeoutMs: 10_000,
    ...options,
  })
}

export const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (answer) => ({ answered: answer }),
    (error: unknown) => error,
  )
