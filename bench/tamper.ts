/**
 * `npm run bench -- tamper`: how many alterations of a record its reader notices: of our Chain, by the walk of `aegis
 * verify`, and of the audit that @microsoft/agent-governance-sdk keeps, by its own `verify()`. Both records hold the same
 * calls; each alteration is judged alone. What is done to them: bench/alterations.ts.
 */
import { nodeSuite } from '../src/crypto-node/index.ts'
import type { PublicKeyHex } from '../src/record/index.ts'
import { type Report, Walk } from '../src/verify/index.ts'
import { type BuiltChain, buildChain } from '../test/harness/chain.ts'
import { type AlteredChain, type Alteration, edits, rewrites } from './alterations.ts'
import type { AuditEntry, AuditLogger } from './governance-sdk.mjs'
import { installPeers } from './peers-installed.ts'

/** What a reader of our Chain holds beside its bytes. */
const holdings = ['nothing', 'the key', 'the key and a head'] as const
type Holding = (typeof holdings)[number]

interface Judged {
  readonly noticed: boolean
  readonly says: string
}

export async function benchTamper(): Promise<readonly string[]> {
  const chain = buildChain({ seed: 9, sessions: 3, callsPerSession: 4, approvals: true })
  const peer = await auditOf(chain)
  const untouched: AlteredChain = { file: chain.bytes }
  for (const holding of holdings) expectVerified(judgeChain(untouched, chain, holding))
  if (typeof peer !== 'string') {
    expectVerified(peer.judge(peer.text, false))
    expectVerified(peer.judge(peer.text, true))
  }
  return [
    `Our Chain: ${String(chain.lines.length)} Lines in 3 Sessions. The audit: an entry for each of the same ` +
      `${typeof peer === 'string' ? '' : `${String(peer.entries.length)} `}calls. Unaltered, both are found right.`,
    '',
    ...tableOf('edited by hand', edits, chain, peer),
    '',
    ...tableOf('rewritten with care', rewrites, chain, peer),
    '',
    ...sentences,
  ]
}

const sentences = [
  '✓ is whatever does not end well: for the Chain every exit code of `aegis verify` but 0 (*tampered*, or *indeterminate* where',
  'bytes end too early to say), for the SDK `false`, an error, or JSON that cannot be read. What a record has no member for is',
  'not counted.',
  '',
  '- **Our Chain** is signed: nobody without the key makes a Line that holds under a pinned key, whatever else is computed',
  '  again. It is bytes: a change without meaning is a change. Unpinned it shows only that nobody but its writer',
  '  changed it, whoever that was. Whether the newest Sessions are missing only a head or a receipt shows, and a file may begin',
  '  at any Session: that the oldest are missing is said by the report (`starts session 1`), not by the exit code.',
  '- **The SDK’s audit** is a chain of unkeyed SHA-256 in memory: `verify()` finds what was changed without computing the',
  '  hashes again, and nothing that was changed with it. It keeps agent, action, decision and time; no reason, number, call or',
  '  key. It has no export that it reads back, so the bench puts the entries where it keeps them. It hashes fields and not bytes:',
  '  that white space, line ends and order pass is no fault. The last column is ours, not the package’s: a reader who writes',
  '  down the last hash elsewhere and looks for it notices nearly all of it, up to that entry; behind it anybody can add.',
]

function tableOf(
  title: string,
  alterations: readonly Alteration[],
  chain: BuiltChain,
  peer: Peer | string,
): readonly string[] {
  const rows = alterations.map((alteration) => {
    const altered = alteration.chain({ rows: chain.lines.map(({ bytes }) => bytes), file: chain.bytes })
    if (altered.pinned === undefined && Buffer.compare(altered.file, chain.bytes) === 0) {
      throw new Error(`nothing was altered: ${alteration.name}`)
    }
    const ours = holdings.map((holding) => judgeChain(altered, chain, holding))
    const absent = typeof peer === 'string' ? peer : (alteration.without ?? '–')
    return { name: alteration.name, cells: [...ours, ...judgePeer(alteration, peer)], absent }
  })
  const counts = Array.from({ length: holdings.length + 2 }, (_, column) => {
    const judged = rows.map(({ cells }) => cells[column] ?? 'none').filter((cell) => cell !== 'none')
    if (judged.length === 0) return '–'
    return `**${String(judged.filter(({ noticed }) => noticed).length)} of ${String(judged.length)}**`
  })
  return [
    `| ${title} | Chain: bytes alone | Chain: key pinned | Chain: key pinned and a head held | SDK: its \`verify()\` | SDK: and the last hash kept by hand |`,
    '|---|---|---|---|---|---|',
    ...rows.map(({ name, cells, absent }) => {
      const text = (cell: Judged | 'none'): string =>
        cell === 'none' ? absent : `${cell.noticed ? '✓' : '✗'} ${cell.says}`
      return `| ${name} | ${cells.map(text).join(' | ')} |`
    }),
    `| **noticed** | ${counts.join(' | ')} |`,
  ]
}

