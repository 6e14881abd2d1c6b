/** Where the vectors of other projects are found, and that in CI their absence is loud. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { outsideTests, sharedFolder, sharedPath } from './shared.ts'

describe('the shared folder', () => {
  const made: string[] = []
  const folder = (withVectors: boolean): string => {
    const path = mkdtempSync(join(tmpdir(), 'aegis-shared-'))
    made.push(path)
    if (withVectors) mkdirSync(join(path, 'vectors'))
    return path
  }
  afterEach(() => {
    vi.unstubAllEnvs()
    for (const path of made.splice(0)) rmSync(path, { recursive: true })
  })

  it('is the one that AEGIS_SHARED names', () => {
    const path = folder(true)
    vi.stubEnv('AEGIS_SHARED', path)
    expect(sharedFolder()).toBe(path)
    expect(sharedPath('vectors', 'ed25519')).toBe(join(path, 'vectors', 'ed25519'))
    expect(outsideTests()).toEqual([])
  })

  it('may not be named and absent, in CI or elsewhere', () => {
    const path = folder(false)
    vi.stubEnv('AEGIS_SHARED', path)
    for (const ci of ['true', '']) {
      vi.stubEnv('CI', ci)
      expect(() => sharedFolder()).toThrow(path)
      expect(() => outsideTests()).toThrow(path)
    }
  })
})
