/**
 * The request that a Line recorded, read back and guarded before the engine sees it (SPEC.md §10). What we record has
 * passed the limits of bindings and requests; a Chain of someone else holds anything, so that each limit is asked for
 * again here: an honest Line always passes, a hostile one costs no more than an honest one. Not for judging: redecide.ts.
 */
import type { DecisionAxes, RecordedPrincipal, TaggedValue } from '../record/index.ts'
import type { AgentRecord, TaggedRequest } from './request.ts'
import { parseTrust } from './trust.ts'
import { elementsMax, fitsString } from './value.ts'

/** Values of one request: 16 KiB of arguments as a set of one-letter strings are 4,096; the rest of a request is small. */
const valuesMax = 8_192
/** `context`, `args` or `user` in it, a set in that, its elements; a level to spare for what others may record. */
const levelsMax = 6

/**
 * The tagged request of recorded axes.
 *
 * @param toolId the Line's `tool_id`: an action of another name was not evaluated by us.
 * @returns undefined when a part of it is missing, or is not what this software records.
 */
export function recordedRequest(axes: DecisionAxes, toolId: string): TaggedRequest | undefined {
  const { principal, action, context } = axes
  const resource = axes.resource ?? { type: 'Resource', id: '' }
  if (principal === undefined || action === undefined || context === undefined) return undefined
  // Type names are parsed as Cedar text, which deep nesting traps: only our own reach it.
  if (action.type !== 'Action' || action.id !== toolId || resource.type !== 'Resource') return undefined
  if (!isRecordedPrincipal(principal) || !fitsString(resource.id) || !fitsString(action.id)) return undefined
  return fitsEngine([context, principal.attrs]) ? { principal, action, resource, context } : undefined
}

/** The agent's record that a principal was made from; undefined when it was not made by us. */
export function recordedAgent(principal: RecordedPrincipal): AgentRecord | undefined {
  const { id, attrs, parents } = principal
  const { environment, owner } = attrs
  const riskTier = attrs['risk_tier']
  const forceApproval = attrs['force_approval']
  const trustMax = parseTrust(attrs['trust_max'])
  if (typeof environment !== 'string' || typeof owner !== 'string' || typeof riskTier !== 'string') {
    return undefined
  }
  if (typeof forceApproval !== 'boolean' || trustMax === undefined) return undefined
  if (!isRecordedPrincipal(principal) || !fitsEngine([attrs])) return undefined
  const roles = parents.map((parent) => parent.id)
  return { id, roles, environment, owner, riskTier, trustMax, forceApproval }
}

function isRecordedPrincipal({ type, id, parents }: RecordedPrincipal): boolean {
  return (
    type === 'Agent' &&
    fitsString(id) &&
    parents.length <= elementsMax &&
    parents.every((parent) => parent.type === 'Role' && fitsString(parent.id))
  )
}

/** Whether values are within what bindings let through: strings of 2,048 bytes, 256 elements, few levels. */
function fitsEngine(values: readonly { readonly [name: string]: TaggedValue }[]): boolean {
  let seen = 0
  const open: [unknown, number][] = values.map((value) => [value, 1])
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, level] = next
    seen += 1
    if (seen > valuesMax) return false
    if (typeof value === 'string') {
      if (!fitsString(value)) return false
      continue
    }
    if (typeof value !== 'object' || value === null) continue
    if (level > levelsMax) return false
    if (Array.isArray(value)) {
      if (value.length > elementsMax) return false
      for (const item of value as readonly unknown[]) open.push([item, level + 1])
      continue
    }
    const members = Object.entries(value)
    if (members.length > elementsMax) return false
    for (const [name, member] of members) {
      if (!fitsString(name)) return false
      open.push([member, level + 1])
    }
  }
  return true
}
