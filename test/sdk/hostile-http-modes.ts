/** Ways in which connections, redirects, statuses and bodies fail or lie (authorize.md §6); the tests are hostile-*.test.ts. */
import { gzipSync } from 'node:zlib'
import {
  AegisAnswerError,
  type AegisErrorCode,
  AegisStatusError,
  AegisUnreachableError,
} from '../../src/sdk/index.ts'
import { type HostileServer, closedPort, sendJson, serve, serveRaw } from './hostile-server.ts'
import { type Mode, altered, authorizer, opened } from './mode.ts'

/** A mode that answers with a status. */
function status(
  number: number,
  code: AegisErrorCode,
  { headers = {}, body = '' }: { headers?: Record<string, string>; body?: string } = {},
): Mode {
  const server = (): Promise<HostileServer> =>
    serve((response) => {
      response.writeHead(number, headers).end(body)
    })
  return { server, error: AegisStatusError, code }
}

function statusWithAllow(number: number, code: AegisErrorCode): Mode {
  const server = (): Promise<HostileServer> =>
    serve((response, arrived) => {
      sendJson(response, authorizer.answer(arrived.body, { decision: 'allow' }), number)
    })
  return { server, error: AegisStatusError, code }
}

const unreachable = (code: 'network_error' | 'timeout', server: Mode['server']): Mode => ({
  server,
  error: AegisUnreachableError,
  code,
  // Long enough that no other mode ends by it on a slow machine.
  options: { timeoutMs: code === 'timeout' ? 300 : 10_000 },
})

const raw = (code: 'network_error' | 'timeout', text: string, then: 'end' | 'reset' | 'wait' = 'end'): Mode =>
  unreachable(code, () =>
    serveRaw((socket) => {
      socket.write(text)
      if (then === 'end') socket.end()
      if (then === 'reset') socket.resetAndDestroy()
    }),
  )

const problem = (code: string): { headers: Record<string, string>; body: string } => ({
  headers: { 'content-type': 'application/problem+json' },
  body: JSON.stringify({ title: 'No', status: 400, code, detail: 'no' }),
})

const json = (text: string): Mode => ({
  server: () => serve((response) => sendJson(response, text)),
  error: AegisAnswerError,
  code: 'answer_malformed',
})

function redirect(number: number, location: (own: string, elsewhere: string) => string): Mode {
  const server = async (): Promise<HostileServer> => {
    const elsewhere = opened(
      await serve((response, arrived) => {
        sendJson(response, authorizer.answer(arrived.body, { decision: 'allow' }))
      }),
    )
    return serve((response, arrived) => {
      const own = `http://${arrived.headers.host ?? ''}/v1/elsewhere`
      if (arrived.path === '/v1/elsewhere') {
        sendJson(response, authorizer.answer(arrived.body, { decision: 'allow' }))
      } else {
        response.writeHead(number, { location: location(own, `${elsewhere.url}/v1/authorize`) }).end()
      }
    })
  }
  return { server, error: AegisAnswerError, code: 'redirected' }
}

const okHead = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'

