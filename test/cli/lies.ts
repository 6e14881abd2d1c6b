/** What a deployment can say that is not so, one lie at a time, and how `aegis pull` says that it is one. */
import { buildChain, joinBytes, toFile } from '../harness/chain.ts'
import { type Published, type PublishedSegment, publish, toEntry } from '../harness/segment-server.ts'
import { chain } from './pulling.ts'

const file = (session: number): Uint8Array => chain.files[session] ?? Buffer.of()
export const entry = (session: number): PublishedSegment => toEntry(file(session), session)
/** Session 2 is this, and the index agrees. */
const putInPlace = (published: Published, bytes: Uint8Array): void => {
  published.files.set(2, bytes)
  published.index[2] = toEntry(bytes, 2)
}
export const changeEntry = (published: Published, change: Partial<PublishedSegment>): void => {
  published.index[2] = { ...entry(2), ...change }
}

export interface Lie {
  readonly lie: string
  readonly tell: (published: Published) => void
  /** Sessions that are good before it. */
  readonly good: number
  readonly stopped: string
  readonly code?: number
  readonly verdict?: string
}

const altered = Buffer.from(file(2))
altered[altered.length - 40] = 0x7a
const otherSession = file(3)
const foreign = buildChain({ seed: 8, tenant: 'beta', sessions: 3, callsPerSession: 2 })
export const ownKeys = buildChain({
  seed: 9,
  sessions: 3,
  callsPerSession: 2,
  masterSeed: new Uint8Array(32).fill(9),
})
const twin = buildChain({ seed: 10, sessions: 5, callsPerSession: 3, rotate: true })
const rowsOf = (session: number) =>
  chain.lines.filter(({ session_index: index }) => index === session).map(({ bytes }) => bytes)
const million = 1_000_000

