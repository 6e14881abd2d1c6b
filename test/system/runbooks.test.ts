/**
 * The runbooks of docs/runbooks.md, done: an object restored from the past, an object lost, a seed that leaked. Real
 * workerd, its storage taken away and put back as a folder; everything judged from what an auditor can download.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type LocalAuthorizer,
  type LocalSecrets,
  type WorkerModules,
  bundleWorker,
  startAuthorizer,
} from '../../examples/local/authorizer.ts'
import { developmentSecrets } from '../../examples/local/secrets.ts'
import { type LocalTenant, provisionTenant, readBundleOrThrow } from '../../examples/local/tenant.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { actionHash, decodeHex, encodeHex, keyIdOf } from '../../src/record/index.ts'
import { type Report, Walk, parseTrustStore } from '../../src/verify/index.ts'

let modules: WorkerModules

beforeAll(async () => {
  modules = await bundleWorker()
})

/** One deployment on a folder, which can be stopped, taken back in time and started again. */
class Deployment {
  readonly #folder: string
  #authorizer: LocalAuthorizer
  readonly tenant: LocalTenant

  private constructor(folder: string, authorizer: LocalAuthorizer, tenant: LocalTenant) {
    this.#folder = folder
    this.#authorizer = authorizer
    this.tenant = tenant
  }

  static async start(name: string): Promise<Deployment> {
    const folder = await mkdtemp(join(tmpdir(), 'aegis-runbook-'))
    const authorizer = await startAuthorizer({
      stateFolder: folder,
      port: 0,
      secrets: developmentSecrets,
      modules,
    })
    const tenant = await provisionTenant(authorizer, developmentSecrets, {
      tenant: name,
      agent: { id: 'desk', owner: 'ada', trustMax: 'semi_trusted_customer' },
      bundle: await readBundleOrThrow('policies/examples/airline'),
    })
    return new Deployment(folder, authorizer, tenant)
  }

