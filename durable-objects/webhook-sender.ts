/**
 * Sends a notice to a group's webhook (authorize.md §4): a signed POST (Standard Webhooks), to a public address, within
 * five seconds. Of what comes back only the status counts. When it is sent, and again, is src/chain/webhook.ts.
 *
 * Where it may go is judged twice: when the webhook is set, and before each attempt, with the addresses that its name has
 * then. What is connected to is looked up once more by the platform, so a name that changes between the two looks gets
 * through; on Cloudflare a Worker's requests reach no private network anyway. Redirects are not followed.
 */
import { resolve4, resolve6 } from 'node:dns/promises'
import type { WebhookTarget } from '../src/chain/records.ts'
import type { Notice, Sent } from '../src/chain/webhook.ts'
import { hmacSha256 } from '../src/crypto-node/index.ts'
import { utf8 } from '../src/record/index.ts'
import { isAddress, isPublicAddress } from './public-address.ts'

export interface WebhookEnv {
  /** `true`: also to private addresses, and without TLS. For a machine of one's own. */
  readonly AEGIS_WEBHOOK_ALLOW_PRIVATE?: string
  /** Where a person looks at an approval, with `{approval_id}` in it; without it notices have no link. */
  readonly AEGIS_APPROVAL_LINK?: string
}

export interface SenderPorts {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** Every address of a name; throws when it has none. */
  readonly resolve: (name: string) => Promise<readonly string[]>
  /** Integer ms since the epoch. */
  readonly now: () => number
  /** Of a group, each of 32 bytes: a receiver that knows one of them can verify. */
  readonly secretsOf: (group: string) => readonly Uint8Array[]
}

const timeoutMs = 5_000

export class WebhookSender {
  readonly #ports: SenderPorts
  readonly #allowsPrivate: boolean
  readonly #link: string | undefined

  constructor(ports: SenderPorts, env: WebhookEnv) {
    this.#ports = ports
    this.#allowsPrivate = env.AEGIS_WEBHOOK_ALLOW_PRIVATE === 'true'
    this.#link = env.AEGIS_APPROVAL_LINK
  }

  /** Whether a webhook may be set to go there; its name is not looked up yet. */
  mayGoTo({ url }: WebhookTarget): boolean {
    return toTarget(url, this.#allowsPrivate) !== undefined
  }

  /** Never throws, and ends within five seconds. */
  async send(notice: Notice): Promise<Sent> {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<Sent>((resolve) => {
      timer = setTimeout(() => {
        resolve({ kind: 'failed', why: 'timeout' })
        abort.abort()
      }, timeoutMs)
    })
    const sending = this.#send(notice, abort.signal).catch((): Sent => ({
      kind: 'failed',
      why: 'unreachable',
    }))
    try {
      return await Promise.race([sending, late])
    } finally {
      clearTimeout(timer)
    }
  }

  async #send(notice: Notice, signal: AbortSignal): Promise<Sent> {
    const { url } = notice.target
    const target = toTarget(url, this.#allowsPrivate)
    if (target === undefined) return { kind: 'failed', why: 'address_refused', isFinal: true }
    if (!this.#allowsPrivate && target.name !== undefined) {
      const addresses = await this.#ports.resolve(target.name).catch((): readonly string[] => [])
      if (addresses.length === 0) return { kind: 'failed', why: 'unresolved' }
      // One private address among public ones is enough: which of them is taken is not ours to say.
      if (!addresses.every(isPublicAddress)) return { kind: 'failed', why: 'address_refused' }
    }
    signal.throwIfAborted()
    const body = JSON.stringify(toBody(notice, this.#link))
    const response = await this.#ports.fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'aegis-edge/1',
        ...this.#sign(notice, body),
      },
      body,
      redirect: 'manual',
      signal,
    })
    await response.body?.cancel()
    const { status } = response
    if (status >= 200 && status < 300) return { kind: 'delivered' }
    // Gone: whoever is there wants no more of it.
    return { kind: 'failed', why: `status ${String(status)}`, ...(status === 410 ? { isFinal: true } : {}) }
  }

  /** Standard Webhooks, symmetric: one signature for each secret, over id, time of this attempt and body. */
  #sign({ id, group }: Notice, body: string): Readonly<Record<string, string>> {
    const timestamp = String(Math.floor(this.#ports.now() / 1000))
    const signed = utf8(`${id}.${timestamp}.${body}`)
    const signatures = this.#ports
      .secretsOf(group)
      .map((secret) => `v1,${toBase64(hmacSha256(secret, signed))}`)
    return {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    }
  }
}

/** As the specification writes a secret, so that its libraries take it. */
export function formatWebhookSecret(secret: Uint8Array): string {
  return `whsec_${toBase64(secret)}`
}

/** Every address of a name, of both families; throws when one of them could not be asked for. */
export async function resolveName(name: string): Promise<readonly string[]> {
  const none = (cause: unknown): readonly string[] => {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code === 'ENODATA' || code === 'ENOTFOUND') return []
    throw cause
  }
  const found = await Promise.all([resolve4(name).catch(none), resolve6(name).catch(none)])
  return found.flat()
}

/** Where a URL leads, if notices may go there; `name` where that must still be looked up. */
function toTarget(text: string, allowsPrivate: boolean): { readonly name?: string } | undefined {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return undefined
  }
  const isPlain = url.protocol === 'http:' && allowsPrivate
  if ((url.protocol !== 'https:' && !isPlain) || url.username !== '' || url.password !== '') return undefined
  // A URL has one spelling of each address: decimal, hexadecimal and octal ones are gone, IPv6 is in brackets.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  if (isAddress(host)) return allowsPrivate || isPublicAddress(host) ? {} : undefined
  if (!allowsPrivate && isLocalName(host)) return undefined
  return { name: host }
}

/** Names that no public resolver should be asked for. */
function isLocalName(name: string): boolean {
  return (
    !name.includes('.') || /\.(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa)$/i.test(name)
  )
}

function toBody(notice: Notice, link: string | undefined): object {
  const { approvalId, agentId, toolId, tenant, approveBy, requestedAt } = notice
  const until = new Date(approveBy).toISOString()
  const seen = link?.replaceAll('{approval_id}', approvalId)
  if (notice.target.format === 'slack') {
    const where = seen === undefined ? '' : `\n${escapeSlack(seen)}`
    const asked = `Agent ${agentId} of ${tenant} asks for ${toolId} (${approvalId}), until ${until}.`
    return { text: escapeSlack(asked) + where }
  }
  return {
    type: 'approval.pending',
    timestamp: new Date(requestedAt).toISOString(),
    data: {
      tenant,
      approval_id: approvalId,
      agent: agentId,
      tool_id: toolId,
      approve_by: until,
      ...(seen === undefined ? {} : { link: seen }),
    },
  }
}

/** What Slack would read as a link or a mention. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}