/** Noticed is whatever `aegis verify` does not end with 0 on. */
function judgeChain(altered: AlteredChain, chain: BuiltChain, holding: Holding): Judged {
  const ours = chain.keys.map(({ publicKey }) => publicKey as string)
  const pins = (altered.pinned === undefined ? ours : [altered.pinned]).map((publicKey) => ({
    publicKey: publicKey as PublicKeyHex,
  }))
  const walk = new Walk({
    digester: nodeSuite,
    check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
    ...(holding === 'nothing' ? {} : { pins }),
    ...(holding === 'the key and a head' ? { head: chain.head } : {}),
  })
  walk.push(altered.file)
  const report = walk.end()
  return { noticed: report.verdict !== 'verified', says: toWords(report) }
}

function toWords(report: Report): string {
  if (report.verdict !== 'verified') return `${report.verdict}: \`${report.finding.reason}\``
  const from = report.firstSession ?? 0
  return from === 0 ? 'verified' : `verified, \`starts session ${String(from)}\``
}

interface Peer {
  readonly text: string
  readonly entries: readonly AuditEntry[]
  /** `kept`: the reader has written down the last hash, and looks whether an entry has it. */
  readonly judge: (text: string, kept: boolean) => Judged
}

interface OutcomeMembers {
  readonly agent_id: string
  readonly tool_id: string
  readonly policy: { readonly status: string }
}

/** The peer's audit of the same calls, or why there is none. */
async function auditOf(chain: BuiltChain): Promise<Peer | string> {
  try {
    installPeers()
  } catch {
    return 'could not be installed'
  }
  const { AuditLogger } = await import('./governance-sdk.mjs')
  const logger = new AuditLogger()
  for (const { bytes, type } of chain.lines) {
    if (type !== 'outcome') continue
    const outcome = JSON.parse(Buffer.from(bytes).toString()) as OutcomeMembers
    const { status } = outcome.policy
    const decision = status === 'allowed' ? 'allow' : status === 'pending_approval' ? 'review' : 'deny'
    logger.log({ agentId: outcome.agent_id, action: outcome.tool_id, decision })
  }
  const text = logger.exportJSON()
  const entries = JSON.parse(text) as AuditEntry[]
  const lastHash = entries.at(-1)?.hash
  return {
    text,
    entries,
    judge: (altered, kept) => judgeAudit(new AuditLogger(), altered, kept ? lastHash : undefined),
  }
}

/**
 * The package verifies what is in memory and reads no export back: the entries are put where it keeps them. Any failure
 * to read is counted as noticed.
 */
function judgeAudit(logger: AuditLogger, text: string, kept: string | undefined): Judged {
  try {
    logger.entries = JSON.parse(text) as AuditEntry[]
  } catch {
    return { noticed: true, says: 'is no JSON' }
  }
  try {
    if (!logger.verify()) return { noticed: true, says: '`false`' }
  } catch {
    return { noticed: true, says: 'throws' }
  }
  if (kept !== undefined && !logger.entries.some(({ hash }) => hash === kept)) {
    return { noticed: true, says: 'the hash is gone' }
  }
  return { noticed: false, says: '`true`' }
}

function judgePeer({ audit, name }: Alteration, peer: Peer | string): readonly (Judged | 'none')[] {
  if (typeof peer === 'string' || audit === undefined) return ['none', 'none']
  const altered = audit(peer.entries, peer.text)
  if (altered === peer.text) throw new Error(`nothing was altered in the audit: ${name}`)
  return [peer.judge(altered, false), peer.judge(altered, true)]
}

function expectVerified({ noticed, says }: Judged): void {
  if (noticed) throw new Error(`an unaltered record is ${says}`)
}
