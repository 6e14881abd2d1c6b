/** `aegis pull` against the real Worker: an open Session, the same one published, and a deployment that went on. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleWorker } from '../../examples/local/authorizer.ts'
import { developmentSecrets } from '../../examples/local/secrets.ts'
import { type LocalTenant, provisionTenant, readBundleOrThrow } from '../../examples/local/tenant.ts'
import { type Ended, buildCommand } from '../cli/command.ts'
import { fileNames } from '../cli/pulling.ts'
import { type System, startSystem } from './system.ts'

const aegis = buildCommand()
const folder = join(aegis.folder, 'audit')
let system: System
let tenant: LocalTenant

beforeAll(async () => {
  system = await startSystem(await bundleWorker())
  tenant = await provisionTenant(system.authorizer, developmentSecrets, {
    tenant: 'pulled',
    agent: { id: 'desk', owner: 'ada', trustMax: 'semi_trusted_customer' },
    bundle: await readBundleOrThrow('policies/examples/airline'),
  })
})
afterAll(async () => {
  await system.stop()
})

const pull = (...more: string[]): Promise<Ended> =>
  aegis.run(['pull', '--url', system.authorizer.url, '--out', folder, '--key', tenant.publicKey, ...more], {
    env: { AEGIS_API_KEY: tenant.keys.auditor },
  })
const waiting = async (): Promise<number> => {
  const response = await fetch(`${system.authorizer.url}/v1/chain/segments`, {
    headers: { authorization: `Bearer ${tenant.keys.auditor}` },
  })
  const { unpublished } = (await response.json()) as { unpublished: { sessions: number } }
  return unpublished.sessions
}
const seal = async (): Promise<void> => {
  const headers = { authorization: `Bearer ${tenant.keys.admin}` }
  const sealed = await fetch(`${system.authorizer.url}/v1/chain/seal`, { method: 'POST', headers })
  expect(sealed.status).toBe(200)
  await expect.poll(waiting, { timeout: 10_000 }).toBe(0)
}

describe('aegis pull and a real deployment', () => {
  it('follows a Session from open to published', async () => {
    const nothing = await pull()
    expect({ code: nothing.code, stderr: nothing.stderr }).toEqual({ code: 3, stderr: '' })
    expect(nothing.stdout).toMatch(/^nothing is published yet; /)

    const open = await pull('--live')
    expect({ code: open.code, stderr: open.stderr }).toEqual({ code: 0, stderr: '' })
    expect(open.stdout).toContain('Indeterminate unanchored_tail at session 0 ')
    expect(existsSync(join(folder, 'live.aarl'))).toBe(true)

    await seal()
    const published = await pull()
    expect({ code: published.code, stderr: published.stderr }).toEqual({ code: 0, stderr: '' })
    expect(published.stdout).toMatch(
      /^pulled 1 segment \(\d+ bytes\).*\nVerified \(pinned to [0-9a-f]{64}\)\n/,
    )
    expect(fileNames(folder)).toEqual([
      'head.aarl',
      'keys.json',
      ...fileNames(folder).filter((name) => name.startsWith('policies/')),
      'segments/0000000000.aarl',
    ])
    expect(fileNames(folder).filter((name) => name.startsWith('policies/'))).not.toEqual([])

    // What the deployment says of its keys is a trust store, for whoever compares it and names it.
    const stored = await aegis.run([
      'verify',
      '--trust-store',
      join(folder, 'keys.json'),
      join(folder, 'segments/0000000000.aarl'),
    ])
    expect(stored.code).toBe(0)
    const idle = await pull('--live')
    expect(idle.code).toBe(0)
    expect(idle.stdout).toMatch(/^up to date; .*\nVerified \(pinned/)
    expect(idle.stdout).toContain('\ncomplete to session 0 seq ')
  })
})