export const httpModes: Readonly<Record<string, Mode>> = {
  // the connection
  'a port where nobody listens': unreachable('network_error', closedPort),
  'a connection reset before the answer': raw('network_error', '', 'reset'),
  'a connection closed before the answer': raw('network_error', ''),
  'a connection reset within the body': raw(
    'network_error',
    `${okHead}content-length: 900\r\n\r\n{"decision":"allow"`,
    'reset',
  ),
  'a body shorter than its length': raw(
    'network_error',
    `${okHead}content-length: 900\r\n\r\n{"decision":"allow"}`,
  ),
  'headers that never come': raw('timeout', '', 'wait'),
  'headers that never end': raw('timeout', okHead, 'wait'),
  'a body that never comes': raw('timeout', `${okHead}content-length: 20\r\n\r\n`, 'wait'),
  'a body that drips': unreachable('timeout', () =>
    serve((response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const timer = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(timer))
    }),
  ),
  'chunks that never end': {
    server: () =>
      serve((response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const more = (): void => {
          while (response.write(' '.repeat(65_536)));
          response.once('drain', more)
        }
        more()
      }),
    error: AegisAnswerError,
    code: 'answer_too_large',
  },
  'garbage that begins like HTTP/1.0': raw('network_error', 'HTTP/1.0 wat\r\n\u0000\u0001\u0002'),
  'an answer of another protocol': raw('network_error', 'SSH-2.0-OpenSSH_9.2\r\n'),
  // redirects
  'a 302 to another host': redirect(302, (_, elsewhere) => elsewhere),
  'a 307 to another host': redirect(307, (_, elsewhere) => elsewhere),
  'a 308 on the same host': redirect(308, (own) => own),
  'a 307 that the fetch follows all the same': {
    ...redirect(307, (own) => own),
    options: {
      fetch: (url, init) => {
        const { body } = init
        const text = body instanceof Uint8Array ? { body: new TextDecoder().decode(body) } : {}
        return fetch(url, { ...init, ...text, redirect: 'follow' })
      },
    },
  },
  'a 303 without a place': redirect(303, () => ''),
  'a 304': { ...status(304, 'redirected'), error: AegisAnswerError },
  // statuses
  'a 400': status(400, 'unexpected_status', problem('body_invalid')),
  'a 401': status(401, 'unauthorized', problem('unauthorized')),
  'a 403': status(403, 'forbidden', problem('role_not_allowed')),
  'a 404 page': status(404, 'unexpected_status', { headers: { 'content-type': 'text/html' }, body: '<p>no' }),
  'a 409': status(409, 'conflict', problem('idempotency_conflict')),
  'a 413': status(413, 'unexpected_status', problem('body_too_large')),
  'a 429 with Retry-After': status(429, 'rate_limited', { headers: { 'retry-after': '60' } }),
  'a 429 without Retry-After': status(429, 'rate_limited', problem('rate_limited')),
  'a 500': status(500, 'server_error', problem('internal_error')),
  'a 502': status(502, 'unavailable'),
  'a 503': status(503, 'unavailable', problem('storage_full')),
  'a 504': status(504, 'unavailable'),
  'a 204': status(204, 'unexpected_status'),
  'a 206 with an allow': statusWithAllow(206, 'unexpected_status'),
  'a 201 with an allow': statusWithAllow(201, 'unexpected_status'),
  'a 503 with an allow': statusWithAllow(503, 'unavailable'),
  'a 403 with an allow': statusWithAllow(403, 'forbidden'),
  // bodies
  'a page of HTML': altered('not_json', () => '<html>allow</html>', { type: 'text/html' }),
  'an allow as text/plain': altered('not_json', (answer) => answer, { type: 'text/plain' }),
  'an allow as problem+json': altered('not_json', (answer) => answer, { type: 'application/problem+json' }),
  'an allow in another charset': altered('not_json', (answer) => answer, {
    type: 'application/json; charset=utf-16',
  }),
  'an allow without a content type': {
    server: () =>
      serve((response, arrived) => {
        response.end(JSON.stringify(authorizer.answer(arrived.body, { decision: 'allow' })))
      }),
    error: AegisAnswerError,
    code: 'not_json',
  },
  'an empty body': json(''),
  '{}': json('{}'),
  null: json('null'),
  'an array': json('[]'),
  'the word allow': json('"allow"'),
  'a decision and nothing else': json('{"decision":"allow"}'),
  'JSON cut in the middle': altered('answer_malformed', (answer) => JSON.stringify(answer).slice(0, -20)),
  'two answers': altered('answer_malformed', (answer) => JSON.stringify(answer) + JSON.stringify(answer)),
  'a byte order mark': altered('answer_malformed', (answer) => `\ufeff${JSON.stringify(answer)}`),
  'bytes that are not UTF-8': {
    server: () =>
      serve((response, arrived) => {
        const text = JSON.stringify(authorizer.answer(arrived.body, { decision: 'allow' }))
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(Buffer.from(text.replace('the-rule', 'th\u00e9-rule'), 'latin1'))
      }),
    error: AegisAnswerError,
    code: 'answer_malformed',
  },
  'deny and allow in one object': altered('answer_malformed', (answer) =>
    JSON.stringify(answer).replace('{', '{"decision":"deny",'),
  ),
  'the receipt twice': altered('answer_malformed', (answer) =>
    JSON.stringify(answer).replace(/}$/, `,"receipt":${JSON.stringify(answer.receipt)}}`),
  ),
  'a body of a mebibyte': altered('answer_too_large', (answer) => ({ ...answer, pad: 'x'.repeat(1 << 20) })),
  'a gzip bomb': {
    server: () =>
      serve((response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        response.end(gzipSync(Buffer.alloc(64 << 20, 0x20)))
      }),
    error: AegisAnswerError,
    code: 'answer_too_large',
  },
}
