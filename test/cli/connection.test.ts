/**
 * How commands find their deployment, and what they do when it answers badly: profiles, environment, flags; which key
 * goes where; time limits, retries, redirects. Shown with `aegis pull`, which has them all.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { SegmentServer, answerProblem, apiKey, publish } from '../harness/segment-server.ts'
import type { Ended } from './command.ts'
import { auditorKey, chain, policy, preparePulls } from './pulling.ts'

const pulls = await preparePulls()
const { aegis, server } = pulls
const second = await SegmentServer.start(publish('acme', chain.files, [policy]))
afterAll(() => second.end())

const keyFile = aegis.file('auditor.key', `${auditorKey}\n`)
/** Another key of the same tenant, so that tests can tell which one was sent. */
const otherKey = auditorKey.replace('_auditor_acme_0', '_auditor_acme_1')
const otherFile = aegis.file('other.key', otherKey)

let homes = 0
/** A home of its own, with this config file in it. */
const homeWith = (config: unknown): string => {
  homes += 1
  const home = join(aegis.folder, `home-${String(homes)}`)
  mkdirSync(join(home, '.config/aegis'), { recursive: true })
  if (config !== undefined) {
    const text = typeof config === 'string' ? config : JSON.stringify(config)
    writeFileSync(join(home, '.config/aegis/config.json'), text)
  }
  return home
}

const run = (env: Readonly<Record<string, string>>, ...more: string[]): Promise<Ended> =>
  aegis.run(['pull', '--out', pulls.folder, '--unpinned', ...more], {
    env: { HOME: homeWith(undefined), ...env },
  })
const profiles = {
  default: 'one',
  profiles: {
    one: { url: server.url, key_file: keyFile },
    two: { url: `${second.url}/`, key_file: otherFile, tenant: 'acme' },
  },
}
const asked = (): { first: number; second: number; keys: (string | undefined)[] } => {
  const keys = [...new Set([...server.authorizations, ...second.authorizations])]
  const counts = { first: server.requests.length, second: second.requests.length }
  for (const { requests, authorizations } of [server, second]) {
    requests.length = 0
    authorizations.length = 0
  }
  return { ...counts, keys }
}
const atFirst = (key: string) => ({ first: expect.any(Number) as number, second: 0, keys: [`Bearer ${key}`] })
const atSecond = (key: string) => ({
  first: 0,
  second: expect.any(Number) as number,
  keys: [`Bearer ${key}`],
})

