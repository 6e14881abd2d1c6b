/**
 * `POST /v1/authorize` (authorize.md §2, §3): decides in this Worker, lets the tenant's object admit it, and decides
 * again when the object knows a newer state. Not a policy and not a record: src/policy decides, the object writes.
 */
import { Hono } from 'hono'
import type { AdmitResult, AuthorizeDraft } from '../../../durable-objects/rpc.ts'
import { type PolicySet, bodyBytesHardMax } from '../../policy/index.ts'
import { answerFromOutcome } from '../../protocol/index.ts'
import { readPublishedLine } from '../../archive/segments.ts'
import { type LineHash, decodeUtf8, parseLineObject, requestDigest, toDigest } from '../../record/index.ts'
import { answerJson, answerLimited, answerProblem, answerUnavailable } from '../answers.ts'
import type { Caller } from '../authenticate.ts'
import { type ReadCall, readCall } from '../call-request.ts'
import { type CallerState, clockOf } from '../caller-states.ts'
import { decideCall } from '../decide-call.ts'
import { describeAuthorize } from '../descriptions.ts'
import { requireCaller } from '../middleware/require-caller.ts'
import { requireJson } from '../middleware/require-json.ts'
import type { RequestContext, RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

/** A first decision, and two more when the tenant changes meanwhile (authorize.md §3 step 8). */
const attemptsMax = 3

export function authorizeRoute(services: Services): Hono<RequestScope> {
  return new Hono<RequestScope>().post(
    '/v1/authorize',
    describeAuthorize,
    requireJson(bodyBytesHardMax),
    requireCaller(services, ['agent']),
    (c) => authorize(services, c),
  )
}

async function authorize(services: Services, c: RequestContext): Promise<Response> {
  const caller = c.get('caller')
  const first = await loadSets(services, c, caller.tenant, caller.state)
  const read = await readCall(c, first.policySet?.settings.body_bytes_max)
  if (read.kind === 'answered') return read.response
  let { state } = caller
  let sets = first
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const draft = toDraft(services, c, caller.keyId, state, sets, read)
    // Without an agent's record the key stands for nobody.
    if (draft === undefined) return answerProblem(c, 'unauthorized')
    const result = await c.get('timing').measure('record', () => caller.chain.admit(draft))
    if (result.kind === 'archived') return answerArchived(services, c, caller, sets, draft, result)
    if (result.kind !== 'stale') return answerAdmitted(services, c, caller, sets, result)
    c.get('noted').stale = attempt
    state = services.callerStates.remember(caller.tenant, caller.keyId, result.current)
    sets = await loadSets(services, c, caller.tenant, state)
  }
  return answerProblem(c, 'still_stale')
}

interface Sets {
  readonly policySet?: PolicySet
  readonly shadow?: PolicySet
}

async function loadSets(
  { policySets }: Services,
  c: RequestContext,
  tenant: string,
  { current }: CallerState,
): Promise<Sets> {
  const { policySetHash, shadowHash } = current
  const [policySet, shadow] = await c
    .get('timing')
    .measure('policy', () =>
      Promise.all([policySets.get(tenant, policySetHash), policySets.get(tenant, shadowHash)]),
    )
  return { ...(policySet === undefined ? {} : { policySet }), ...(shadow === undefined ? {} : { shadow }) }
}

function toDraft(
  services: Services,
  c: RequestContext,
  keyId: string,
  state: CallerState,
  sets: Sets,
  { request, bytes }: Extract<ReadCall, { kind: 'call' }>,
): AuthorizeDraft | undefined {
  const { agent, revision, policySetHash } = state.current
  if (agent === undefined) return undefined
  const evaluatedAt = clockOf(state, services.now())
  const decided = c.get('timing').measureSync('decide', () =>
    decideCall(
      {
        request,
        agent,
        ...(policySetHash === undefined ? {} : { policySetHash }),
        ...sets,
        nowMs: evaluatedAt,
      },
      services,
    ),
  )
  const { requestId, timestamp, nonce } = request
  return {
    keyId,
    revision,
    evaluatedAt,
    requestDigest: requestDigest(bytes, services.digester),
    actionHash: decided.actionHash,
    request: bytes,
    ...(requestId === undefined ? {} : { requestId }),
    ...(timestamp === undefined ? {} : { timestamp }),
    // Without a timestamp it was refused above, and must not be kept.
    ...(nonce === undefined || timestamp === undefined ? {} : { nonce }),
    evaluation: decided.evaluation,
  }
}

/** A repeat whose Line was published: read from the segment, and only if it is the Line of these very bytes. */
async function answerArchived(
  services: Services,
  c: RequestContext,
  caller: Caller,
  sets: Sets,
  { requestDigest: digest }: AuthorizeDraft,
  result: Extract<AdmitResult, { kind: 'archived' }>,
): Promise<Response> {
  const { archive, digester } = services
  const line = await c
    .get('timing')
    .measure('archive', () => readPublishedLine(archive, caller.tenant, result, digester))
  const parsed = line === undefined ? undefined : parseLineObject(line)
  // After a recovery another Line may stand at that position: then nothing is known of this request.
  if (line === undefined || parsed?.ok !== true || parsed.value['request_digest'] !== digest) {
    return answerUnavailable(c, 'archive_failed')
  }
  const lineHash = toDigest<LineHash>(digester.sha256(line))
  const repeated = { kind: 'repeated', line: decodeUtf8(line), lineHash, now: result.now } as const
  return answerAdmitted(services, c, caller, sets, repeated)
}

function answerAdmitted(
  services: Services,
  c: RequestContext,
  caller: Caller,
  sets: Sets,
  result: Exclude<AdmitResult, { kind: 'stale' | 'archived' }>,
): Response {
  switch (result.kind) {
    case 'admitted':
    case 'repeated': {
      const showRules = sets.policySet?.settings.matched_rules_shown_to.includes('agent') ?? false
      const answer = answerFromOutcome(result, showRules)
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
    case 'unauthorized':
      services.callerStates.forget(caller.tenant, caller.keyId)
      return answerProblem(c, 'unauthorized')
    case 'unavailable':
      return answerUnavailable(c, result.code)
  }
}
