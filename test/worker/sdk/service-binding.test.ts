/** The clients for Workers inside workerd, over a real service binding to the real Worker. */
import { SELF } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { aegisOverBinding } from '../../../src/sdk/service-binding.ts'
import { UnverifiedAegis } from '../../../src/sdk/unverified.ts'
import { publicKeyOf } from '../../harness/follower.ts'
import { type Authorizer, origin, provisionAuthorizer } from '../app/authorizer.ts'

let acme: Authorizer

beforeAll(async () => {
  acme = await provisionAuthorizer('bound')
})

const action = { tool: 'github', action: 'merge_pr', resource: 'repo:acme/widgets#57' }

describe('over a service binding', () => {
  it('allows and denies, under the pinned key', async () => {
    const aegis = aegisOverBinding(SELF, {
      key: acme.key('bot'),
      verify: { keys: [publicKeyOf('bound')] },
    })
    const ran: unknown[] = []
    const merge = aegis.protect(
      (parameters: { base_branch: string }) => {
        ran.push(parameters)
        return parameters.base_branch
      },
      { ...action, onReportError: () => undefined },
    )
    expect(await merge({ base_branch: 'develop' })).toBe('develop')
    await expect(merge({ base_branch: 'release' })).rejects.toMatchObject({ code: 'denied' })
    expect(ran).toEqual([{ base_branch: 'develop' }])
  })

  it('refuses what another key signed', async () => {
    const aegis = aegisOverBinding(SELF, {
      key: acme.key('bot'),
      verify: { keys: [publicKeyOf('another')] },
    })
    await expect(
      aegis.authorize({ ...action, parameters: { base_branch: 'develop' } }),
    ).rejects.toMatchObject({ code: 'receipt_untrusted' })
  })
})

describe('without signatures', () => {
  it('hashes with the platform, and comes to the same decisions', async () => {
    const fetch = (url: string, init: RequestInit) => SELF.fetch(url, init)
    const aegis = new UnverifiedAegis({ url: origin, key: acme.key('bot'), fetch })
    const parameters = { base_branch: 'develop' }
    expect(await aegis.authorize({ ...action, parameters })).toMatchObject({ kind: 'allowed' })
  })
})
