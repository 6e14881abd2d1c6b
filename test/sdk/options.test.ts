/** Options that cannot work are errors of the constructor, and none of them shows the key. */
import { describe, expect, it } from 'vitest'
import { formatOperatorKey } from '../../src/protocol/index.ts'
import { Aegis, AegisOptionError, type AegisOptions } from '../../src/sdk/index.ts'
import { authorizer } from './mode.ts'

const { key } = authorizer
const url = 'https://authorizer.example'

function construct(options: unknown): unknown {
  try {
    return new Aegis(options as AegisOptions)
  } catch (thrown) {
    return thrown
  }
}

describe('url', () => {
  it.each([
    'https://authorizer.example',
    'https://authorizer.example:8443/aegis/',
    'http://localhost:8787',
    'http://127.0.0.1:8787',
    'http://127.1:8787',
    'http://[::1]:8787',
  ])('%s', (good) => {
    expect(construct({ url: good, key })).toBeInstanceOf(Aegis)
  })

  it.each([
    'http://authorizer.example',
    'http://10.0.0.1',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'http://0.0.0.0:8787',
    'ftp://authorizer.example',
    'file:///etc/passwd',
    'authorizer.example',
    '/v1',
    '',
    'https://user:pass@authorizer.example',
    'https://authorizer.example/?key=1',
    'https://authorizer.example/#a',
  ])('not %s', (bad) => {
    expect(construct({ url: bad, key })).toMatchObject({ code: 'url_invalid' })
  })

  it('keeps its path', async () => {
    const asked: string[] = []
    const fetch = (target: string): Promise<Response> => {
      asked.push(target)
      return Promise.reject(new Error('no'))
    }
    const aegis = new Aegis({ url: `${url}/aegis//`, key, fetch, attemptsMax: 1 })
    await expect(aegis.authorize({ tool: 'a', action: 'b' })).rejects.toMatchObject({ code: 'network_error' })
    expect(asked).toEqual([`${url}/aegis/v1/authorize`])
  })
})

describe('key', () => {
  it.each([
    ['nothing', undefined],
    ['an empty text', ''],
    ['another text', 'sk-12345'],
    ['a key cut short', key.slice(0, -1)],
    ['a key in capitals', key.toUpperCase()],
    ['a key and a line break', `${key}\n`],
    ['the key of an auditor', key.replace('_agent_', '_auditor_')],
    ["the operator's", formatOperatorKey(new Uint8Array(32).fill(1))],
  ])('not %s', (_name, bad) => {
    const error = construct({ url, key: bad })
    expect(error).toBeInstanceOf(AegisOptionError)
    expect(error).toMatchObject({ code: 'key_invalid' })
    expect(String(error)).not.toContain(key.slice(-40))
  })
})

describe('numbers and keys', () => {
  it.each([
    { timeoutMs: 0 },
    { timeoutMs: 120_001 },
    { timeoutMs: Number.NaN },
    { timeoutMs: '5000' },
    { attemptTimeoutMs: 0 },
    { attemptsMax: 0 },
    { attemptsMax: 11 },
    { clockSkewMs: -1 },
    { clockSkewMs: 300_001 },
    { verify: { keys: [] } },
    { verify: { keys: ['AB'.repeat(32)] } },
    { verify: { keys: [{ publicKey: 'ab' }] } },
  ])('%j', (bad) => {
    expect(construct({ url, key, ...bad })).toMatchObject({ code: 'option_invalid' })
  })
})
