/** Sending a notice: where it may go, what it says, how long it may take; and the receiver of examples/ that verifies it. */
import { type RequestListener, type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type SenderPorts,
  type WebhookEnv,
  WebhookSender,
  formatWebhookSecret,
} from '../../durable-objects/webhook-sender.ts'
import { type Notice as Received, createReceiver, toText } from '../../examples/webhook-receiver/receiver.ts'
import type { WebhookTarget } from '../../src/chain/records.ts'
import type { Notice } from '../../src/chain/webhook.ts'
import { deriveWebhookSecret } from '../../src/crypto-node/index.ts'
import { testSeed } from '../harness/follower.ts'

const secret = deriveWebhookSecret(testSeed, 'test', 'acme', 'leads')
const older = deriveWebhookSecret(testSeed, 'test', 'acme', 'another')

function notice(url: string, format: WebhookTarget['format'] = 'standard'): Notice {
  return {
    id: 'apr_1_leads',
    group: 'leads',
    target: { url, format },
    tenant: 'acme',
    approvalId: 'apr_1',
    agentId: 'bot',
    toolId: 'github.merge_pr',
    requestedAt: Date.UTC(2026, 10, 30, 12),
    approveBy: Date.UTC(2026, 10, 30, 12, 30),
  }
}

interface Fetched {
  readonly url: string
  readonly init: Omit<RequestInit, 'body' | 'headers'> & { body: string; headers: Record<string, string> }
}

/** A sender over a made-up world; what it fetched. */
function sender(given: Partial<SenderPorts> & { readonly env?: WebhookEnv } = {}) {
  const { env = {}, ...ports } = given
  const fetched: Fetched[] = []
  const made = new WebhookSender(
    {
      fetch: (url, init) => {
        fetched.push({ url, init: init as Fetched['init'] })
        return Promise.resolve(new Response(null, { status: 200 }))
      },
      resolve: () => Promise.resolve(['93.184.215.14']),
      now: () => Date.now(),
      secretsOf: () => [secret],
      ...ports,
    },
    env,
  )
  return { sender: made, fetched }
}

const local = {
  env: { AEGIS_WEBHOOK_ALLOW_PRIVATE: 'true' },
  fetch: (url: string, init: RequestInit) => fetch(url, init),
}

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