describe('a deployment is found', () => {
  it('in the default profile', async () => {
    asked()
    expect((await run({ HOME: homeWith(profiles) })).code).toBe(0)
    expect(asked()).toEqual(atFirst(auditorKey))
  })

  it('in the profile that AEGIS_PROFILE names, and before that the one of --profile', async () => {
    const HOME = homeWith(profiles)
    expect((await run({ HOME, AEGIS_PROFILE: 'two' })).code).toBe(0)
    expect(asked()).toEqual(atSecond(otherKey))
    expect((await run({ HOME, AEGIS_PROFILE: 'two' }, '--profile', 'one')).code).toBe(0)
    expect(asked()).toEqual(atFirst(auditorKey))
  })

  it('in the environment, which is stronger than a profile', async () => {
    const HOME = homeWith(profiles)
    const env = { HOME, AEGIS_URL: second.url, AEGIS_API_KEY: ` ${otherKey}\n` }
    expect((await run(env)).code).toBe(0)
    expect(asked()).toEqual(atSecond(otherKey))
    expect((await run({ HOME, AEGIS_API_KEY: otherKey })).code).toBe(0)
    expect(asked()).toEqual(atFirst(otherKey))
  })

  it('in flags, which are stronger than the environment', async () => {
    const env = { HOME: homeWith(profiles), AEGIS_URL: 'https://nowhere.invalid', AEGIS_API_KEY: auditorKey }
    expect((await run(env, '--url', second.url, '--key-file', otherFile)).code).toBe(0)
    expect(asked()).toEqual(atSecond(otherKey))
    expect((await run(env, '--url', second.url)).code).toBe(0)
    expect(asked()).toEqual(atSecond(auditorKey))
  })

  it('by flags and environment alone, without any config file', async () => {
    expect((await run({ AEGIS_API_KEY: auditorKey, AEGIS_URL: server.url })).code).toBe(0)
    expect((await run({}, '--url', server.url, '--key-file', keyFile)).code).toBe(0)
    // Empty is not set.
    const empty = { AEGIS_URL: '', AEGIS_PROFILE: '', AEGIS_CONFIG: '', XDG_CONFIG_HOME: '' }
    expect((await run(empty, '--url', server.url, '--key-file', keyFile)).code).toBe(0)
  })

  it('through XDG_CONFIG_HOME, AEGIS_CONFIG and --config', async () => {
    asked()
    const home = homeWith(profiles)
    expect((await run({ XDG_CONFIG_HOME: join(home, '.config') })).code).toBe(0)
    expect(asked()).toEqual(atFirst(auditorKey))
    // A relative one is ignored, as the XDG specification has it.
    expect((await run({ XDG_CONFIG_HOME: '.config', HOME: home })).code).toBe(0)
    const config = aegis.file('aegis.json', JSON.stringify({ ...profiles, default: 'two' }))
    expect((await run({ HOME: home, AEGIS_CONFIG: config })).code).toBe(0)
    expect(asked().second).toBeGreaterThan(0)
    const other = aegis.file('other.json', JSON.stringify(profiles))
    expect((await run({ AEGIS_CONFIG: config }, '--config', other)).code).toBe(0)
    expect(asked()).toEqual(atFirst(auditorKey))
  })

  it('with a key file that is named beside the config file, or in the home', async () => {
    const home = homeWith({ profiles: { p: { url: server.url, key_file: 'auditor.key' } } })
    writeFileSync(join(home, '.config/aegis/auditor.key'), auditorKey)
    expect((await run({ HOME: home, AEGIS_PROFILE: 'p' })).code).toBe(0)
    const tilde = homeWith({ profiles: { p: { url: server.url, key_file: '~/auditor.key' } } })
    writeFileSync(join(tilde, 'auditor.key'), auditorKey)
    expect((await run({ HOME: tilde, AEGIS_PROFILE: 'p' })).code).toBe(0)
  })

  it('under a path of its own', async () => {
    server.trick = (request, response) => {
      if (request.url?.startsWith('/under/here/v1/') === true) return false
      answerProblem(response, 404, 'not_found', 'nothing')
      return true
    }
    const { code } = await run({ AEGIS_API_KEY: auditorKey }, '--url', `${server.url}/under/here//`)
    expect(code).toBe(1)
    expect(server.requests[0]).toBe('/under/here/v1/chain/segments')
  })
})

describe('a key is sent only where it was named for', () => {
  it('not to another URL than that of its profile', async () => {
    const HOME = homeWith(profiles)
    asked()
    for (const [env, flags] of [
      [{ AEGIS_URL: second.url }, []],
      [{}, ['--url', second.url]],
    ] as const) {
      const { code, stdout, stderr } = await run({ HOME, ...env }, ...flags)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain(`the key_file of profile one is for ${server.url} and is not sent to`)
    }
    expect(asked()).toEqual({ first: 0, second: 0, keys: [] })
    // The same place, said again, is the same place.
    expect((await run({ HOME }, '--url', `${server.url}/`)).code).toBe(0)
  })

  it.each([
    ['http://aegis.example', /https:/],
    ['ftp://127.0.0.1', /https:/],
    ['https://user:pw@aegis.example', /no user/],
    ['https://aegis.example/?a=1', /no user/],
    ['aegis.example', /not an absolute URL/],
  ])('not to %s', async (url, why) => {
    for (const [env, flags, from] of [
      [{}, ['--url', url], '--url'],
      [{ AEGIS_URL: url }, [], 'AEGIS_URL'],
      [{ HOME: homeWith({ default: 'p', profiles: { p: { url } } }) }, [], 'profile p'],
    ] as const) {
      const { code, stdout, stderr } = await run({ AEGIS_API_KEY: auditorKey, ...env }, ...flags)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(new RegExp(`^error: ${from}: `))
      expect(stderr).toMatch(why)
    }
  })

  it('not where a redirect leads', async () => {
    asked()
    server.trick = (_, response) => {
      response.writeHead(307, { location: second.url }).end()
      return true
    }
    const { code, stderr } = await run({ AEGIS_API_KEY: auditorKey }, '--url', server.url)
    expect(code).toBe(2)
    expect(stderr).toContain('the deployment redirected (307); a redirect is never followed')
    expect(asked()).toMatchObject({ first: 1, second: 0 })
  })
})

