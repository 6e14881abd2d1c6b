/**
 * What the tests of `aegis pull` share: a Chain of five Sessions under five keys, a deployment that publishes it, and a
 * folder for each test.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach } from 'vitest'
import { utf8 } from '../../src/record/index.ts'
import { type BuiltChain, buildChain } from '../harness/chain.ts'
import { sha256Hex } from '../harness/forge.ts'
import { SegmentServer, apiKey, publish } from '../harness/segment-server.ts'
import { type Ended, type TestCommand, buildCommand } from './command.ts'

export const chain: BuiltChain = buildChain({
  seed: 5,
  sessions: 5,
  callsPerSession: 3,
  rotate: true,
  approvals: true,
})
/** The harness names its policy set by the hash of this text. */
export const policy = utf8('policy set 5')
export const policyFile = `policies/${sha256Hex(policy)}.json`
export const companions = ['head.aarl', 'keys.json', policyFile]
export const auditorKey = apiKey('auditor', 'acme')

export interface PullTest {
  readonly aegis: TestCommand
  readonly server: SegmentServer
  /** A trust store with the Chain's keys. */
  readonly trust: string
  /** Of the test that runs; it is not there yet. */
  folder: string
  /** With the keys of the Chain pinned, and an auditor's API key. */
  pull(...more: string[]): Promise<Ended>
  /** With another API key, and nothing pinned. */
  pullAs(key: string, ...more: string[]): Promise<Ended>
  /** The deployment has published so many Sessions, and is honest. */
  publishSessions(count: number): void
  /** Files in the folder, sorted. */
  names(): string[]
}

/** Call once at the top of a test file. */
export async function preparePulls(): Promise<PullTest> {
  const aegis = buildCommand()
  const trust = aegis.file('trust.json', chain.trustStore)
  const server = await SegmentServer.start(publish('acme', chain.files, [policy]))
  afterAll(() => server.end())
  let folders = 0
  const test: PullTest = {
    aegis,
    server,
    trust,
    folder: '',
    pull: (...more) => test.pullAs(auditorKey, '--trust-store', trust, ...more),
    pullAs: (key, ...more) =>
      aegis.run(['pull', '--url', server.url, '--out', test.folder, ...more], {
        env: { AEGIS_API_KEY: key },
      }),
    publishSessions: (count) => {
      server.published = publish('acme', chain.files.slice(0, count), [policy])
    },
    names: () => fileNames(test.folder),
  }
  beforeEach(() => {
    folders += 1
    test.folder = join(aegis.folder, `pull-${String(folders)}`)
    test.publishSessions(5)
    server.trick = undefined
    server.requests.length = 0
  })
  return test
}

/** Files below a folder, sorted. */
export function fileNames(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}

/** The `close` that ends a Session, and it as `--head` takes it. */
export function headOf(session: number) {
  const line = chain.lines.findLast(({ session_index: index }) => index === session)
  if (line === undefined) throw new Error('no such Session')
  return { ...line, text: `${String(session)}:${String(line.seq)}:${line.lineHash}` }
}

/** The segments of so many Sessions, as files of the folder. */
export function segmentNames(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `segments/000000000${String(at)}.aarl`)
}
