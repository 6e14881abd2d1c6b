/** `aegis pull` with a deployment that is honest, and heads that it is held to. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { utf8 } from '../../src/record/index.ts'
import { buildChain, joinBytes } from '../harness/chain.ts'
import { forgeKey } from '../harness/forge.ts'
import { apiKey, publish } from '../harness/segment-server.ts'
import { auditorKey, chain, companions, headOf, policyFile, preparePulls, segmentNames } from './pulling.ts'

const pulls = await preparePulls()

describe('aegis pull', () => {
  it('brings every segment, the policy sets, the keys, and the head to pin next time', async () => {
    const { code, stdout, stderr } = await pulls.pull()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(pulls.names()).toEqual([...companions, ...segmentNames(5)])
    for (const [at, bytes] of chain.files.entries()) {
      expect(readFileSync(join(pulls.folder, segmentNames(5)[at] ?? '')).equals(bytes)).toBe(true)
    }
    expect(readFileSync(join(pulls.folder, policyFile), 'utf8')).toBe('policy set 5')
    expect(
      readFileSync(join(pulls.folder, 'keys.json')).equals(pulls.server.published.keys ?? Buffer.of()),
    ).toBe(true)
    expect(
      readFileSync(join(pulls.folder, 'head.aarl')).equals(joinBytes([headOf(4).bytes, utf8('\n')])),
    ).toBe(true)
    expect(stdout).toBe(
      [
        `pulled 5 segments (${String(chain.bytes.length)} bytes), 1 policy set; ${pulls.folder} holds 5 segments`,
        'Verified (pinned)',
        ...chain.keys.map(({ keyId }) => `key_id ${keyId}`),
        `coverage session 4 seq ${String(headOf(4).seq)}`,
        'completeness not proven',
        `head ${headOf(4).text}`,
        `To pin next time: --head ${join(pulls.folder, 'head.aarl')}`,
        '',
      ].join('\n'),
    )
  })

  it('leaves a folder that aegis verify calls complete to the head', async () => {
    await pulls.pull()
    const files = segmentNames(5).map((name) => join(pulls.folder, name))
    const head = join(pulls.folder, 'head.aarl')
    const { code, stdout } = await pulls.aegis.run([
      'verify',
      '--trust-store',
      pulls.trust,
      '--head',
      head,
      ...files,
    ])
    expect(code).toBe(0)
    expect(stdout).toContain(`complete to session 4 seq ${String(headOf(4).seq)}\n`)
  })

  it('fetches only what is missing, and holds the deployment to its last head', async () => {
    pulls.publishSessions(2)
    expect((await pulls.pull()).code).toBe(0)
    pulls.publishSessions(5)
    pulls.server.requests.length = 0
    const { code, stdout } = await pulls.pull()
    expect(code).toBe(0)
    expect(pulls.server.requests).toEqual([
      '/v1/chain/segments?after=0',
      ...[2, 3, 4].map((at) => `/v1/chain/segments/${String(at)}`),
      '/v1/keys/acme',
    ])
    expect(stdout).toMatch(/^pulled 3 segments \(\d+ bytes\); /)
    expect(stdout).toContain(`complete to session 1 seq ${String(headOf(1).seq)}\n`)
    expect(stdout).toContain(`head ${headOf(4).text}\n`)
  })

  it('says that it is up to date, and changes nothing', async () => {
    await pulls.pull()
    const { code, stdout } = await pulls.pull()
    expect(code).toBe(0)
    expect(stdout).toMatch(/^up to date; .* holds 5 segments\nVerified \(pinned\)\n/)
    expect(stdout).toContain(`complete to session 4 seq ${String(headOf(4).seq)}\n`)
  })

  it('goes through an index of many pages', async () => {
    pulls.server.published.pageSize = 2
    expect((await pulls.pull()).code).toBe(0)
    expect(pulls.names()).toEqual([...companions, ...segmentNames(5)])
    expect(pulls.server.requests.filter((path) => path.startsWith('/v1/chain/segments?'))).toEqual([
      '/v1/chain/segments?after=1',
      '/v1/chain/segments?after=3',
    ])
    pulls.server.published.pageSize = 1
    expect((await pulls.pull()).stdout).toMatch(/^up to date/)
  })

  it('fetches a segment again that is gone, and takes those behind it as they are', async () => {
    await pulls.pull()
    rmSync(join(pulls.folder, 'segments/0000000002.aarl'))
    pulls.server.requests.length = 0
    expect((await pulls.pull()).code).toBe(0)
    expect(pulls.server.requests.filter((path) => path.includes('segments/'))).toEqual([
      '/v1/chain/segments/2',
    ])
  })

  it('prints one object with --json', async () => {
    const { code, stdout } = await pulls.pull('--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      up_to_date: false,
      segments: 5,
      downloaded: { segments: 5, bytes: chain.bytes.length, policies: 1 },
      stopped: null,
      head: headOf(4).text,
      live: null,
      unpublished: { sessions: 0, stopped: false },
      report: expect.objectContaining({ verdict: 'verified', sessions: 5 }) as unknown,
    })
  })

  it('prints nothing with --quiet where all is well, and everything where it is not', async () => {
    expect(await pulls.pull('--quiet')).toEqual({ code: 0, signal: null, stdout: '', stderr: '' })
    pulls.server.published.index = []
    const { code, stdout } = await pulls.pull('--quiet')
    expect(code).toBe(3)
    expect(stdout).toContain('before_head')
  })

  it('needs a pin, or --unpinned said out loud', async () => {
    const none = await pulls.pullAs(auditorKey)
    expect(none).toMatchObject({ code: 1, stdout: '' })
    expect(none.stderr).toMatch(/^error: --key: name the public key that you trust/)
    expect(pulls.server.requests).toEqual([])
    const unpinned = await pulls.pullAs(auditorKey, '--unpinned')
    expect(unpinned.code).toBe(0)
    expect(unpinned.stdout).toContain('Verified (unpinned)\n')
    expect(unpinned.stdout).toContain('No key was pinned: whoever answered could have made all of this.\n')
    expect((await pulls.pull('--unpinned')).stderr).toMatch(/^error: --unpinned: /)
  })

  it('says so where nothing is published yet', async () => {
    pulls.publishSessions(0)
    const { code, stdout } = await pulls.pull()
    expect(code).toBe(3)
    expect(stdout).toMatch(/^nothing is published yet; .*\nIndeterminate empty_chain at line 0\n/)
  })

  it('never takes the keys that the deployment names for pins', async () => {
    await pulls.pull()
    const { code, stdout } = await pulls.pullAs(auditorKey, '--key', forgeKey(9).publicKey)
    expect(code).toBe(1)
    expect(stdout).toBe('')
  })

  it('needs the key of an auditor', async () => {
    const { code, stderr } = await pulls.pullAs(apiKey('agent', 'acme'), '--unpinned')
    expect(code).toBe(1)
    expect(stderr).toContain('this needs the key of an auditor, and that is one of an agent')
  })

  it('pins what --key or --trust-store says, and refuses a Session under another key', async () => {
    const [first] = chain.keys
    const { code, stdout } = await pulls.pullAs(auditorKey, '--key', first?.publicKey ?? '')
    expect(code).toBe(1)
    expect(stdout).toContain('stopped at session 1: not_verified: its Lines do not verify\n')
    expect(stdout).toContain('Tampered untrusted_key at session 1 seq 0\n')
    expect(stdout).toContain('kept session 0\n')
    expect(pulls.names()).toEqual(['head.aarl', ...segmentNames(1)])
  })
})

describe('heads that a pull holds', () => {
  const headFile = pulls.aegis.file('head-3.aarl', joinBytes([headOf(3).bytes, utf8('\n')]))

  it('takes --head as text and as a file', async () => {
    for (const head of [headOf(3).text, headFile]) {
      const { code, stdout } = await pulls.pull('--head', head)
      expect(code).toBe(0)
      expect(stdout).toMatch(/\ncomplete to session [34] seq/)
    }
  })

  it('is before_head where the deployment does not reach it', async () => {
    pulls.publishSessions(3)
    const { code, stdout } = await pulls.pull('--head', headFile)
    expect(code).toBe(3)
    expect(stdout).toContain('Indeterminate before_head at session 2')
    expect(stdout).toContain(`session 3 seq ${String(headOf(3).seq)} (--head)`)
    expect(
      readFileSync(join(pulls.folder, 'head.aarl')).equals(joinBytes([headOf(2).bytes, utf8('\n')])),
    ).toBe(true)
  })

  it('is before_head where the deployment shows less than it did, and never takes its head back', async () => {
    await pulls.pull()
    pulls.publishSessions(3)
    const older = await pulls.pull()
    expect(older.code).toBe(3)
    expect(older.stdout).toContain('stopped at session 4: before_head: ')
    // The same with the segments gone, and nothing but the head left.
    rmSync(join(pulls.folder, 'segments'), { recursive: true })
    const bare = await pulls.pull()
    expect(bare.code).toBe(3)
    expect(bare.stdout).toContain('Indeterminate before_head at session 2')
    expect(
      readFileSync(join(pulls.folder, 'head.aarl')).equals(joinBytes([headOf(4).bytes, utf8('\n')])),
    ).toBe(true)
  })

  const other = buildChain({ seed: 6, sessions: 5, callsPerSession: 3, rotate: true })

  it('is forked where the deployment shows another Line there', async () => {
    await pulls.pull()
    // The same keys, another history.
    pulls.server.published = publish('acme', other.files, [utf8('policy set 6')])
    const held = await pulls.pull()
    expect(held.code).toBe(1)
    expect(held.stdout).toContain('stopped at session 4: forked: ')
    rmSync(join(pulls.folder, 'segments'), { recursive: true })
    const bare = await pulls.pull()
    expect(bare.code).toBe(1)
    expect(bare.stdout).toContain('Tampered forked at session 4')
    // The head in the folder and another one, both held to.
    const both = await pulls.pull('--head', headOf(1).text)
    expect(both.stdout).toContain('Tampered forked at session 1')
    expect(pulls.names()).toContain('head.aarl')
  })

  it('refuses a head of another Chain before it asks for anything', async () => {
    const beta = buildChain({ seed: 7, tenant: 'beta', sessions: 1 })
    const line = beta.lines.at(-1)?.bytes ?? Buffer.of()
    const { code, stdout, stderr } = await pulls.pullAs(
      auditorKey,
      '--unpinned',
      '--head',
      pulls.aegis.file('beta.aarl', line),
    )
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('it is not of the Chain acme')
    expect(pulls.server.requests).toEqual([])
  })

  it('refuses a head that no pinned key signed', async () => {
    const { code, stderr } = await pulls.pullAs(
      auditorKey,
      '--key',
      forgeKey(9).publicKey,
      '--head',
      headFile,
    )
    expect(code).toBe(1)
    expect(stderr).toContain('no pinned key that holds for its Chain and Session signed it')
  })
})
