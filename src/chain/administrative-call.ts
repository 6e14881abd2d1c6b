/**
 * The Lines of an administrative Call (SPEC.md §4.9): an `intent` and an `outcome` under a reserved `tool_id`, by an
 * actor. Not a judge: what was done or refused comes in.
 */
import {
  type IntentDraft,
  type LineHash,
  type OutcomeDraft,
  type PolicySetHash,
  type RequestDigest,
  decodeUtf8,
} from '../record/index.ts'
import { append } from './append.ts'
import { type EnvelopeNote, stageRequest } from './envelopes.ts'
import { newId } from './ids.ts'
import type { ChainContext } from './ports.ts'
import type { HeadRecord, TenantRecord } from './records.ts'

export interface RecordedActor {
  readonly role: string
  readonly api_key?: string
  readonly subject?: string
}

export interface AdministrativeEntry {
  /** With `aegis/`. */
  readonly toolId: string
  readonly requestDigest: RequestDigest
  readonly policySetHash: PolicySetHash
  readonly actor: RecordedActor
  readonly envelope: EnvelopeNote
  /** The bytes behind the digest, to be kept if `envelope` lets them be. */
  readonly request: Uint8Array
  readonly refusal?: string
  /** Of an act on an approval. */
  readonly approvalRef?: string
  /** Where an agent acts. */
  readonly agentId?: string
  /** Prose for people, at most 512 bytes. */
  readonly reasonText?: string
}

export interface AppendedEntry {
  readonly callId: string
  readonly line: string
  readonly lineHash: LineHash
  readonly head: HeadRecord
}

/** Appends it behind the stored head and stages its bytes, in the caller's transaction. */
export function appendEntry(
  context: ChainContext,
  tenant: TenantRecord,
  entry: AdministrativeEntry,
  after: 'close' | 'go_on' = 'go_on',
): AppendedEntry {
  const stored = context.store.readHead()
  const { callId, drafts } = toDrafts(context, entry)
  const appended = append(context, tenant, stored, stored, drafts, after)
  // The Lines of an act are short and of our own making: too long would be a fault of ours, and nothing may stay.
  if (appended.kind === 'too_long') throw new Error('an administrative Line is too long')
  stageRequest(context, entry.envelope, entry.requestDigest, entry.request)
  const { line, lineHash, head } = appended
  return { callId, line: decodeUtf8(line), lineHash, head }
}

function toDrafts({ now, random }: ChainContext, entry: AdministrativeEntry) {
  const { refusal } = entry
  const callId = newId('call', random)
  const shared = {
    call_id: callId,
    tool_id: entry.toolId,
    request_digest: entry.requestDigest,
    ...(entry.agentId === undefined ? {} : { agent_id: entry.agentId }),
  }
  const intent: IntentDraft = { line_type: 'intent', ...shared }
  const outcome: OutcomeDraft = {
    line_type: 'outcome',
    ...shared,
    policy_set_hash: entry.policySetHash,
    policy: refusal === undefined ? { status: 'allowed' } : { status: 'denied', reason: refusal },
    capability: { status: 'denied', reason: 'administrative' },
    execution: refusal === undefined ? { status: 'success' } : { status: 'host_denied', reason: refusal },
    decision_axes: {
      decided_by: 'admin',
      actor: entry.actor,
      ...(entry.approvalRef === undefined ? {} : { approval_ref: entry.approvalRef }),
      ...entry.envelope,
      ...(entry.reasonText === undefined ? {} : { reason_text: entry.reasonText }),
    },
    decided_at: now,
  }
  return { callId, drafts: [intent, outcome] as const }
}
