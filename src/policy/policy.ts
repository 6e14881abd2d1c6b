/**
 * One policy as the bundle object holds it: Cedar's JSON, and what we read from its annotations and its scope
 * (policy.md §3, §4). Structure only, without Cedar: the rules here hold also for a set that is opened to run.
 * What its conditions may say: validate.ts.
 */
import type { PolicyJson } from '@cedar-policy/cedar-wasm/web'
import { type JsonObject, type JsonValue, encodeUtf8, isJsonObject } from '../record/index.ts'
import type { ToolAction } from './catalogue.ts'
import { suggest } from './finding.ts'
import { guardPolicyJson } from './guard.ts'
import { actionGroups } from './request.ts'
import { type Settings, groupName, quorumMax } from './settings.ts'

export interface Policy {
  readonly id: string
  readonly effect: 'permit' | 'forbid'
  readonly json: JsonObject
  /** From `@decision("require_approval")`. No group named: the default group. */
  readonly approval?: { readonly groups: readonly string[]; readonly quorum?: number }
  readonly reason?: string
  readonly scope: ActionScope
}

/** The actions that a policy's head lets through. A head that is not understood lets everything through. */
export type ActionScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'equal'; readonly id: string }
  | { readonly kind: 'in'; readonly ids: readonly string[] }

/** Takes a problem of the policy at hand; `word` is what to look for in its text. */
export type PolicyReport = (code: string, message: string, fix: string, word?: string) => void

const annotationNames = ['id', 'decision', 'approvers', 'quorum', 'reason', 'note'] as const
const policyId = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
/** `decision_axes.reason_text` has 512 bytes; a reason that fits is recorded whole. */
export const reasonBytesMax = 512

/** Reads a policy and reports every problem; the result is usable only when there was none. */
export function readPolicy(id: string, json: JsonObject, settings: Settings, report: PolicyReport): Policy {
  if (!policyId.test(id)) {
    const fix = 'use letters, digits and . _ : -, at most 128, beginning with a letter or digit'
    report('bad_id', `has the id ${JSON.stringify(id.slice(0, 140))}`, fix, 'id')
  }
  const problem = guardPolicyJson(json)
  if (problem !== undefined) report(problem.code, problem.message, problem.fix)
  const effect = json['effect'] === 'permit' ? 'permit' : 'forbid'
  if (json['effect'] !== effect) report('malformed', 'has no effect', 'write Cedar’s JSON form')
  for (const side of ['principal', 'resource']) {
    const constraint = json[side]
    if (isJsonObject(constraint) && hasSlot(constraint)) {
      report('template', 'is a template', 'write a policy without ?principal and ?resource', `?${side}`)
    }
  }
  const annotations = readAnnotations(id, json['annotations'], report)
  const approval = readApproval(effect, annotations, settings, report)
  const reason = annotations.get('reason')
  return {
    id,
    effect,
    json,
    ...(approval === undefined ? {} : { approval }),
    ...(reason === undefined ? {} : { reason }),
    scope: readScope(json['action']),
  }
}

/** The policy for the engine; its shape is judged by Cedar itself. */
export function cedarPolicy(policy: Policy): PolicyJson {
  return policy.json as unknown as PolicyJson
}

function readAnnotations(
  id: string,
  value: JsonValue | undefined,
  report: PolicyReport,
): ReadonlyMap<string, string> {
  const annotations = new Map<string, string>()
  const object = isJsonObject(value) ? value : {}
  for (const [name, text] of Object.entries(object)) {
    if (!annotationNames.some((known) => known === name)) {
      const meant = suggest(name, annotationNames)
      const fix =
        meant === undefined ? `only @${annotationNames.join(' @')} mean anything` : `did you mean @${meant}?`
      report('unknown_annotation', `has @${name}, which means nothing`, fix, name)
    } else if (typeof text === 'string') annotations.set(name, text)
    else report('empty_annotation', `has @${name} without a value`, `write @${name}("…")`, name)
  }
  if (annotations.get('id') !== id) report('missing_id', 'has no @id of its own', 'add @id("…")')
  const reason = annotations.get('reason')
  if (reason !== undefined && (encodeUtf8(reason)?.length ?? Number.POSITIVE_INFINITY) > reasonBytesMax) {
    report('reason_too_long', 'has a @reason over 512 bytes', 'shorten it, or use @note', 'reason')
  }
  return annotations
}

