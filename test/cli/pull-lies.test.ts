/**
 * `aegis pull` with a deployment that lies: about its index, its segments, its policy sets, its keys. Every lie ends in a
 * stated reason, and what was good before it is kept.
 */
import { rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { Forge, forgeKey } from '../harness/forge.ts'
import {
  type PublishedSegment,
  answerBytes,
  answerJson,
  answerProblem,
  publish,
} from '../harness/segment-server.ts'
import { changeEntry, entry, lies, ownKeys } from './lies.ts'
import { auditorKey, headOf, policy, policyFile, preparePulls, segmentNames } from './pulling.ts'

const pulls = await preparePulls()
const { server } = pulls

const kept = (sessions: number): string[] => (sessions === 0 ? [] : ['head.aarl', ...segmentNames(sessions)])

describe('a deployment that lies', () => {
  it.each(lies)('with $lie', async ({ tell, good, stopped, code = 1, verdict }) => {
    tell(server.published)
    const pulled = await pulls.pull()
    expect({ code: pulled.code, stderr: pulled.stderr }).toEqual({ code, stderr: '' })
    expect(pulled.stdout).toContain(`\nstopped at ${stopped}`)
    expect(pulled.stdout).toContain(verdict ?? '')
    expect(pulls.names()).toEqual(kept(good))
    // Honest again, it goes on.
    pulls.publishSessions(5)
    expect((await pulls.pull()).code).toBe(0)
    expect(pulls.names()).toEqual(['head.aarl', 'keys.json', policyFile, ...segmentNames(5)])
  })

  it('is told of by --json too', async () => {
    changeEntry(server.published, { sha256: 'a'.repeat(64) })
    const { code, stdout } = await pulls.pull('--json')
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      segments: 2,
      downloaded: { segments: 2, policies: 0 },
      head: headOf(1).text,
      stopped: { reason: 'segment_sha256', at: 'session 2' },
      report: { verdict: 'verified', sessions: 2 },
    })
  })

  const index = (answer: (response: ServerResponse, path: string) => void): void => {
    server.trick = (request, response) => {
      if (!/^\/v1\/chain\/segments(\?|$)/.test(request.url ?? '')) return false
      answer(response, request.url ?? '')
      return true
    }
  }
  const unpublished = { sessions: 0 }

  it.each([
    ['a page that leads to itself', { segments: [], next: 0, unpublished }],
    ['a page that leads back', { segments: [entry(0), entry(1)], next: 0, unpublished }],
    ['a page that leads past others', { segments: [entry(0), entry(1)], next: 3, unpublished }],
    ['a next that is no number', { segments: [entry(0)], next: 'all', unpublished }],
    ['a negative session_index', { segments: [{ ...entry(0), session_index: -1 }], unpublished }],
    ['no list', { segments: { 0: entry(0) }, unpublished }],
    ['no objects', { segments: [7], unpublished }],
    [
      'a page of too many',
      {
        segments: Array.from({ length: 1_001 }, (_, at) => ({ ...entry(0), session_index: at })),
        unpublished,
      },
    ],
    ['a page without end', { segments: [], unpublished, more: 'x'.repeat(1_100_000) }],
    ['nothing of what waits', { segments: [] }],
    ['a list', []],
  ])('with an index that is %s', async (_, body) => {
    index((response) => {
      answerJson(response, body)
    })
    const { code, stdout } = await pulls.pull()
    expect(code).toBe(1)
    expect(stdout).toMatch(/\nstopped at index: index_malformed: .+\n/)
    expect(pulls.names()).toEqual([])
  })

  it('with an index that is no JSON, or holds a member twice', async () => {
    for (const text of ['<html>', '{"segments":[],"segments":[],"unpublished":{"sessions":0}}']) {
      index((response) => {
        answerBytes(response, Buffer.from(text))
      })
      expect((await pulls.pull()).stdout).toContain('stopped at index: index_malformed: ')
    }
  })

  it('with pages that repeat what was asked for before', async () => {
    // Each page says that there is more, and is the first one again.
    index((response) => {
      answerJson(response, { segments: [entry(0), entry(1)], next: 1, unpublished })
    })
    const { code, stdout } = await pulls.pull()
    expect(code).toBe(1)
    expect(stdout).toContain('stopped at index: index_not_dense: it lists session 0 where 2 follows\n')
    expect(server.requests).toHaveLength(4)
    expect(pulls.names()).toEqual(kept(2))
  })

  it('with more bytes than it said, for ever: cut off at what it said', async () => {
    let sent = 0
    server.trick = (request, response) => {
      if (request.url !== '/v1/chain/segments/1') return false
      response.writeHead(200)
      const pour = (): void => {
        if (response.destroyed) return
        sent += 65_536
        response.write(Buffer.alloc(65_536, 0x7b), () => setImmediate(pour))
      }
      pour()
      return true
    }
    const { code, stdout } = await pulls.pull()
    expect(code).toBe(1)
    expect(stdout).toContain('stopped at session 1: segment_length: ')
    // What lies between two sockets, and no more.
    expect(sent).toBeLessThan(64 * 1_048_576)
    expect(pulls.names()).toEqual(kept(1))
  })

  it('with keys that are no trust store, or those of another tenant', async () => {
    for (const keys of ['{"keys":7}', '[]', '{"chain_id":"beta","keys":[{"public_key":"00"}]}']) {
      server.published.keys = Buffer.from(keys)
      const { code, stdout } = await pulls.pull()
      expect(code).toBe(1)
      expect(stdout).toContain('stopped at keys: keys_malformed: ')
      expect(pulls.names()).not.toContain('keys.json')
    }
    const beta = { public_key: forgeKey(1).publicKey }
    server.published.keys = Buffer.from(JSON.stringify({ chain_id: 'beta', keys: [beta] }))
    expect((await pulls.pull()).stdout).toContain('stopped at keys: keys_malformed: ')
    server.published.keys = undefined
    expect((await pulls.pull()).code).toBe(0)
  })

  it('about a Session that is held', async () => {
    await pulls.pull()
    const tails: Partial<PublishedSegment>[] = [{ tail: 'c'.repeat(64) }, { sha256: 'c'.repeat(64) }]
    for (const [at, change] of tails.entries()) {
      server.published.index[4] = { ...entry(4), ...change }
      const { code, stdout } = await pulls.pull()
      expect(code).toBe(1)
      expect(stdout).toContain(`stopped at session 4: ${at === 0 ? 'forked' : 'segment_sha256'}: `)
    }
  })

  it('with a segment that differs from one that lies behind a missing one', async () => {
    await pulls.pull()
    rmSync(`${pulls.folder}/segments/0000000001.aarl`)
    changeEntry(server.published, { sha256: 'd'.repeat(64) })
    const { code, stdout } = await pulls.pull()
    expect(code).toBe(1)
    expect(stdout).toContain('stopped at session 2: segment_sha256: ')
  })

  it('to someone who pins nothing: consistent with itself is all that it can be', async () => {
    server.published = publish('acme', ownKeys.files, [Buffer.from('policy set 9')])
    const { code, stdout } = await pulls.pullAs(auditorKey, '--unpinned')
    expect(code).toBe(0)
    expect(stdout).toContain('Verified (unpinned)\n')
    // A head that was held tells, without any key.
    const held = await pulls.pullAs(auditorKey, '--unpinned', '--head', headOf(1).text)
    expect(held.code).toBe(1)
    expect(held.stdout).toContain('Tampered forked at session 1')
  })

  it('has its text escaped wherever it is shown', async () => {
    index((response) => {
      answerProblem(response, 403, 'role_not_allowed', 'no\u001b[31m\nerror: all is well')
    })
    const { code, stdout, stderr } = await pulls.pull()
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('403 role_not_allowed: no\\u{1b}[31m\\u{a}error: all is well (call_id call_1)\n')
  })

  it('has a Chain of another form judged by src/verify', async () => {
    // Lines without chain_id and session_index, as others write them.
    const forge = new Forge({ chain: null }).session()
    server.published = publish('acme', [forge.file], [policy])
    const { code, stdout } = await pulls.pullAs(auditorKey, '--unpinned')
    expect(code).toBe(1)
    expect(stdout).toContain('stopped at session 0: foreign_chain: ')
  })
})
