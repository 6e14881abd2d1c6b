/**
 * The Cedar engine of one isolate or process (policy.md §5): one wasm instance, a bounded number of preparsed sets,
 * recovery from traps. Whatever goes wrong inside comes back as `failed`, which is a deny; a set that traps loses
 * its own answers and nobody else's. What is evaluated, and what the answer means, is for slice.ts and decide.ts.
 */
import type { AuthorizationAnswer, PolicyJson } from '@cedar-policy/cedar-wasm/web'
import { type CedarInstance, type WasmModule, instantiateCedar, isTrap } from './glue.ts'
import type { CedarRequest } from './request.ts'

/** The name that the record gives to what evaluated; a test holds the version to the package's. */
export const evaluator = 'aegis-edge 1, cedar 4.13.0'

/** Policies that are evaluated together: a whole set, or the part of one that an action needs. */
export interface PolicyGroup {
  /** Names the content: two groups with one key hold the same policies. */
  readonly key: string
  /** In usual policies: a large one counts for several. */
  readonly size: number
  readonly policies: () => Record<string, PolicyJson>
}

export type EngineAnswer =
  | {
      readonly kind: 'answered'
      readonly allow: boolean
      /** Ids of the determining policies, sorted. */
      readonly determining: readonly string[]
      /** Ids of the policies whose evaluation errored, sorted. */
      readonly errored: readonly string[]
    }
  | { readonly kind: 'failed'; readonly detail: string }

/** A call's value, or why there is none; after a trap the instance is a new one. */
export type EngineCall<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly detail: string }

/**
 * 4.3 KiB of wasm memory a policy, which never shrinks: 8,000 policies are 34 MB of the 50 MB that an isolate of
 * 128 MB can spare. 256 slots hold 80 tenants' hot actions.
 */
const slotsMax = 256
const policiesHeldMax = 8_000
/** A group that trapped this often is not tried again: each time costs every other tenant its preparsed sets. */
const trapsMax = 2
const quarantineMax = 1_000

export interface Engine {
  /** Evaluates a request against a group; preparses the group when it is not held. Never throws. */
  readonly authorize: (group: PolicyGroup, request: CedarRequest) => EngineAnswer
  /** Any other call of the instance, for authoring. Never throws. */
  readonly call: <T>(run: (cedar: CedarInstance) => T) => EngineCall<T>
  /** For health answers and tests. */
  readonly state: () => {
    readonly slots: number
    readonly policies: number
    readonly rebuilt: number
  }
}

/**
 * @param host.module the compiled wasm of `@cedar-policy/cedar-wasm/web`: imported by path in workerd, read from
 *   disk in Node. It is instantiated at the first call, not here: a Worker may not do that at start-up.
 */
export function createEngine(host: { readonly module: WasmModule }): Engine {
  let instance: CedarInstance | undefined
  let rebuilt = 0
  let held = 0
  let named = 0
  /** Least recently used first. */
  const slots = new Map<string, { readonly name: string; readonly size: number }>()
  const freeNames: string[] = []
  const traps = new Map<string, number>()

  const drop = (): void => {
    instance = undefined
    rebuilt += 1
    slots.clear()
    freeNames.length = 0
    held = 0
    named = 0
  }

  const call = <T>(run: (cedar: CedarInstance) => T): EngineCall<T> => {
    try {
      instance ??= instantiateCedar(host.module)
      return { ok: true, value: run(instance) }
    } catch (thrown) {
      // A trap leaves the instance answering nothing. Any other exception was measured to leave it alive, but an
      // instance that fails for a reason we do not know is not worth keeping for a millisecond.
      if (isTrap(thrown) || !(thrown instanceof Error)) drop()
      return { ok: false, detail: isTrap(thrown) ? 'the engine trapped' : 'the engine refused its input' }
    }
  }

  const evictOldest = (): boolean => {
    const oldest = slots.entries().next()
    if (oldest.done === true) return false
    const [key, slot] = oldest.value
    slots.delete(key)
    held -= slot.size
    // There is no call to drop a set: an empty one in its place frees the memory.
    call((cedar) => cedar.preparsePolicySet(slot.name, {}))
    freeNames.push(slot.name)
    return true
  }

  /** The slot's name, or why the group could not be preparsed. */
  const hold = (group: PolicyGroup): EngineCall<string> => {
    const slot = slots.get(group.key)
    if (slot !== undefined) {
      slots.delete(group.key)
      slots.set(group.key, slot)
      return { ok: true, value: slot.name }
    }
    while (slots.size >= slotsMax || held + group.size > policiesHeldMax) if (!evictOldest()) break
    const name = freeNames.pop() ?? `slot${String(named++)}`
    const answer = call((cedar) => cedar.preparsePolicySet(name, { staticPolicies: group.policies() }))
    if (!answer.ok || answer.value.type === 'failure') {
      // After a trap the names begin anew; otherwise this one still holds nothing.
      if (answer.ok) freeNames.push(name)
      return { ok: false, detail: answer.ok ? 'the policies do not parse' : answer.detail }
    }
    slots.set(group.key, { name, size: group.size })
    held += group.size
    return { ok: true, value: name }
  }

  const countTrap = (key: string): void => {
    if (traps.size >= quarantineMax) traps.delete(traps.keys().next().value ?? '')
    traps.set(key, (traps.get(key) ?? 0) + 1)
  }

  const authorize = (group: PolicyGroup, request: CedarRequest): EngineAnswer => {
    if ((traps.get(group.key) ?? 0) >= trapsMax) {
      return { kind: 'failed', detail: 'these policies broke the engine before' }
    }
    const before = rebuilt
    const slot = hold(group)
    const answer = slot.ok
      ? call((cedar) =>
          cedar.statefulIsAuthorized({
            ...request,
            preparsedPolicySetId: slot.value,
            validateRequest: false,
          }),
        )
      : slot
    if (rebuilt !== before) countTrap(group.key)
    return answer.ok ? readAnswer(answer.value) : { kind: 'failed', detail: answer.detail }
  }

  return {
    authorize,
    call,
    state: () => ({ slots: slots.size, policies: held, rebuilt }),
  }
}

function readAnswer(answer: AuthorizationAnswer): EngineAnswer {
  if (answer.type !== 'success') return { kind: 'failed', detail: 'the engine refused the request' }
  const { decision, diagnostics } = answer.response
  if (decision !== 'allow' && decision !== 'deny') {
    return { kind: 'failed', detail: 'the engine gave no decision that is known' }
  }
  return {
    kind: 'answered',
    allow: decision === 'allow',
    determining: [...diagnostics.reason].sort(),
    errored: [...new Set(diagnostics.errors.map((error) => error.policyId))].sort(),
  }
}