  /** Stops, changes the folder of objects, and starts again, perhaps with other secrets. */
  async while(
    work: (objects: string) => Promise<void>,
    secrets: LocalSecrets = developmentSecrets,
  ): Promise<void> {
    await this.#authorizer.stop()
    await work(join(this.#folder, 'objects'))
    this.#authorizer = await startAuthorizer({ stateFolder: this.#folder, port: 0, secrets, modules })
  }

  async stop(): Promise<void> {
    await this.#authorizer.stop()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async request(key: string, path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.#authorizer.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
  }

  async post(key: string, path: string, body?: unknown): Promise<{ status: number; body: Answer }> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await this.request(key, path, { method: 'POST', ...sent })
    return { status: response.status, body: (await response.json()) as Answer }
  }

  operator(act: string, body?: unknown): Promise<{ status: number; body: Answer }> {
    const key = `aegis_operator_${developmentSecrets.operatorSecret}`
    return this.post(key, `/v1/tenants/${this.tenant.tenant}/${act}`, body)
  }

  /** A call that the airline's bundle allows. */
  ask(): Promise<{ status: number; body: Answer }> {
    const toolCall = {
      tool: 'airline',
      action: 'get_user_details',
      resource: null,
      mutates_state: false,
      parameters: { user_id: 'mia_li_3668' },
    }
    return this.post(this.tenant.keys.agent, '/v1/authorize', {
      tool_call: toolCall,
      action_hash: actionHash(toolCall, nodeSuite),
      context: { source_trust: 'semi_trusted_customer' },
    })
  }

  /** Seals, and waits until nothing is left to publish. */
  async publish(): Promise<readonly SegmentEntry[]> {
    const sealed = await this.post(this.tenant.keys.admin, '/v1/chain/seal')
    if (sealed.status !== 200) throw new Error(`seal: ${JSON.stringify(sealed.body)}`)
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const index = await this.index()
      if (index.unpublished.sessions === 0) return index.segments
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error('it was not published')
  }

  async index(): Promise<SegmentIndex> {
    const response = await this.request(this.tenant.keys.auditor, '/v1/chain/segments')
    if (response.status !== 200) throw new Error(await response.text())
    return (await response.json()) as SegmentIndex
  }

  /** The whole published Chain under the keys that the deployment makes public. */
  async verify(): Promise<{ readonly report: Report; readonly keys: number }> {
    const stored = await fetch(`${this.#authorizer.url}/v1/keys/${this.tenant.tenant}`)
    const pins = parseTrustStore(new Uint8Array(await stored.arrayBuffer()))
    if (!pins.ok) throw new Error('no trust store')
    const walk = new Walk({
      digester: nodeSuite,
      check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
      pins: pins.value,
    })
    for (const segment of (await this.index()).segments) {
      const path = `/v1/chain/segments/${String(segment.session_index)}`
      const answer = await this.request(this.tenant.keys.auditor, path)
      const bytes = new Uint8Array(await answer.arrayBuffer())
      if (encodeHex(nodeSuite.sha256(bytes)) !== segment.sha256)
        throw new Error('not the segment of the index')
      walk.push(bytes)
      walk.endFile()
    }
    return { report: walk.end(), keys: pins.value.length }
  }
}

interface Answer {
  readonly decision?: string
  readonly code?: string
  readonly reason?: { readonly code: string }
  readonly receipt?: { readonly line: string }
}

interface SegmentEntry {
  readonly session_index: number
  readonly sha256: string
  readonly key_id: string
}

interface SegmentIndex {
  readonly segments: readonly SegmentEntry[]
  readonly unpublished: { readonly sessions: number }
}

describe('an object that was restored from an earlier state', () => {
  let deployment: Deployment
  let backup: string

  beforeAll(async () => {
    backup = await mkdtemp(join(tmpdir(), 'aegis-backup-'))
    deployment = await Deployment.start('restored')
    await deployment.ask()
    await deployment.publish()
    await deployment.while((objects) => cp(objects, join(backup, 'objects'), { recursive: true }))
    await deployment.ask()
    await deployment.publish()
    await deployment.while(async (objects) => {
      await rm(objects, { recursive: true })
      await cp(join(backup, 'objects'), objects, { recursive: true })
    })
  })

  afterAll(async () => {
    await deployment.stop()
    await rm(backup, { recursive: true, force: true })
  })

  test('appends nothing, and shows nothing of its past', async () => {
    const { agent, admin, auditor } = deployment.tenant.keys
    expect((await deployment.ask()).body).toMatchObject({ code: 'behind_archive' })
    expect((await deployment.post(admin, '/v1/chain/seal')).body.code).toBe('behind_archive')
    expect((await deployment.request(auditor, '/v1/chain/head')).status).toBe(503)
    expect((await deployment.request(agent, '/v1/approvals')).status).toBe(503)
  })

  test('goes on behind the archive under a new key, frozen until somebody has looked', async () => {
    expect((await deployment.operator('recover')).status).toBe(200)
    expect((await deployment.ask()).body).toMatchObject({
      decision: 'deny',
      reason: { code: 'tenant_frozen' },
    })
    expect((await deployment.operator('unfreeze')).status).toBe(200)
    expect((await deployment.ask()).body.decision).toBe('allow')
    const segments = await deployment.publish()
    expect(segments.map((segment) => segment.session_index)).toEqual([0, 1, 2])
    const { report, keys } = await deployment.verify()
    expect(report).toMatchObject({ verdict: 'verified' })
    expect(keys).toBe(2)
    expect((await deployment.operator('recover')).body.code).toBe('not_behind')
  })
})

describe('an object that has lost everything', () => {
  test('is not created again but recovered, and goes on behind its segments', async () => {
    const deployment = await Deployment.start('lost')
    try {
      await deployment.publish()
      await deployment.while((objects) => rm(objects, { recursive: true }))
      expect((await deployment.ask()).status).toBe(401)
      expect((await deployment.operator('create', { admin_subject: 'ada' })).body.code).toBe(
        'tenant_name_used',
      )
      expect((await deployment.operator('recover')).status).toBe(200)
      // Nobody has a key of it any more.
      expect((await deployment.ask()).status).toBe(401)
      expect((await deployment.operator('recover')).body.code).toBe('not_behind')
    } finally {
      await deployment.stop()
    }
  })
})

describe('an object that its alarm woke', () => {
  test('knows its name, which an alarm does not tell', async () => {
    const deployment = await Deployment.start('woken')
    try {
      await deployment.ask()
      // The Session is closed, and what is due is done after the restart, before anyone calls.
      await deployment.post(deployment.tenant.keys.admin, '/v1/chain/seal')
      await deployment.while(() => Promise.resolve())
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      const again = await deployment.operator('create', { admin_subject: 'ada' })
      expect(again.body.code).toBe('already_exists')
      expect((await deployment.publish()).length).toBeGreaterThan(0)
    } finally {
      await deployment.stop()
    }
  })
})

describe('a seed that leaked', () => {
  test('signs nothing any more after the rotation, and its API keys end with it', async () => {
    const deployment = await Deployment.start('leaked')
    try {
      await deployment.ask()
      const both = { ...developmentSecrets, seed: `${developmentSecrets.seed},1:${'5a'.repeat(32)}` }
      await deployment.while(() => Promise.resolve(), both)
      expect((await deployment.post(deployment.tenant.keys.admin, '/v1/chain/rotate-key')).status).toBe(200)
      const { body } = await deployment.ask()
      expect(body.decision).toBe('allow')
      const segments = await deployment.publish()
      const { report, keys } = await deployment.verify()
      expect([report.verdict, keys]).toEqual(['verified', 2])
      const { key_id: keyId } = JSON.parse(body.receipt?.line ?? '') as { readonly key_id: string }
      expect(keyId).toBe(segments.at(-1)?.key_id)
      const oldKey = decodeHex(deployment.tenant.publicKey) ?? new Uint8Array()
      expect(keyId).not.toBe(keyIdOf(oldKey, nodeSuite))
      expect(segments.at(-2)?.key_id).toBe(keyIdOf(oldKey, nodeSuite))
      // The old entry gone: keys that it tagged are refused, since anyone could have tagged them.
      await deployment.while(() => Promise.resolve(), { ...both, seed: `1:${'5a'.repeat(32)}` })
      expect((await deployment.ask()).status).toBe(401)
    } finally {
      await deployment.stop()
    }
  })
})
