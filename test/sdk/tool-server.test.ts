/** A tool server checks the receipt that an agent hands over (SPEC.md §7.12). */
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { utf8 } from '../../src/record/index.ts'
import {
  Aegis,
  AegisOptionError,
  type Allowed,
  type ReceiptCheck,
  verifyReceipt,
} from '../../src/sdk/index.ts'
import { TestAuthorizer } from './authorizer.ts'

const authorizer = new TestAuthorizer(nodeSuite)
const action = { tool: 'shell', action: 'exec', resource: 'host:build-1', parameters: { argv: ['ls', '-l'] } }
const aegis = new Aegis({
  url: 'https://authorizer.example',
  key: authorizer.key,
  fetch: (_url, { body }) =>
    Promise.resolve(Response.json(authorizer.answer(body as Uint8Array, { decision: 'allow' }))),
})
const allowed = (await aegis.authorize(action)) as Allowed
const check: ReceiptCheck = { action, tenant: 'acme', keys: [authorizer.publicKey] }

describe('verifyReceipt', () => {
  it('accepts the receipt of what is about to run, as text and as bytes', () => {
    for (const receipt of [allowed.receipt.line, utf8(allowed.receipt.line)]) {
      expect(verifyReceipt(receipt, { ...check, agentId: 'ci-merger' })).toMatchObject({
        valid: true,
        grantId: allowed.grant.grantId,
        toolId: 'shell.exec',
        expiresAt: allowed.grant.expiresAt,
      })
    }
  })

  it.each([
    ['another argument', { action: { ...action, parameters: { argv: ['rm', '-r'] } } }, 'wrong_action'],
    ['no resource', { action: { ...action, resource: null } }, 'wrong_action'],
    [
      'an action without an exact form',
      { action: { ...action, parameters: { at: new Date() } } },
      'wrong_action',
    ],
    ['another tenant', { tenant: 'umbrella' }, 'wrong_chain'],
    ['another agent', { agentId: 'deployer' }, 'wrong_agent'],
    ['another key', { keys: ['ab'.repeat(32)] }, 'untrusted_key'],
    ['a minute later', { now: Date.now() + 61_000 }, 'expired'],
  ] satisfies [string, Partial<ReceiptCheck>, string][])('refuses it for %s', (_name, change, reason) => {
    expect(verifyReceipt(allowed.receipt.line, { ...check, ...change })).toEqual({ valid: false, reason })
  })

  it.each(['', 'allow', '{}', '\ud800'])('refuses %j', (receipt) => {
    expect(verifyReceipt(receipt, check)).toEqual({ valid: false, reason: 'malformed' })
  })

  it('is not called without a key', () => {
    expect(() => verifyReceipt(allowed.receipt.line, { ...check, keys: [] })).toThrow(AegisOptionError)
  })
})