export const lies: readonly Lie[] = [
  {
    lie: 'a size below',
    tell: (p) => changeEntry(p, { bytes: file(2).length - 1 }),
    good: 2,
    stopped: 'session 2: segment_length: ',
  },
  {
    lie: 'a size above',
    tell: (p) => changeEntry(p, { bytes: file(2).length + 1 }),
    good: 2,
    stopped: 'session 2: segment_length: ',
  },
  {
    lie: 'a size of nothing',
    tell: (p) => changeEntry(p, { bytes: 0 }),
    good: 0,
    stopped: 'session 2: segment_length: ',
  },
  {
    lie: 'a size beyond all bounds',
    tell: (p) => changeEntry(p, { bytes: 65 * 1_048_576 }),
    good: 0,
    stopped: 'session 2: segment_length: ',
  },
  {
    lie: 'a negative size',
    tell: (p) => changeEntry(p, { bytes: -5 }),
    good: 0,
    stopped: 'index: index_malformed: ',
  },
  {
    lie: 'a size that is none',
    tell: (p) => changeEntry(p, { bytes: 1.5 }),
    good: 0,
    stopped: 'index: index_malformed: ',
  },
  {
    lie: 'another hash',
    tell: (p) => changeEntry(p, { sha256: 'a'.repeat(64) }),
    good: 2,
    stopped: 'session 2: segment_sha256: ',
  },
  {
    lie: 'a hash that is none',
    tell: (p) => changeEntry(p, { sha256: 'A'.repeat(64) }),
    good: 0,
    stopped: 'index: index_malformed: ',
  },
  {
    lie: 'another tail',
    tell: (p) => changeEntry(p, { tail: 'b'.repeat(64) }),
    good: 2,
    stopped: 'session 2: segment_tail: ',
  },
  {
    lie: 'a tail that is none',
    tell: (p) => changeEntry(p, { tail: '' }),
    good: 0,
    stopped: 'index: index_malformed: ',
  },
  {
    lie: 'a first Session that is not 0',
    tell: (p) => {
      p.index.shift()
    },
    good: 0,
    stopped: 'index: index_not_dense: it lists session 1 where 0 follows',
  },
  {
    lie: 'a gap',
    tell: (p) => {
      p.index.splice(2, 1)
    },
    good: 0,
    stopped: 'index: index_not_dense: it lists session 3 where 2 follows',
  },
  {
    lie: 'a Session twice',
    tell: (p) => {
      p.index.splice(2, 0, entry(1))
    },
    good: 0,
    stopped: 'index: index_not_dense: ',
  },
  {
    lie: 'another order',
    tell: (p) => {
      p.index.reverse()
    },
    good: 0,
    stopped: 'index: index_not_dense: ',
  },
  {
    lie: 'a segment that is not there',
    tell: (p) => {
      p.files.delete(2)
    },
    good: 2,
    stopped: 'session 2: segment_missing: ',
  },
  {
    lie: 'bytes that were altered',
    tell: (p) => {
      p.files.set(2, altered)
    },
    good: 2,
    stopped: 'session 2: segment_sha256: ',
  },
  {
    lie: 'bytes that were altered, index too',
    tell: (p) => {
      putInPlace(p, altered)
    },
    good: 2,
    stopped: 'session 2: not_verified: ',
    verdict: 'Tampered bad_signature at session 2',
  },
  {
    lie: 'another Session of the Chain',
    tell: (p) => {
      putInPlace(p, otherSession)
    },
    good: 2,
    stopped: 'session 2: segment_session: ',
  },
  {
    lie: 'a Session of another history',
    tell: (p) => {
      putInPlace(p, twin.files[2] ?? Buffer.of())
    },
    good: 2,
    stopped: 'session 2: not_verified: ',
    verdict: 'Tampered session_tail_mismatch at session 2 seq 0',
  },
  {
    lie: 'a segment of another tenant',
    tell: (p) => {
      putInPlace(p, foreign.files[2] ?? Buffer.of())
    },
    good: 2,
    stopped: 'session 2: foreign_chain: ',
  },
  {
    lie: 'two Sessions in one segment',
    tell: (p) => {
      putInPlace(p, joinBytes([file(2), file(3)]))
    },
    good: 2,
    stopped: 'session 2: segment_session: ',
  },
  {
    lie: 'a Session without its close',
    tell: (p) => {
      putInPlace(p, toFile(rowsOf(2).slice(0, -1)))
    },
    good: 2,
    stopped: 'session 2: not_verified: ',
    code: 3,
    verdict: 'Indeterminate unanchored_tail at session 2',
  },
  {
    lie: 'a Session without its open',
    tell: (p) => {
      putInPlace(p, toFile(rowsOf(2).slice(1)))
    },
    good: 2,
    stopped: 'session 2: not_verified: ',
    verdict: 'Tampered',
  },
  {
    lie: 'a Session with a torn end',
    tell: (p) => {
      putInPlace(p, file(2).subarray(0, -30))
    },
    good: 2,
    stopped: 'session 2: not_verified: ',
    code: 3,
    verdict: 'Indeterminate torn_final_line',
  },
  {
    lie: 'nothing but line feeds',
    tell: (p) => {
      putInPlace(p, Buffer.alloc(100, 0x0a))
    },
    good: 2,
    stopped: 'session 2: segment_session: ',
  },
  {
    lie: 'a picture',
    tell: (p) => {
      putInPlace(p, Buffer.alloc(million, 0xff))
    },
    good: 2,
    stopped: 'session 2: not_verified: ',
    verdict: 'Tampered line_too_long',
  },
  {
    lie: 'a Chain made with keys of its own',
    tell: (p) => {
      Object.assign(p, publish('acme', ownKeys.files))
    },
    good: 0,
    stopped: 'session 0: not_verified: ',
    verdict: 'Tampered untrusted_key at session 0 seq 0',
  },
  {
    lie: 'a policy set of other bytes',
    tell: (p) => {
      for (const hash of p.policies.keys()) p.policies.set(hash, Buffer.from('{}'))
    },
    good: 5,
    stopped: 'policy ',
  },
  {
    lie: 'no policy set',
    tell: (p) => {
      p.policies.clear()
    },
    good: 5,
    stopped: 'policy ',
  },
  {
    lie: 'a policy set without end',
    tell: (p) => {
      for (const hash of p.policies.keys()) p.policies.set(hash, Buffer.alloc(2 * million))
    },
    good: 5,
    stopped: 'policy ',
  },
]
