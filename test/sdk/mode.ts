/**
 * One way in which a server can fail or lie, and the error that the client must answer it with; and how such servers are
 * made from a sound answer. The tables stand in hostile-*.test.ts.
 */
import { afterEach } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import type { AuthorizeAnswer } from '../../src/protocol/authorize-answer.ts'
import {
  Aegis,
  AegisAnswerError,
  type AegisError,
  type AegisErrorCode,
  type AegisOptions,
} from '../../src/sdk/index.ts'
import { type Decided, TestAuthorizer } from './authorizer.ts'
import { type Arrived, type HostileServer, sendJson, serve } from './hostile-server.ts'

export interface Mode {
  readonly server: () => Promise<HostileServer>
  readonly error: abstract new (...args: never[]) => AegisError
  readonly code: AegisErrorCode
  readonly options?: Partial<AegisOptions>
}

/** Whose answers the modes alter. */
export const authorizer = new TestAuthorizer(nodeSuite)
export const action = { tool: 'github', action: 'merge_pr', parameters: { base_branch: 'main' } }

const open: HostileServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

/** Closed when the test ends. */
export function opened(server: HostileServer): HostileServer {
  open.push(server)
  return server
}

interface Alteration {
  readonly decided?: Decided
  readonly options?: Partial<AegisOptions>
  readonly type?: string
}

/** A mode that answers 200 with text made from a sound allow. */
export function altered(
  code: AegisErrorCode,
  alter: (answer: AuthorizeAnswer, arrived: Arrived) => unknown,
  { decided = { decision: 'allow' }, options = {}, type = 'application/json' }: Alteration = {},
): Mode {
  const server = (): Promise<HostileServer> =>
    serve((response, arrived) => {
      sendJson(response, alter(authorizer.answer(arrived.body, decided), arrived), 200, type)
    })
  return { server, error: AegisAnswerError, code, options }
}

/** What a client makes of one such server, asked once: the answer where there is one, else what was thrown. */
export async function outcomeOf(mode: Mode): Promise<unknown> {
  const { url } = opened(await mode.server())
  const options = { url, key: authorizer.key, attemptsMax: 1, ...mode.options }
  return new Aegis(options).authorize(action).catch((thrown: unknown) => thrown)
}
