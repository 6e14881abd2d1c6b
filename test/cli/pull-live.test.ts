/** `aegis pull --live`: Lines that are not published yet, and what they hold a deployment to. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type JsonObject, encodeCanonical, utf8 } from '../../src/record/index.ts'
import { joinBytes } from '../harness/chain.ts'
import { keyFromSeed, signingInput } from '../harness/forge.ts'
import { chain, headOf, preparePulls, segmentNames } from './pulling.ts'

const pulls = await preparePulls()

describe('aegis pull --live', () => {
  const lines = chain.lines.filter(({ session_index: index }) => index === 4).map(({ bytes }) => bytes)
  const openLines = (count: number): Uint8Array =>
    joinBytes(lines.slice(0, count).flatMap((line) => [line, utf8('\n')]))
  const opened = (sessions: number, live: Uint8Array): void => {
    pulls.publishSessions(sessions)
    pulls.server.published.live = live
  }

  it('adds the open Session, and says what its verdict means', async () => {
    opened(4, openLines(3))
    const { code, stdout } = await pulls.pull('--live')
    expect(code).toBe(0)
    expect(stdout).toContain('3 unpublished Lines (live.aarl)')
    expect(stdout).toContain('Indeterminate unanchored_tail at session 4 seq 2\n')
    expect(stdout).toContain('The open Session has no close yet')
    expect(stdout).toContain('that there are no more of them, nothing proves')
    // The head to pin is one that is published.
    expect(stdout).toContain(`head ${headOf(3).text}\n`)
    expect(readFileSync(join(pulls.folder, 'live.aarl')).equals(openLines(3))).toBe(true)
  })

  it('adds Sessions that are closed and wait for the archive', async () => {
    opened(2, joinBytes([chain.files[2] ?? Buffer.of(), chain.files[3] ?? Buffer.of(), openLines(3)]))
    const { code, stdout } = await pulls.pull('--live')
    expect(code).toBe(0)
    expect(stdout).toContain('Indeterminate unanchored_tail at session 4 seq 2\n')
    expect(pulls.server.requests).toContain('/v1/chain/live?from=2')
  })

  it('says that nothing is open between Sessions', async () => {
    const { code, stdout } = await pulls.pull('--live')
    expect(code).toBe(0)
    expect(stdout).toContain('Verified (pinned)\n')
    expect(stdout).toContain('No Session is open')
    expect(readFileSync(join(pulls.folder, 'live.aarl'))).toHaveLength(0)
  })

  it('reads a first Session that nothing is published of', async () => {
    pulls.publishSessions(0)
    const first = chain.lines.filter(({ session_index: index }) => index === 0).slice(0, 3)
    pulls.server.published.live = joinBytes(first.flatMap(({ bytes }) => [bytes, utf8('\n')]))
    const { code, stdout } = await pulls.pull('--live')
    expect(code).toBe(0)
    expect(stdout).toContain('Indeterminate unanchored_tail at session 0 seq 2\n')
    expect(pulls.names()).toContain('live.aarl')
  })

  it('is not satisfied by an open Session that does not reach the head', async () => {
    opened(4, openLines(3))
    const { code, stdout } = await pulls.pull('--live', '--head', headOf(4).text)
    expect(code).toBe(3)
    expect(stdout).toContain('What is held is not reached: session 4')
    expect((await pulls.pull('--live', '--head', headOf(2).text)).code).toBe(0)
  })

  it('stops at live Lines that are wrong, and keeps the segments', async () => {
    const altered = Buffer.from(openLines(3))
    altered[altered.length - 40] = 0x7a
    opened(4, altered)
    const { code, stdout } = await pulls.pull('--live')
    expect(code).toBe(1)
    expect(stdout).toContain('stopped at session 4: not_verified')
    expect(pulls.names()).toEqual(['head.aarl', ...segmentNames(4)])
    opened(4, chain.files[0] ?? Buffer.of())
    expect((await pulls.pull('--live')).stdout).toContain('stopped at session 4: segment_session')
  })

  it('lists again where the Session was published meanwhile', async () => {
    opened(4, openLines(3))
    pulls.server.trick = (request) => {
      if (request.url?.startsWith('/v1/chain/live') === true && pulls.server.published.index.length === 4) {
        pulls.publishSessions(5)
      }
      return false
    }
    const { code, stdout } = await pulls.pull('--live')
    expect(code).toBe(0)
    expect(stdout).toContain('holds 5 segments')
  })

  it('stops where live and index contradict each other', async () => {
    opened(4, openLines(3))
    pulls.server.trick = (request, response) => {
      if (request.url?.startsWith('/v1/chain/live') !== true) return false
      response.writeHead(404, { 'content-type': 'application/problem+json' }).end('{"code":"not_found"}')
      return true
    }
    const { code, stdout } = await pulls.pull('--live')
    expect(code).toBe(1)
    expect(stdout).toContain('stopped at session 4: live_contradiction')
  })

  it('holds the deployment to the open Session that it showed before', async () => {
    opened(4, openLines(5))
    await pulls.pull('--live')
    opened(4, openLines(3))
    const less = await pulls.pull('--live')
    expect(less.code).toBe(3)
    expect(less.stdout).toContain('stopped at session 4: before_head')
    expect(readFileSync(join(pulls.folder, 'live.aarl')).equals(openLines(5))).toBe(true)
    // Without --live nothing can be said of it yet, and it stays.
    expect((await pulls.pull()).code).toBe(0)
    expect(pulls.names()).toContain('live.aarl')
    // Published, it holds those Lines, and the file says nothing more.
    pulls.publishSessions(5)
    expect((await pulls.pull()).code).toBe(0)
    expect(pulls.names()).not.toContain('live.aarl')
  })

  it('finds a published Session that is not the one that was open', async () => {
    opened(4, openLines(5))
    await pulls.pull('--live')
    // As if the deployment had shown one other Line than it published.
    const rows = readFileSync(join(pulls.folder, 'live.aarl'), 'utf8').trimEnd().split('\n')
    const members = { ...(JSON.parse(rows.at(-1) ?? '') as JsonObject), decided_at: 1 }
    const signature = keyFromSeed(chain.keys.at(-1)?.secret ?? Buffer.of()).sign(signingInput(members))
    const signed = Buffer.from(encodeCanonical({ ...members, signature })).toString('utf8')
    writeFileSync(join(pulls.folder, 'live.aarl'), `${[...rows.slice(0, -1), signed].join('\n')}\n`)
    pulls.publishSessions(5)
    const { code, stdout } = await pulls.pull()
    expect(code).toBe(1)
    expect(stdout).toContain('Tampered forked at session 4')
    expect(pulls.names()).toContain('live.aarl')
    expect(pulls.names()).not.toContain('segments/0000000004.aarl')
  })
})