async function listen(server: Server): Promise<string> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hook`
}

const serve = (listener: RequestListener) => listen(createServer(listener))

describe('a webhook', () => {
  it.each([
    'http://hooks.example.com/',
    'ftp://hooks.example.com/',
    'javascript:alert(1)',
    'https://user@hooks.example.com/',
    'https://user:pass@hooks.example.com/',
    'https://localhost/',
    'https://localhost./',
    'https://a.localhost/',
    'https://printer/',
    'https://db.internal/',
    'https://nas.local/',
    'https://router.home.arpa/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f.0.0.1/',
    'https://0177.0.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1/',
    'https://100.64.0.1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[fd00::1]/',
    'https://[fe80::1]/',
    'https://\u2460\u2468\u2461.168.0.1/',
    'not a URL',
  ])('may not be set to %s, and nothing is sent there', async (url) => {
    const { sender: made, fetched } = sender()
    expect(made.mayGoTo({ url, format: 'standard' })).toBe(false)
    expect(await made.send(notice(url))).toEqual({ kind: 'failed', why: 'address_refused', isFinal: true })
    expect(fetched).toEqual([])
  })

  it.each([
    [['10.0.0.1']],
    [['127.0.0.1']],
    [['::1']],
    [['93.184.215.14', '192.168.1.1']],
    [['93.184.215.14', 'fd00::1']],
    [['not an address']],
  ])('whose name has the addresses %j is not sent to', async (addresses) => {
    const { sender: made, fetched } = sender({ resolve: () => Promise.resolve(addresses) })
    expect(await made.send(notice('https://hooks.example.com/'))).toEqual({
      kind: 'failed',
      why: 'address_refused',
    })
    expect(fetched).toEqual([])
  })

  it('whose name has none, or cannot be looked up, is tried again later', async () => {
    for (const resolve of [() => Promise.resolve([]), () => Promise.reject(new Error('SERVFAIL'))]) {
      const { sender: made, fetched } = sender({ resolve })
      expect(await made.send(notice('https://hooks.example.com/'))).toEqual({
        kind: 'failed',
        why: 'unresolved',
      })
      expect(fetched).toEqual([])
    }
  })

  it('is looked up anew before each attempt', async () => {
    const answers = [['93.184.215.14'], ['10.0.0.1']]
    const { sender: made, fetched } = sender({ resolve: () => Promise.resolve(answers.shift() ?? []) })
    await made.send(notice('https://hooks.example.com/'))
    await made.send(notice('https://hooks.example.com/'))
    expect(fetched).toHaveLength(1)
  })

  it('may be local where the deployment says so', async () => {
    const url = await serve((_request, response) => response.writeHead(204).end())
    const { sender: made } = sender(local)
    expect(made.mayGoTo({ url, format: 'standard' })).toBe(true)
    expect(await made.send(notice(url))).toEqual({ kind: 'delivered' })
    for (const value of ['', 'false', '1', 'TRUE']) {
      const strict = sender({ env: { AEGIS_WEBHOOK_ALLOW_PRIVATE: value } }).sender
      expect(strict.mayGoTo({ url, format: 'standard' })).toBe(false)
    }
  })
})

describe('a notice', () => {
  const bodyOf = async (format: WebhookTarget['format'], env: WebhookEnv = {}) => {
    const { sender: made, fetched } = sender({ env })
    await made.send(notice('https://hooks.example.com/x', format))
    return JSON.parse(fetched[0]?.init.body ?? '') as unknown
  }
  const link = { AEGIS_APPROVAL_LINK: 'https://aegis.example/approvals/{approval_id}?from=hook' }

  it('says who asks for which tool until when, and nothing else', async () => {
    const data = {
      tenant: 'acme',
      approval_id: 'apr_1',
      agent: 'bot',
      tool_id: 'github.merge_pr',
      approve_by: '2026-11-30T12:30:00.000Z',
    }
    expect(await bodyOf('standard')).toEqual({
      type: 'approval.pending',
      timestamp: '2026-11-30T12:00:00.000Z',
      data,
    })
    expect(await bodyOf('standard', link)).toMatchObject({
      data: { ...data, link: 'https://aegis.example/approvals/apr_1?from=hook' },
    })
  })

  it('is a text for Slack when asked for, in which nothing is a mention', async () => {
    expect(await bodyOf('slack')).toEqual({
      text: 'Agent bot of acme asks for github.merge_pr (apr_1), until 2026-11-30T12:30:00.000Z.',
    })
    const { sender: made, fetched } = sender({ env: link })
    await made.send({ ...notice('https://hooks.example.com/x', 'slack'), agentId: '<!channel> & co' })
    const { text } = JSON.parse(fetched[0]?.init.body ?? '') as { readonly text: string }
    expect(text).toContain('Agent &lt;!channel&gt; &amp; co of')
    expect(text).toContain('\nhttps://aegis.example/approvals/apr_1?from=hook')
  })

  it.each([
    [200, { kind: 'delivered' }],
    [204, { kind: 'delivered' }],
    [400, { kind: 'failed', why: 'status 400' }],
    [410, { kind: 'failed', why: 'status 410', isFinal: true }],
    [500, { kind: 'failed', why: 'status 500' }],
  ])('answered %s: %j', async (status, sent) => {
    const url = await serve((_request, response) => response.writeHead(status).end('whatever it says'))
    expect(await sender(local).sender.send(notice(url))).toEqual(sent)
  })

  it('does not follow a redirect', async () => {
    let followed = 0
    const to = await serve((_request, response) => {
      followed += 1
      response.writeHead(200).end()
    })
    for (const status of [301, 302, 303, 307, 308]) {
      const url = await serve((_request, response) => response.writeHead(status, { location: to }).end())
      expect(await sender(local).sender.send(notice(url))).toEqual({
        kind: 'failed',
        why: `status ${String(status)}`,
      })
    }
    expect(followed).toBe(0)
  })

  it('to a receiver that is not there is tried again', async () => {
    const url = await serve(() => undefined)
    servers.splice(0)[0]?.close()
    expect(await sender(local).sender.send(notice(url))).toEqual({ kind: 'failed', why: 'unreachable' })
  })

  it('waits five seconds and no longer: for an answer that never comes, a body that never ends, a name', async () => {
    const silent = await serve(() => undefined)
    const endless = await serve((_request, response) => {
      response.writeHead(200).write('x'.repeat(1_000_000))
    })
    const waited = async (send: () => Promise<unknown>): Promise<readonly [unknown, number]> => {
      const from = performance.now()
      return [await send(), Math.round((performance.now() - from) / 1000)]
    }
    const nobody = sender({ resolve: () => new Promise(() => undefined) }).sender
    const [late, read, unnamed] = await Promise.all([
      waited(() => sender(local).sender.send(notice(silent))),
      waited(() => sender(local).sender.send(notice(endless))),
      waited(() => nobody.send(notice('https://hooks.example.com/'))),
    ])
    expect(late).toEqual([{ kind: 'failed', why: 'timeout' }, 5])
    // Of what comes back nothing is read.
    expect(read).toEqual([{ kind: 'delivered' }, 0])
    expect(unnamed).toEqual([{ kind: 'failed', why: 'timeout' }, 5])
  })
})

describe('the receiver in examples/', () => {
  async function receiving(
    text = formatWebhookSecret(secret),
    pass: (got: Received) => void = () => undefined,
  ) {
    const got: Received[] = []
    const server = createReceiver({
      secret: text,
      pass(one) {
        pass(one)
        got.push(one)
      },
    })
    return { url: await listen(server), got }
  }

  it('takes what is signed, once, and turns it into a line for a chat', async () => {
    const { url, got } = await receiving()
    const { sender: made } = sender(local)
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await made.send(notice(url))).toEqual({ kind: 'delivered' })
    }
    expect(got).toHaveLength(1)
    expect(toText(got[0] as Received)).toBe(
      'acme: agent bot asks for github.merge_pr, until 2026-11-30T12:30:00.000Z. aegis approvals show apr_1',
    )
  })

  it('goes on with the secret of an older seed as long as that one is configured', async () => {
    const { url } = await receiving(formatWebhookSecret(older))
    const both = sender({ ...local, secretsOf: () => [secret, older] }).sender
    expect(await both.send(notice(url))).toEqual({ kind: 'delivered' })
    expect(await sender(local).sender.send(notice(url))).toEqual({ kind: 'failed', why: 'status 401' })
  })

  it('takes it with the next attempt when it could not pass it on', async () => {
    let fails = true
    const { url, got } = await receiving(undefined, () => {
      if (fails) throw new Error('the chat is down')
    })
    const { sender: made } = sender(local)
    expect(await made.send(notice(url))).toEqual({ kind: 'failed', why: 'status 500' })
    fails = false
    expect(await made.send(notice(url))).toEqual({ kind: 'delivered' })
    expect(got).toHaveLength(1)
  })

  it('refuses every other sender: another secret, body, id, time or none of them', async () => {
    const { url, got } = await receiving()
    const { sender: made, fetched } = sender()
    await made.send(notice('https://hooks.example.com/'))
    const [{ init }] = fetched as [Fetched]
    const signed = init.headers
    const seconds = Number(signed['webhook-timestamp'])
    const past = sender({ now: () => Date.now() - 6 * 60_000 })
    await past.sender.send(notice('https://hooks.example.com/'))
    const attempts: RequestInit[] = [
      { ...init, body: `${init.body} ` },
      { ...init, headers: { ...signed, 'webhook-id': 'apr_2_leads' } },
      { ...init, headers: { ...signed, 'webhook-timestamp': String(seconds + 1) } },
      { ...init, headers: { ...signed, 'webhook-signature': '' } },
      {
        ...init,
        headers: { ...signed, 'webhook-signature': (signed['webhook-signature'] ?? '').replace('v1', 'v2') },
      },
      { ...init, headers: { 'content-type': 'application/json' } },
      past.fetched[0]?.init ?? {},
    ]
    const statuses = await Promise.all(attempts.map(async (attempt) => (await fetch(url, attempt)).status))
    expect(statuses).toEqual(attempts.map(() => 401))
    expect((await fetch(url, { ...init, body: 'x'.repeat(70_000) })).status).toBe(413)
    expect((await fetch(url)).status).toBe(405)
    expect(got).toEqual([])
    expect((await fetch(url, init)).status).toBe(204)
  })

  it('does not start without a secret that is one', () => {
    for (const text of ['', 'whsec_', 'whsec_c2hvcnQ=', 'something else entirely, and long']) {
      expect(() => createReceiver({ secret: text, pass: () => undefined })).toThrow('whsec_')
    }
  })
})
