/**
 * What Cedar's validator does not find (policy.md §3): an argument misspelt where a `has` or a short circuit hides
 * it, a policy that can never match, an absence that permits. Together with Cedar's own findings, whose warnings are
 * errors here. At publish and on an author's desk, never in an evaluation. Annotations, approvers and limits are
 * checked by policy.ts, also for a set that is opened to run.
 */
import { type JsonObject, type JsonValue, isJsonObject } from '../record/index.ts'
import { type Catalogue, type ToolAction, riskLevels } from './catalogue.ts'
import type { Engine } from './engine.ts'
import { accessOf, accessesOf, operandsOf, operatorOf, operatorsIn } from './expression.ts'
import { type Finding, suggest } from './finding.ts'
import { type Policy, appliesTo, cedarPolicy } from './policy.ts'
import { type LocatePolicy, type PolicySet, objectFile } from './policy-set.ts'
import { commonContext, principalAttributes, schemaJson } from './schema.ts'
import { trustLevels } from './trust.ts'

/**
 * @param locate where a policy stands in its author's files; without it findings point at the bundle object.
 */
export function validatePolicySet(
  policySet: PolicySet,
  engine: Engine,
  locate: LocatePolicy = () => ({ file: objectFile }),
): readonly Finding[] {
  const findings: Finding[] = []
  const { catalogue } = policySet
  const never = new Set<string>()
  if (policySet.policies.size === 0) {
    findings.push(
      toFinding(
        'warning',
        'no_policies',
        { file: objectFile },
        undefined,
        'there is no policy: everything is denied',
        'add one',
      ),
    )
  }
  for (const policy of policySet.policies.values()) {
    const reported = new Set<string>()
    const report: PolicyFindings = (severity, code, message, fix, word) => {
      // `has x && x > 1` names the same mistake twice.
      if (reported.has(message)) return
      reported.add(message)
      findings.push(toFinding(severity, code, locate(policy.id, word), policy.id, message, fix))
    }
    const actions = [...catalogue.actions.values()].filter((action) => isInScope(policy, action))
    const misnamed = checkScope(policy, catalogue, report)
    if (actions.length === 0) {
      never.add(policy.id)
      // A name that is not known is an error already, and the reason.
      if (!misnamed) {
        report(
          'warning',
          'never_matches',
          'applies to no action of the catalogue',
          'correct its head, or remove it',
        )
      }
    }
    checkAccesses(policy, actions, catalogue, report)
    checkComparisons(policy, catalogue, report)
    checkAbsences(policy, actions, report)
    checkResource(policy, actions, report)
  }
  findings.push(...cedarFindings(policySet, engine, never, locate))
  return findings
}

type PolicyFindings = (
  severity: Finding['severity'],
  code: string,
  message: string,
  fix: string,
  word?: string,
) => void

function toFinding(
  severity: Finding['severity'],
  code: string,
  at: Pick<Finding, 'file' | 'line'>,
  policyId: string | undefined,
  message: string,
  fix: string,
): Finding {
  return { severity, code, ...at, ...(policyId === undefined ? {} : { policyId }), message, fix }
}

/** Whether the policy can see this action, as the catalogue has it or tightened by a caller. */
function isInScope(policy: Policy, action: ToolAction): boolean {
  return appliesTo(policy.scope, action, action.mutatesState) || appliesTo(policy.scope, action, true)
}

/** Whether the head names an action that does not exist. */
function checkScope(policy: Policy, catalogue: Catalogue, report: PolicyFindings): boolean {
  if (policy.scope.kind === 'all') return false
  let misnamed = false
  const ids = policy.scope.kind === 'equal' ? [policy.scope.id] : policy.scope.ids
  const groups = Object.keys(schemaJson(catalogue)['']?.actions ?? {})
  for (const id of ids) {
    if (groups.includes(id)) {
      if (policy.scope.kind === 'equal' && !catalogue.actions.has(id)) {
        report(
          'error',
          'group_equals',
          `compares the action with the group ${id} by ==`,
          'write `action in`',
          id,
        )
      }
      continue
    }
    const meant = suggest(id, groups)
    const fix = meant === undefined ? 'add it to tools.json' : `did you mean Action::"${meant}"?`
    report('error', 'unknown_action', `names Action::"${id}", which the catalogue lacks`, fix, id)
    misnamed = true
  }
  return misnamed
}

/** Attributes of the context that are records, with their members. */
const contextRecords: Readonly<Record<string, readonly string[]>> = {
  fs: Object.keys(commonContext.fs.attributes),
  net: Object.keys(commonContext.net.attributes),
  user: Object.keys(commonContext.user.attributes),
}

