/** Decisions, grants, receipts and clocks that do not fit the request (authorize.md §6): none is taken for an allow. */
import { describe, expect, it } from 'vitest'
import { Aegis } from '../../src/sdk/index.ts'
import { pinned, receiptModes } from './hostile-receipts-modes.ts'
import { sendJson, serve } from './hostile-server.ts'
import { action, authorizer, outcomeOf, opened } from './mode.ts'

describe('nothing is taken for an allow', () => {
  it.each(Object.entries(receiptModes))('%s', async (_name, mode) => {
    const outcome = await outcomeOf(mode)
    expect(outcome).toBeInstanceOf(mode.error)
    expect(outcome).toMatchObject({ code: mode.code })
    expect(String(outcome)).not.toContain(authorizer.key)
  })

  it('while the same server, left to itself, is believed', async () => {
    const server = opened(
      await serve((response, arrived) => {
        sendJson(response, authorizer.answer(arrived.body, { decision: 'allow' }))
      }),
    )
    const aegis = new Aegis({ url: server.url, key: authorizer.key, agentId: 'ci-merger', ...pinned })
    expect(await aegis.authorize(action)).toMatchObject({ kind: 'allowed' })
  })
})