describe('a config that cannot be used', () => {
  const url = server.url
  it.each([
    ['a member that is not known', { profiles: {}, secrets: 1 }, '$.secrets is not known here'],
    [
      'a secret',
      { profiles: { p: { url, key: auditorKey } } },
      '$.profiles.p.key is not known here; known are url, key_file',
    ],
    ['no profiles', {}, '$.profiles must be an object'],
    ['a profile that is none', { profiles: { p: 7 } }, '$.profiles.p must be an object'],
    ['a profile without url', { profiles: { p: {} } }, '$.profiles.p.url is missing'],
    ['an empty name', { profiles: { p: { url, key_file: '' } } }, '$.profiles.p.key_file must be a string'],
    ['a number', { profiles: { p: { url, tenant: 7 } } }, '$.profiles.p.tenant must be a string'],
    ['a default that is not there', { default: 'q', profiles: { p: { url } } }, '$.default names no profile'],
    ['a member twice', '{"profiles":{},"profiles":{}}', '$'],
    ['no JSON', '{profiles: {}}', '$'],
  ])('with %s', async (_, config, says) => {
    const home = homeWith(config)
    const { code, stdout, stderr } = await run({ HOME: home, AEGIS_API_KEY: auditorKey }, '--url', url)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`error: config ${join(home, '.config/aegis/config.json')}: ${says}`)
    expect(stderr).not.toContain(secretOf(auditorKey))
  })

  it('is not there although it was named', async () => {
    const missing = join(aegis.folder, 'missing.json')
    const flag = await run({ AEGIS_API_KEY: auditorKey }, '--url', url, '--config', missing)
    expect(flag).toMatchObject({ code: 2, stdout: '' })
    expect(flag.stderr).toContain(`cannot read --config: ${missing}: there is no such file`)
    const named = await run({ AEGIS_API_KEY: auditorKey, AEGIS_CONFIG: missing }, '--url', url)
    expect(named.stderr).toContain(`cannot read AEGIS_CONFIG: ${missing}`)
  })

  it('has no such profile, or there is none', async () => {
    const HOME = homeWith(profiles)
    expect((await run({ HOME }, '--profile', 'prod')).stderr).toMatch(
      /^error: --profile: \S+ has no profile prod; it has one, two\n$/,
    )
    expect((await run({ HOME, AEGIS_PROFILE: 'prod' })).stderr).toMatch(/^error: AEGIS_PROFILE: /)
    expect((await run({}, '--profile', 'prod')).stderr).toMatch(/^error: --profile: there is no config file /)
    // Names of members that every object has are no profiles.
    expect((await run({ HOME }, '--profile', 'constructor')).code).toBe(1)
  })

  it('names another tenant than its key', async () => {
    const HOME = homeWith({ default: 'p', profiles: { p: { url, key_file: keyFile, tenant: 'beta' } } })
    expect((await run({ HOME })).stderr).toBe(
      'error: profile p: it names the tenant beta, and the key in its key_file is one of acme\n',
    )
  })
})

/** What must never be seen. */
const secretOf = (key: string): string => key.slice(key.lastIndexOf('_') + 1)

describe('a key that cannot be used', () => {
  it('is missing', async () => {
    const { code, stderr } = await run({}, '--url', server.url)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^error: --key-file: an API key is needed: /)
    expect((await run({ AEGIS_API_KEY: auditorKey })).stderr).toMatch(
      /^error: --url: no deployment is named: /,
    )
    const unread = await run({}, '--url', server.url, '--key-file', join(aegis.folder, 'missing.key'))
    expect(unread).toMatchObject({ code: 2, stdout: '' })
  })

  it('is none, is of another role, or does not fit into a file of keys', async () => {
    const cut = auditorKey.slice(0, -1)
    const inEnvironment = await run({ AEGIS_API_KEY: cut }, '--url', server.url)
    expect(inEnvironment).toMatchObject({ code: 1, stdout: '' })
    expect(inEnvironment.stderr).toMatch(/^error: AEGIS_API_KEY: it does not hold an API key/)
    expect(inEnvironment.stderr).not.toContain(secretOf(cut))
    const long = aegis.file('long.key', 'x'.repeat(2_000))
    expect((await run({}, '--url', server.url, '--key-file', long)).code).toBe(1)
    const admin = await run({ AEGIS_API_KEY: apiKey('admin', 'acme') }, '--url', server.url)
    expect(admin.stderr).toMatch(/^error: AEGIS_API_KEY: this needs the key of an auditor/)
    expect(server.requests).toEqual([])
  })

  it('is given to a flag that is for something else: its secret is not shown', async () => {
    for (const flag of ['--key', '--url', '--profile', '--head', '--timeout', '--out', '--trust-store', '']) {
      const given = flag === '' ? [auditorKey] : [flag, auditorKey]
      const { code, stdout, stderr } = await run({}, ...given)
      expect(code).not.toBe(0)
      expect(stderr).toMatch(/^error: /)
      expect(stdout + stderr).not.toContain(secretOf(auditorKey))
    }
  })

  it('cannot be given as an argument', async () => {
    const { code, stderr } = await run({}, '--url', server.url, '--api-key', auditorKey)
    expect(code).toBe(1)
    expect(stderr).toContain("unknown option '--api-key'")
    expect(stderr).not.toContain(secretOf(auditorKey))
  })
})

