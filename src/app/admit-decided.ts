/**
 * From a decision to an answer, for authorize and consume alike: the tenant's object admits it, or knows a newer state,
 * and then it is decided again (authorize.md §3 step 8). Everything in the answer is made from the signed outcome.
 */
import type { AdmitResult, AuthorizeDraft } from '../../durable-objects/rpc.ts'
import { readPublishedLine } from '../archive/segments.ts'
import type { PolicySet } from '../policy/index.ts'
import { answerFromOutcome } from '../protocol/index.ts'
import { type LineHash, decodeUtf8, parseLineObject, toDigest } from '../record/index.ts'
import { answerJson, answerLimited, answerProblem, answerUnavailable } from './answers.ts'
import type { CallerState } from './caller-states.ts'
import type { RequestContext } from './request-scope.ts'
import type { Services } from './services.ts'

/** A first decision, and two more when the tenant changes meanwhile. */
const attemptsMax = 3

/** What a decision is made with. */
export interface Sets {
  readonly policySet?: PolicySet
  readonly shadow?: PolicySet
}

/**
 * @param toDraft decides under a state; `undefined` where the key stands for no agent.
 * @param first the sets for the caller's state, where they were read already.
 */
export async function admitDecided(
  services: Services,
  c: RequestContext,
  toDraft: (state: CallerState, sets: Sets) => AuthorizeDraft | undefined,
  first?: Sets,
): Promise<Response> {
  const { chain, tenant, keyId, state: known } = c.get('caller')
  let state = known
  let sets = first ?? (await loadSets(services, c, state))
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const draft = toDraft(state, sets)
    if (draft === undefined) return answerProblem(c, 'unauthorized')
    const result = await c.get('timing').measure('record', () => chain.admit(draft))
    if (result.kind === 'archived') return answerArchived(services, c, sets, draft, result)
    if (result.kind !== 'stale') return answerAdmitted(services, c, sets, result)
    c.get('noted').stale = attempt
    state = services.callerStates.remember(tenant, keyId, result.current)
    sets = await loadSets(services, c, state)
  }
  return answerProblem(c, 'still_stale')
}

/** The sets that are in force, and evaluated beside, in a state. */
export async function loadSets(
  { policySets }: Services,
  c: RequestContext,
  { current }: CallerState,
): Promise<Sets> {
  const { tenant } = c.get('caller')
  const { policySetHash, shadowHash } = current
  const [policySet, shadow] = await c
    .get('timing')
    .measure('policy', () =>
      Promise.all([policySets.get(tenant, policySetHash), policySets.get(tenant, shadowHash)]),
    )
  return { ...(policySet === undefined ? {} : { policySet }), ...(shadow === undefined ? {} : { shadow }) }
}

/** A repeat whose Line was published: read from the segment, and only if it is the Line of these very bytes. */
async function answerArchived(
  services: Services,
  c: RequestContext,
  sets: Sets,
  { requestDigest: digest }: AuthorizeDraft,
  result: Extract<AdmitResult, { kind: 'archived' }>,
): Promise<Response> {
  const { archive, digester } = services
  const { tenant } = c.get('caller')
  const line = await c
    .get('timing')
    .measure('archive', () => readPublishedLine(archive, tenant, result, digester))
  const parsed = line === undefined ? undefined : parseLineObject(line)
  // After a recovery another Line may stand at that position: then nothing is known of this request.
  if (line === undefined || parsed?.ok !== true || parsed.value['request_digest'] !== digest) {
    return answerUnavailable(c, 'archive_failed')
  }
  const lineHash = toDigest<LineHash>(digester.sha256(line))
  const repeated = { kind: 'repeated', line: decodeUtf8(line), lineHash, now: result.now } as const
  return answerAdmitted(services, c, sets, repeated)
}

/** What a consume is refused with when the approval cannot be used: a problem, and not a decision. */
const consumeRefusals = ['already_consumed', 'not_approved', 'expired', 'hash_mismatch', 'not_found'] as const

function answerAdmitted(
  services: Services,
  c: RequestContext,
  sets: Sets,
  result: Exclude<AdmitResult, { kind: 'stale' | 'archived' }>,
): Response {
  switch (result.kind) {
    case 'admitted':
    case 'repeated': {
      const showRules = sets.policySet?.settings.matched_rules_shown_to.includes('agent') ?? false
      const answer = answerFromOutcome(result, showRules)
      const refusal = consumeRefusals.find((code) => code === answer.reason.code)
      if (refusal !== undefined) {
        const { approvalState: state } = result
        const known = state === undefined ? {} : { state }
        return answerProblem(c, refusal, { callId: answer.call_id, ...known })
      }
      const noted = c.get('noted')
      noted.callId = answer.call_id
      noted.decision = answer.decision
      noted.code = answer.reason.code
      return answerJson(c, answer)
    }
    case 'conflict':
      return answerProblem(c, result.code)
    case 'limited':
      return answerLimited(c, result.limit, result.retryAfterMs, result.callId)
    case 'unauthorized': {
      const { tenant, keyId } = c.get('caller')
      services.callerStates.forget(tenant, keyId)
      return answerProblem(c, 'unauthorized')
    }
    case 'unavailable':
      return answerUnavailable(c, result.code)
  }
}
