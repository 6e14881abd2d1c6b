/** The client over a service binding: another way, the same checks. In workerd: test/worker/sdk/service-binding.test.ts. */
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { aegisOverBinding } from '../../src/sdk/service-binding.ts'
import { TestAuthorizer } from './authorizer.ts'
import { failure } from './client.ts'

const authorizer = new TestAuthorizer(nodeSuite)
const action = { tool: 'github', action: 'merge_pr' }

describe('aegisOverBinding', () => {
  it('goes through the binding, as its own method', async () => {
    class Binding {
      readonly asked: string[] = []
      fetch(url: string, init: RequestInit): Promise<Response> {
        this.asked.push(`${init.method ?? ''} ${url} ${init.redirect ?? ''}`)
        return Promise.resolve(
          Response.json(authorizer.answer(init.body as Uint8Array, { decision: 'allow' })),
        )
      }
    }
    const binding = new Binding()
    const aegis = aegisOverBinding(binding, {
      key: authorizer.key,
      verify: { keys: [authorizer.publicKey] },
    })
    expect(await aegis.authorize(action)).toMatchObject({ kind: 'allowed' })
    expect(binding.asked).toEqual(['POST https://aegis.internal/v1/authorize manual'])
  })

  it('believes no more than the client over HTTP', async () => {
    const over = (answer: (body: Uint8Array) => Response) =>
      aegisOverBinding(
        { fetch: (_url, init) => Promise.resolve(answer(init.body as Uint8Array)) },
        { key: authorizer.key, verify: { keys: ['ab'.repeat(32)] }, attemptsMax: 1 },
      ).authorize(action)
    const allow = (body: Uint8Array) => authorizer.answer(body, { decision: 'allow' })
    expect(await failure(over((body) => Response.json(allow(body))))).toMatchObject({
      code: 'receipt_untrusted',
    })
    expect(await failure(over(() => Response.json({ decision: 'allow' })))).toMatchObject({
      code: 'answer_malformed',
    })
    expect(await failure(over(() => new Response('no', { status: 503 })))).toMatchObject({
      code: 'unavailable',
    })
  })
})
