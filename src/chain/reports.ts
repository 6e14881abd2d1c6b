/**
 * Reports (SPEC.md §4.10): what the agent says came of its grant, once, until a day after the grant has expired; and the
 * grants of which nothing was said. A report is the caller's statement, and changes nothing that a decision reads.
 */
import {
  type ExecutionStatus,
  type IntentDraft,
  type LineHash,
  type OutcomeDraft,
  type RequestDigest,
  type ResponseDigest,
  decodeUtf8,
  noPolicySet,
} from '../record/index.ts'
import { append } from './append.ts'
import { leaveToRead } from './consult.ts'
import { envelopeNote, stageRequest } from './envelopes.ts'
import { newId } from './ids.ts'
import { readLiveKey } from './key.ts'
import type { ChainContext } from './ports.ts'
import type { GrantRecord } from './records.ts'
import { countRefusedAct } from './refusals.ts'
import { type Unavailable, unavailable } from './unavailable.ts'

/** How long after its end a grant may be reported. */
const reportWithinMs = 24 * 60 * 60 * 1000

export interface ReportAct {
  readonly keyId: string
  readonly callId: string
  readonly grantId: string
  readonly execution: Exclude<ExecutionStatus, { readonly status: 'delegated' }>
  readonly responseDigest?: ResponseDigest
  readonly wallMs?: number
  /** The request's body, verbatim, and its SHA-256. */
  readonly request: Uint8Array
  readonly requestDigest: RequestDigest
}

export type ReportRefusal = 'not_found' | 'already_reported' | 'report_too_late'

export type ReportResult =
  | { readonly kind: 'reported'; readonly callId: string; readonly line: string; readonly lineHash: LineHash }
  /** Recorded, and nothing changed. */
  | { readonly kind: 'refused'; readonly code: ReportRefusal; readonly callId: string }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unauthorized' }
  | Unavailable

/** One report in its own transaction. */
export function report(context: ChainContext, act: ReportAct): ReportResult {
  const { store, now, random } = context
  return store.transaction(() => {
    const leave = leaveToRead(context, act.keyId, ['agent'])
    if (leave.kind !== 'granted') return leave
    const tenant = store.readTenant()
    const agentId = readLiveKey(context, act.keyId, ['agent'])?.agentId
    if (tenant === undefined || agentId === undefined) return { kind: 'unauthorized' }
    if (!store.hasRoom()) return unavailable('storage_full')
    const grant = store.readGrant(agentId, act.grantId, now)
    const code = refusalOf(grant, act, now)
    if (code !== undefined) {
      const retryAfterMs = countRefusedAct(context, tenant, agentId)
      if (retryAfterMs !== undefined) return { kind: 'limited', retryAfterMs }
    }
    const callId = newId('call', random)
    const shared = {
      call_id: callId,
      tool_id: 'aegis/report',
      request_digest: act.requestDigest,
      agent_id: agentId,
    }
    const intent: IntentDraft = { line_type: 'intent', ...shared }
    const envelope = envelopeNote(context, tenant, act.requestDigest)
    const isTheirs = grant !== undefined && grant.callId === act.callId
    const outcome: OutcomeDraft = {
      line_type: 'outcome',
      ...shared,
      policy_set_hash: tenant.policySetHash ?? noPolicySet,
      policy: code === undefined ? { status: 'allowed' } : { status: 'denied', reason: code },
      capability: { status: 'denied', reason: 'report' },
      execution: code === undefined ? act.execution : { status: 'host_denied', reason: code },
      // Of a grant that is not this agent's, no more than the agent said itself.
      grant_id: act.grantId,
      ...(act.responseDigest === undefined ? {} : { response_digest: act.responseDigest }),
      ...(act.wallMs === undefined ? {} : { wall_ms: act.wallMs }),
      decision_axes: {
        decided_by: 'report',
        call_ref: act.callId,
        ...(isTheirs ? { authorized_digest: grant.requestDigest } : {}),
        ...envelope,
      },
      decided_at: now,
    }
    const stored = store.readHead()
    const appended = append(context, tenant, stored, stored, [intent, outcome])
    if (appended.kind === 'too_long') return unavailable('line_too_long')
    stageRequest(context, envelope, act.requestDigest, act.request)
    if (code !== undefined) return { kind: 'refused', code, callId }
    store.markReported(agentId, act.grantId, now)
    return { kind: 'reported', callId, line: decodeUtf8(appended.line), lineHash: appended.lineHash }
  })
}

function refusalOf(
  grant: GrantRecord | undefined,
  { callId }: ReportAct,
  now: number,
): ReportRefusal | undefined {
  if (grant === undefined || grant.callId !== callId) return 'not_found'
  if (grant.reported) return 'already_reported'
  return now > grant.expiresAt + reportWithinMs ? 'report_too_late' : undefined
}

export type GrantsResult =
  | { readonly kind: 'grants'; readonly grants: readonly GrantRecord[]; readonly next?: string }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unauthorized' }
  | Unavailable

const grantsPerPage = 200

/** The agent's own grants that expired and were not reported, from the one behind `after`. */
export function listUnreported(context: ChainContext, keyId: string, after: string): GrantsResult {
  const { store, now } = context
  const leave = leaveToRead(context, keyId, ['agent'])
  if (leave.kind !== 'granted') return leave
  const agentId = readLiveKey(context, keyId, ['agent'])?.agentId
  if (agentId === undefined) return { kind: 'unauthorized' }
  const grants = store.listUnreported(agentId, after, now, grantsPerPage)
  const last = grants.at(-1)
  return {
    kind: 'grants',
    grants,
    ...(grants.length < grantsPerPage || last === undefined ? {} : { next: last.grantId }),
  }
}
