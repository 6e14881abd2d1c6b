/** The client inside workerd, against the real Worker, its object and its signatures. */
import { SELF } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { Aegis, AegisActionError, type AegisOptions, verifyReceipt } from '../../../src/sdk/index.ts'
import { publicKeyOf } from '../../harness/follower.ts'
import { type Authorizer, origin, provisionAuthorizer } from '../app/authorizer.ts'

let acme: Authorizer

beforeAll(async () => {
  acme = await provisionAuthorizer('sdk')
})

const merge = (branch: string) => ({
  tool: 'github',
  action: 'merge_pr',
  resource: 'repo:acme/widgets#57',
  parameters: { base_branch: branch },
})

function client(options: Partial<AegisOptions> = {}) {
  return new Aegis({
    url: origin,
    key: acme.key('bot'),
    agentId: 'bot',
    verify: { keys: [publicKeyOf('sdk')] },
    fetch: (url, init) => SELF.fetch(url, init),
    ...options,
  })
}

describe('authorize', () => {
  it('allows, and the receipt is the recorded Line', async () => {
    const answer = await client().authorize(merge('develop'))
    if (answer.kind !== 'allowed') throw new Error(answer.kind)
    expect(answer.grant.isUsable()).toBe(true)
    expect((await acme.lastOutcome()).text).toBe(answer.receipt.line)
    const check = { tenant: 'sdk', keys: [publicKeyOf('sdk')], agentId: 'bot' }
    expect(verifyReceipt(answer.receipt.line, { ...check, action: merge('develop') })).toMatchObject({
      valid: true,
      grantId: answer.grant.grantId,
    })
    expect(verifyReceipt(answer.receipt.line, { ...check, action: merge('main') })).toEqual({
      valid: false,
      reason: 'wrong_action',
    })
  })

  it('denies', async () => {
    expect(await client().authorize(merge('release'))).toMatchObject({
      kind: 'denied',
      reason: { code: 'no_policy_permits' },
    })
  })

  it('asks for an approval', async () => {
    const answer = await client().authorize(merge('main'))
    expect(answer).toMatchObject({ kind: 'approval_required', approval: { groups: ['leads'], quorum: 1 } })
  })

  it('with a nonce is allowed once for each request', async () => {
    expect((await client({ nonce: true }).authorize(merge('develop'))).kind).toBe('allowed')
    expect((await client({ nonce: true }).authorize(merge('develop'))).kind).toBe('allowed')
  })

  it('whose first answer was lost gets it again, and writes once', async () => {
    let sent = 0
    const aegis = client({
      fetch: async (url, init) => {
        const response = await SELF.fetch(url, init)
        sent += 1
        if (sent > 1) return response
        await response.body?.cancel()
        throw new TypeError('the connection broke')
      },
    })
    const before = (await acme.lines()).length
    const answer = await aegis.authorize(merge('develop'))
    expect(answer.kind).toBe('allowed')
    expect(sent).toBe(2)
    expect((await acme.lines()).length - before).toBe(2)
  })

  it('refuses a key that is not known and a receipt under another key', async () => {
    const stranger = acme.key('bot').replace(/.{52}$/, '0'.repeat(52))
    await expect(client({ key: stranger }).authorize(merge('develop'))).rejects.toMatchObject({
      code: 'unauthorized',
      problem: { code: 'unauthorized' },
    })
    const elsewhere = client({ verify: { keys: [publicKeyOf('another')] } })
    await expect(elsewhere.authorize(merge('develop'))).rejects.toMatchObject({ code: 'receipt_untrusted' })
  })

  it('names what has no exact form, proxies included', async () => {
    const parameters = { base_branch: 'develop', labels: new Proxy(['a'], {}) }
    const error = await client()
      .authorize({ ...merge('develop'), parameters })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(AegisActionError)
    expect(error).toMatchObject({ path: '$.parameters.labels' })
  })
})
