/**
 * A Chain as our writer makes it, for measuring: every Call an intent and an allowed outcome with full decision axes,
 * 1,000 Calls a Session. Deterministic: the same number of Calls gives the same bytes. Not for tests of the format.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { deriveLineKey, nodeSuite } from '../src/crypto-node/index.ts'
import { type ChainHead, type LineDraft, nextLine, requestDigest, utf8 } from '../src/record/index.ts'

export const callsPerSession = 1_000
/** Lines of one full Session: `open`, two a Call, `close`. */
export const linesPerSession = 2 * callsPerSession + 2

const startedAt = 1_796_040_000_000
const lf = Uint8Array.of(0x0a)
/** Bytes gathered before a write. */
const writeBytes = 1 << 20

export interface WrittenChain {
  readonly lines: number
  readonly signatures: number
  readonly bytes: number
}

/** Writes `sessions` closed Sessions of {@link callsPerSession} Calls to a file. */
export function writeChain(path: string, sessions: number): WrittenChain {
  const signer = nodeSuite.signer(deriveLineKey(new Uint8Array(32).fill(7), 'prod', 'acme', 0))
  let head: ChainHead = { state: 'empty', chainId: 'acme' }
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  const written = { lines: 0, signatures: 0, bytes: 0 }
  const file = openSync(path, 'w')
  const flush = (): void => {
    writeSync(file, Buffer.concat(waiting))
    waiting = []
    waitingBytes = 0
  }
  const append = (draft: LineDraft): void => {
    const next = nextLine(head, draft, signer, nodeSuite)
    if (next.kind === 'too_long') throw new Error(`a Line of ${String(next.bytes)} bytes`)
    head = next.head
    waiting.push(next.bytes, lf)
    waitingBytes += next.bytes.length + 1
    written.lines += 1
    if (draft.line_type !== 'intent') written.signatures += 1
    written.bytes += next.bytes.length + 1
    if (waitingBytes >= writeBytes) flush()
  }
  try {
    for (let session = 0; session < sessions; session += 1) {
      const at = startedAt + session * 900_000
      append({ line_type: 'open', deployment: 'prod', opened_at: at })
      for (let call = 0; call < callsPerSession; call += 1) {
        for (const draft of callDrafts(session * callsPerSession + call, at + call * 800)) append(draft)
      }
      append({ line_type: 'close', closed_at: at + 900_000, calls: callsPerSession })
    }
    flush()
  } finally {
    closeSync(file)
  }
  return written
}

/** 26 characters of Crockford base32 that depend on the number. */
function id(prefix: string, number: number): string {
  return `${prefix}_${number
    .toString(32)
    .padStart(26, '0')
    .replace(/[ilou]/g, 'z')}`
}

function callDrafts(number: number, at: number): readonly LineDraft[] {
  const digest = requestDigest(utf8(`request ${String(number)}`), nodeSuite)
  const hash = digest as string as never
  const shared = {
    action_hash: hash,
    agent_id: `agent-${String(number % 7)}`,
    call_id: id('call', number),
    request_digest: digest,
    tool_id: 'github.merge_pr',
  }
  const grantId = id('grt', number)
  return [
    { line_type: 'intent', ...shared },
    {
      line_type: 'outcome',
      ...shared,
      capability: {
        status: 'granted',
        grant: { action_hash: hash, expires_at: at + 60_000, grant_id: grantId, tool_id: shared.tool_id },
      },
      decided_at: at,
      decision_axes: {
        action: { id: shared.tool_id, type: 'Action' },
        bindings_hash: '6a1f10c1b7a3ab7081d3edda51364bfbd34a9e99a64dae1f679b0c3e08fff7fc' as never,
        capability: 'net.http',
        context: {
          args: { base_branch: 'develop', number: { long: String(number) }, labels: { set: ['a', 'b'] } },
          contains_sensitive_data: false,
          environment: 'production',
          mutates_state: true,
          now: { datetime: new Date(at).toISOString() },
          risk: { long: '75' },
          risk_level: 'high',
          session: 'run-7',
          source_trust: 'semi_trusted_customer',
          trust: { long: '3' },
          user: { id: `user-${String(number % 1_000)}` },
        },
        decided_by: 'policy',
        evaluator: 'aegis-edge 1, cedar 4.13.0',
        matched_rule: 'merge-reviewed',
        matched_rules: ['merge-reviewed', 'business-hours'],
        metadata: { branch: 'feature/verbatim-receipts', build: `https://ci.example/run/${String(number)}` },
        principal: {
          attrs: {
            environment: 'production',
            force_approval: false,
            owner: 'lena@acme.example',
            risk_tier: 'standard',
            trust_max: 'semi_trusted_customer',
          },
          id: shared.agent_id,
          parents: [{ id: 'merger', type: 'Role' }],
          type: 'Agent',
        },
        resource: { id: `repo:acme/widgets#${String(number)}`, type: 'Resource' },
        role: 'merger',
        session: 'run-7',
      },
      execution: { status: 'delegated' },
      grant_id: grantId,
      policy: { status: 'allowed' },
      policy_set_hash: 'e35c484fe3253ac03b69b7fd6fc85d2691250edeac23d249982c9c3ba7ac42b0' as never,
    },
  ]
}