function checkAccesses(
  policy: Policy,
  actions: readonly ToolAction[],
  catalogue: Catalogue,
  report: PolicyFindings,
): void {
  const bound = new Set(actions.flatMap((action) => action.args.map((binding) => binding.name)))
  for (const condition of conditionsOf(policy)) {
    for (const { root, path } of accessesOf(condition.body)) {
      const [first, second, third] = path
      if (root === 'resource' || root === 'action') {
        if (first !== undefined) unknown(report, `${root}.${first}`, [], first)
      } else if (root === 'principal') {
        if (first === undefined) continue
        const names = Object.keys(principalAttributes)
        if (!names.includes(first) || second !== undefined)
          unknown(report, `principal.${path.join('.')}`, names, first)
      } else if (first === undefined || (first === 'args' && second === undefined)) {
        const whole = ['context', ...path].join('.')
        // Through an alias, a misspelt argument would be found by nobody.
        report(
          'error',
          'used_as_a_whole',
          `uses ${whole} as a whole`,
          `name the attributes: ${whole}.…`,
          first,
        )
      } else if (first === 'args' && second !== undefined) {
        checkArgument(second, third, bound, actions, catalogue, report)
      } else {
        const names = [...Object.keys(commonContext), 'args']
        const inner = contextRecords[first] ?? []
        if (!names.includes(first)) unknown(report, `context.${first}`, names, first)
        else if (second !== undefined && !inner.includes(second)) {
          unknown(report, `context.${first}.${second}`, inner, second)
        } else if (third !== undefined) unknown(report, `context.${path.join('.')}`, [], third)
      }
    }
  }
}

function unknown(report: PolicyFindings, what: string, names: readonly string[], word: string): void {
  const meant = suggest(word, names)
  const known = names.length === 0 ? 'it has no attributes' : `known are ${names.join(', ')}`
  const fix = meant === undefined ? known : `did you mean \`${meant}\`?`
  report('error', 'unknown_attribute', `uses ${what}, which is never there`, fix, word)
}

function checkArgument(
  name: string,
  inner: string | undefined,
  bound: ReadonlySet<string>,
  actions: readonly ToolAction[],
  catalogue: Catalogue,
  report: PolicyFindings,
): void {
  if (inner !== undefined) {
    unknown(report, `context.args.${name}.${inner}`, [], inner)
    return
  }
  if (bound.has(name) || actions.length === 0) return
  const elsewhere = [...catalogue.actions.values()].find((action) =>
    action.args.some((binding) => binding.name === name),
  )
  const meant = suggest(name, bound)
  const fix =
    meant !== undefined
      ? `did you mean \`${meant}\`?`
      : elsewhere !== undefined
        ? `it is an argument of ${elsewhere.toolId}: widen the head of the policy, or bind it here too`
        : `bind it in tools.json; bound here are ${[...bound].sort().join(', ') || 'none'}`
  report(
    'error',
    'unknown_argument',
    `uses context.args.${name}, which no action in its scope binds`,
    fix,
    name,
  )
}

/** Attributes whose values are few and known: another text never equals one, and no type says so. */
const knownTexts: Readonly<Record<string, readonly string[]>> = {
  'context.source_trust': trustLevels,
  'context.risk_level': riskLevels,
  'context.net.scheme': ['http', 'https'],
  'principal.trust_max': trustLevels,
}

/** Comparisons that Cedar types and that are never true, and attributes of what is no path and so hides from above. */
function checkComparisons(policy: Policy, catalogue: Catalogue, report: PolicyFindings): void {
  for (const { body } of conditionsOf(policy)) {
    for (const [operator, operand] of operatorsIn(body)) {
      const { left, right } = operandsOf(operand)
      if ((operator === '.' || operator === 'has') && accessOf(left) === undefined) {
        const fix = 'begin with principal, action, resource or context'
        report('error', 'not_a_path', `tests an attribute of something else than a variable`, fix)
      }
      if (operator === 'contains') checkText(right, left, report)
      if (operator !== '==' && operator !== '!=') continue
      checkText(left, right, report)
      checkText(right, left, report)
      for (const side of [left, right]) {
        const id = actionIdOf(side)
        if (id === undefined || catalogue.actions.has(id)) continue
        report(
          'error',
          'group_equals',
          `compares with the group ${id} by ${operator}`,
          'write `action in`',
          id,
        )
      }
    }
  }
}

function checkText(
  attribute: JsonValue | undefined,
  compared: JsonValue | undefined,
  report: PolicyFindings,
): void {
  const access = accessOf(attribute)
  const name = access?.kind === 'read' ? [access.root, ...access.path].join('.') : ''
  const known = Object.hasOwn(knownTexts, name) ? knownTexts[name] : undefined
  if (known === undefined) return
  const operator = operatorOf(compared)
  const items = operator?.[0] === 'Set' && Array.isArray(operator[1]) ? operator[1] : [compared]
  for (const item of items as readonly (JsonValue | undefined)[]) {
    const literal = operatorOf(item)
    if (literal?.[0] !== 'Value' || typeof literal[1] !== 'string' || known.includes(literal[1])) continue
    const text = JSON.stringify(literal[1].slice(0, 64))
    const meant = suggest(literal[1], known)
    const fix = meant === undefined ? `it is one of ${known.join(', ')}` : `did you mean "${meant}"?`
    report('error', 'unknown_value', `compares ${name} with ${text}, which it never is`, fix, literal[1])
  }
}