function readApproval(
  effect: Policy['effect'],
  annotations: ReadonlyMap<string, string>,
  settings: Settings,
  report: PolicyReport,
): Policy['approval'] {
  const decision = annotations.get('decision')
  if (decision === undefined) {
    for (const name of ['approvers', 'quorum']) {
      if (!annotations.has(name)) continue
      report(
        'approval_without_decision',
        `has @${name} without @decision`,
        'add @decision("require_approval")',
        name,
      )
    }
    return undefined
  }
  if (decision !== 'require_approval') {
    const fix = 'the only value is @decision("require_approval")'
    report('unknown_decision', `has @decision(${JSON.stringify(decision.slice(0, 64))})`, fix, 'decision')
  }
  if (effect === 'forbid') {
    const fix = 'a forbid denies: take the annotation away, or make it a permit'
    report('decision_on_forbid', 'has @decision on a forbid, where it would mean nothing', fix, 'decision')
  }
  const groups = readGroups(annotations.get('approvers'), settings, report)
  if (groups.length === 0 && settings.default_group === undefined) {
    const fix = 'add @approvers("group"), or `default_group` to settings.json'
    report('no_approver_group', 'requires approval and names no group', fix, 'decision')
  }
  const text = annotations.get('quorum')
  if (text === undefined) return { groups }
  const quorum = /^[1-9]\d?$/.test(text) ? Number(text) : 0
  if (quorum < 1 || quorum > quorumMax) {
    report('bad_quorum', 'has a @quorum that is not 1 to 20', 'write @quorum("2")', 'quorum')
  }
  return { groups, quorum }
}

function readGroups(text: string | undefined, settings: Settings, report: PolicyReport): readonly string[] {
  if (text === undefined) return []
  const groups = [...new Set(text.split(',').map((name) => name.trim()))].sort()
  const known = Object.keys(settings.approver_groups)
  for (const name of groups) {
    const group = Object.hasOwn(settings.approver_groups, name) ? settings.approver_groups[name] : undefined
    if (groupName.test(name) && group !== undefined && group.quorum >= 1) continue
    const meant = suggest(name, known)
    const fix =
      meant === undefined ? 'add it to `approver_groups` in settings.json' : `did you mean ${meant}?`
    report(
      'unknown_group',
      `names the approver group ${JSON.stringify(name.slice(0, 64))}, which settings lack`,
      fix,
      'approvers',
    )
  }
  return groups
}

/** A slot is a member, here or within the `in` of an `is`; a role may well be called so. */
function hasSlot(constraint: JsonObject): boolean {
  const inner = constraint['in']
  return Object.hasOwn(constraint, 'slot') || (isJsonObject(inner) && hasSlot(inner))
}

function readScope(action: JsonValue | undefined): ActionScope {
  // With `entity` and `entities` both, Cedar reads one of them: a set that was not written by us may hold that.
  if (!isJsonObject(action) || Object.keys(action).length !== 2) return { kind: 'all' }
  if (action['op'] === '==') {
    const id = actionId(action['entity'])
    return id === undefined ? { kind: 'all' } : { kind: 'equal', id }
  }
  if (action['op'] !== 'in') return { kind: 'all' }
  const listed = Array.isArray(action['entities'])
    ? (action['entities'] as readonly JsonValue[])
    : [action['entity']]
  const ids = listed.map(actionId)
  return ids.every((id) => id !== undefined) ? { kind: 'in', ids } : { kind: 'all' }
}

function actionId(value: JsonValue | undefined): string | undefined {
  if (!isJsonObject(value)) return undefined
  const entity = isJsonObject(value['__entity']) ? value['__entity'] : value
  return entity['type'] === 'Action' && typeof entity['id'] === 'string' ? entity['id'] : undefined
}

/** Whether the policy's head can let this action through. Never false for one that it does (held by a test). */
export function appliesTo(scope: ActionScope, action: ToolAction, mutatesState: boolean): boolean {
  switch (scope.kind) {
    case 'all':
      return true
    case 'equal':
      return scope.id === action.toolId
    case 'in':
      return (
        scope.ids.includes(action.toolId) ||
        actionGroups(action, mutatesState).some((group) => scope.ids.includes(group))
      )
  }
}