describe('an answer that is none', () => {
  const at = (...more: string[]): Promise<Ended> =>
    run({ AEGIS_API_KEY: auditorKey, AEGIS_TRACE: '1' }, '--url', server.url, ...more)

  it.each([
    [401, 'unauthorized', 1],
    [403, 'role_not_allowed', 1],
    [409, 'behind_archive', 1],
    [500, 'internal_error', 2],
  ])('%i ends it at once', async (status, code, exitCode) => {
    server.trick = (_, response) => {
      answerProblem(response, status, code, 'it says why')
      return true
    }
    const pulled = await at()
    expect({ ...pulled, requests: server.requests.length }).toEqual({
      code: exitCode,
      signal: null,
      stdout: '',
      stderr: `error: GET ${server.url}/v1/chain/segments: ${String(status)} ${code}: it says why (call_id call_1)\n`,
      requests: 1,
    })
  })

  it.each([429, 502, 503, 504])('%i is tried again, a few times', async (status) => {
    server.trick = (_, response) => {
      answerProblem(response, status, 'rate_limited', 'later')
      return true
    }
    const { code, stderr } = await at()
    expect({ code, requests: server.requests.length }).toEqual({ code: 2, requests: 4 })
    expect(stderr).toContain(`${String(status)} rate_limited: later`)
    server.requests.length = 0
    server.trick = (_, response, number) => {
      if (number > 2) return false
      response.writeHead(status).end('busy')
      return true
    }
    expect((await at()).code).toBe(0)
  })

  it('is waited for as long as it asks, but not for ever', async () => {
    const arrived: number[] = []
    server.trick = (_, response, number) => {
      arrived.push(performance.now())
      if (number > 1) return false
      answerProblem(response, 429, 'rate_limited', 'later', { 'retry-after': '2' })
      return true
    }
    expect((await at()).code).toBe(0)
    expect((arrived[1] ?? 0) - (arrived[0] ?? 0)).toBeGreaterThan(1_900)
    server.trick = (_, response) => {
      answerProblem(response, 429, 'rate_limited', 'later', { 'retry-after': '3600' })
      return true
    }
    server.requests.length = 0
    const { code, stderr } = await at()
    expect({ code, requests: server.requests.length }).toEqual({ code: 2, requests: 1 })
    expect(stderr).toContain('; ask again in 3600 s\n')
  })

  it('comes too late, or stops in the middle', async () => {
    server.trick = (request, response) => {
      // The index is never answered; of a segment there is a beginning.
      if (request.url === '/v1/chain/segments/0') response.writeHead(200).write('{')
      return true
    }
    const late = await at('--timeout', '1')
    expect(late.code).toBe(2)
    expect(late.stderr).toContain('/v1/chain/segments: no answer: nothing came for 1 s\n')
    const silent = server.trick
    server.trick = (request, response, number) =>
      request.url === '/v1/chain/segments/0' ? silent(request, response, number) : false
    const stopped = await at('--timeout', '1')
    expect(stopped.code).toBe(2)
    expect(stopped.stderr).toContain('/v1/chain/segments/0: no answer: nothing came for 1 s\n')
  })

  it('cannot be had: nobody listens', async () => {
    const gone = await SegmentServer.start(publish('acme', []))
    const { url } = gone
    await gone.end()
    const { code, stdout, stderr } = await run({ AEGIS_API_KEY: auditorKey }, '--url', url)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^error: GET \S+: no answer: fetch failed: .*ECONNREFUSED/)
  })

  it('says the key back: it is not shown', async () => {
    server.trick = (request, response) => {
      answerProblem(response, 400, 'header_malformed', `you sent ${String(request.headers.authorization)}`)
      return true
    }
    const { code, stdout, stderr } = await at()
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('_[secret]')
    expect(stdout + stderr).not.toContain(secretOf(auditorKey))
  })
})