/** The id of a literal action. */
function actionIdOf(expression: JsonValue | undefined): string | undefined {
  const literal = operatorOf(expression)
  const entity =
    literal?.[0] === 'Value' && isJsonObject(literal[1]) ? operandsOf(literal[1]['__entity'] ?? null) : {}
  return entity['type'] === 'Action' && typeof entity['id'] === 'string' ? entity['id'] : undefined
}

/** A permit that holds because an optional argument is missing: leaving it out would be the way around. */
function checkAbsences(policy: Policy, actions: readonly ToolAction[], report: PolicyFindings): void {
  if (policy.effect !== 'permit') return
  const warn = (name: string): void => {
    const required = actions.every((action) =>
      action.args.some((binding) => binding.name === name && binding.required),
    )
    if (required) return
    report(
      'warning',
      'absence_permits',
      `permits when context.args.${name} is absent`,
      'make the argument required in tools.json, or test for the absence in a forbid',
      name,
    )
  }
  for (const { kind, body } of conditionsOf(policy)) {
    if (kind === 'unless') for (const name of conjoinedPresence(body)) warn(name)
    for (const [operator, operand] of operatorsIn(body)) {
      if (operator !== '||') continue
      const { left, right } = operandsOf(operand)
      for (const side of [left, right]) {
        const name = negatedPresence(side)
        if (name !== undefined) warn(name)
      }
    }
  }
}

/** The argument of `!(context.args has x)`. */
function negatedPresence(expression: JsonValue | undefined): string | undefined {
  const operator = operatorOf(expression)
  return operator?.[0] === '!' ? presence(operandsOf(operator[1])['arg']) : undefined
}

/** The arguments whose absence makes a chain of && false. */
function conjoinedPresence(expression: JsonValue | undefined): readonly string[] {
  const operator = operatorOf(expression)
  if (operator?.[0] === '&&') {
    const { left, right } = operandsOf(operator[1])
    return [...conjoinedPresence(left), ...conjoinedPresence(right)]
  }
  const name = presence(expression)
  return name === undefined ? [] : [name]
}

function presence(expression: JsonValue | undefined): string | undefined {
  const access = accessOf(expression)
  const isArgument = access?.kind === 'has' && access.root === 'context' && access.path[0] === 'args'
  return isArgument ? access.path[1] : undefined
}

/** The id of a claimed resource is the caller's word. */
function checkResource(policy: Policy, actions: readonly ToolAction[], report: PolicyFindings): void {
  const claimed = actions.find((action) => action.resource.kind === 'claimed')
  if (claimed === undefined) return
  const constraint = policy.json['resource']
  const inHead = isJsonObject(constraint) && (constraint['op'] === '==' || constraint['op'] === 'in')
  const inBody = conditionsOf(policy).some(({ body }) =>
    accessesOf(body).some(({ root }) => root === 'resource'),
  )
  if (!inHead && !inBody) return
  const fix = 'derive the resource from arguments in tools.json, or test an argument instead'
  const message = `tests the resource, which for ${claimed.toolId} is what the caller claims`
  report('warning', 'claimed_resource', message, fix, 'resource')
}

function conditionsOf(policy: Policy): readonly { readonly kind: JsonValue; readonly body: JsonValue }[] {
  const { conditions } = policy.json
  if (!Array.isArray(conditions)) return []
  return (conditions as readonly JsonValue[]).flatMap((condition) => {
    const { kind, body } = isJsonObject(condition) ? condition : ({} as JsonObject)
    return kind === undefined || body === undefined ? [] : [{ kind, body }]
  })
}

/** Cedar's validator; its warnings are errors. A policy of ours that never matches is left to our own warning. */
function cedarFindings(
  policySet: PolicySet,
  engine: Engine,
  never: ReadonlySet<string>,
  locate: LocatePolicy,
): readonly Finding[] {
  const policies = [...policySet.policies.values()]
  const answer = engine.call((cedar) =>
    cedar.validate({
      schema: schemaJson(policySet.catalogue),
      policies: { staticPolicies: Object.fromEntries(policies.map((one) => [one.id, cedarPolicy(one)])) },
      validationSettings: { mode: 'strict' },
    }),
  )
  const whole = (message: string): Finding =>
    toFinding('error', 'cedar', { file: objectFile }, undefined, message, 'correct the bundle')
  if (!answer.ok) return [whole(`Cedar could not validate the set: ${answer.detail}`)]
  const { value } = answer
  if (value.type === 'failure') return value.errors.map((error) => whole(error.message))
  const found = [...value.validationErrors, ...value.validationWarnings].filter(
    ({ policyId }) => !never.has(policyId),
  )
  return [
    ...found.map(({ policyId, error }) =>
      toFinding(
        'error',
        'cedar',
        locate(policyId),
        policyId,
        cedarMessage(error.message),
        error.help ?? 'correct it',
      ),
    ),
    ...value.otherWarnings.map((warning) => whole(warning.message)),
  ]
}

/** Cedar begins its messages with the policy's id, which the finding has already. */
function cedarMessage(message: string): string {
  return message.replace(/^for policy `[^`]*`, /, '')
}
