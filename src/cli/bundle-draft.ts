/**
 * A starter bundle for drafted tools: careful policies that hold for any catalogue, and cases for both sides of each.
 * What is specific to the tools is left to their owner; docs/policies.md shows how.
 */
import type { JsonObject, JsonValue } from '../record/index.ts'
import { type DraftedCatalogue, type DraftedTool, draftCatalogue, guessRisk } from './catalogue-draft.ts'

const approvers = 'approvers'

const reads = `// Permits reads, whoever asks for them. REVIEW: some reads show what not everybody may see.

@id("reads")
@reason("reads are allowed")
permit (principal, action in Action::"reading", resource);
`

const internalChanges = `// Permits changes that your own systems ask for.

@id("internal-changes")
@reason("changes that our own systems ask for are allowed")
permit (principal, action in Action::"mutating", resource)
when { context.trust >= 4 };
`

const customerChanges = `// Permits changes that rest on what a customer said only once a person agreed.

@id("customer-changes")
@reason("a change that a customer asked for needs a person")
@decision("require_approval")
@approvers("${approvers}")
permit (principal, action in Action::"mutating", resource)
when { context.trust == 3 };
`

const untrustedChanges = `// Forbids changes that rest on text from outside: mails, web pages, results of other tools.

@id("untrusted-changes")
@reason("text from outside changes nothing")
forbid (principal, action in Action::"mutating", resource)
when { context.trust < 3 };
`

const graveChanges = (
  actions: readonly string[],
): string => `// Permits what is hard to take back only once a person agreed, whoever asks for it. REVIEW the list.

@id("grave-changes")
@reason("this is hard to take back: a person decides")
@decision("require_approval")
@approvers("${approvers}")
permit (
  principal,
  action in [
${actions.map((toolId) => `    Action::"${toolId}"`).join(',\n')}
  ],
  resource
)
when { context.trust >= 3 };
`

/** The files of the bundle, by their path in it. */
export function draftBundle(tools: readonly DraftedTool[]): ReadonlyMap<string, string> {
  const catalogue = draftCatalogue(tools)
  const reading = tools.filter((one) => !guessRisk(one).mutatesState)
  const changing = tools.filter((one) => guessRisk(one).mutatesState)
  const grave = changing.filter((one) => guessRisk(one).risk === 'high')
  const files = new Map<string, string>([
    ['tools.json', jsonText(catalogue)],
    [
      'settings.json',
      jsonText({ approver_groups: { [approvers]: { quorum: 1 } }, default_group: approvers }),
    ],
  ])
  // A policy about actions that do not exist is a finding, so that each is written only where it has some.
  if (reading.length > 0) files.set('reads.cedar', reads)
  if (changing.length > 0) {
    files.set('internal-changes.cedar', internalChanges)
    files.set('customer-changes.cedar', customerChanges)
    files.set('untrusted-changes.cedar', untrustedChanges)
  }
  if (grave.length > 0) files.set('grave-changes.cedar', graveChanges(grave.map(toolIdOf).sort()))
  files.set('cases/starter.json', jsonText(draftCases(catalogue, reading, changing)))
  return files
}

function toolIdOf({ tool, action }: DraftedTool): string {
  return `${tool}.${action}`
}

/** Both sides of each policy, for every action. */
function draftCases(
  catalogue: DraftedCatalogue,
  reading: readonly DraftedTool[],
  changing: readonly DraftedTool[],
): JsonValue {
  const toCase = (
    drafted: DraftedTool,
    name: string,
    trust: string,
    expect: JsonObject,
    agent?: JsonObject,
  ): JsonObject => ({
    name: `${toolIdOf(drafted)}: ${name}`,
    ...(agent === undefined ? {} : { agent }),
    request: {
      tool_call: {
        tool: drafted.tool,
        action: drafted.action,
        mutates_state: guessRisk(drafted).mutatesState,
        parameters: sampleParameters(catalogue, drafted),
      },
      context: { source_trust: trust },
    },
    expect,
  })
  const internal = { trust_max: 'trusted_internal_signed' }
  return [
    ...reading.map((one) =>
      toCase(one, 'a read', 'untrusted_external', { decision: 'allow', matched_rules: ['reads'] }),
    ),
    ...changing.flatMap((one) => {
      const isGrave = guessRisk(one).risk === 'high'
      const alsoGrave = isGrave ? ['grave-changes'] : []
      return [
        toCase(one, 'for a customer', 'semi_trusted_customer', {
          decision: 'require_approval',
          matched_rules: ['customer-changes', ...alsoGrave],
          groups: [approvers],
        }),
        toCase(one, 'because a text from outside said so', 'untrusted_external', {
          decision: 'deny',
          matched_rules: ['untrusted-changes'],
        }),
        toCase(
          one,
          'from inside',
          'trusted_internal_unsigned',
          {
            decision: isGrave ? 'require_approval' : 'allow',
            matched_rules: [...alsoGrave, 'internal-changes'],
          },
          internal,
        ),
      ]
    }),
  ]
}

/** Arguments that satisfy the required bindings of the entry, and say nothing. */
function sampleParameters(catalogue: DraftedCatalogue, { tool, action }: DraftedTool): JsonObject {
  const parameters: Record<string, JsonValue> = {}
  for (const [name, binding] of Object.entries(catalogue[tool]?.[action]?.args ?? {})) {
    const { aggregate, at, required, type = 'string' } = binding
    if (required !== true) continue
    const steps = at.slice(1).split('/').map(fromPointer)
    const each = steps.indexOf('*')
    const value = sampleValue(name, type)
    if (each < 0) put(parameters, steps, value)
    else if (aggregate === 'count') put(parameters, steps.slice(0, each), [])
    else addElement(parameters, steps.slice(0, each), steps[each + 1] ?? '', value)
  }
  return parameters
}

function sampleValue(name: string, type: string): JsonValue {
  if (name === 'fs.path') return '/example'
  if (name === 'net.url') return 'https://example.com/'
  switch (type) {
    case 'boolean':
      return false
    case 'integer':
    case 'decimal':
      return 1
    case 'set<string>':
      return ['example']
    default:
      return 'example'
  }
}

function fromPointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}

function put(target: Record<string, JsonValue>, steps: readonly string[], value: JsonValue): void {
  const [first = '', ...rest] = steps
  if (rest.length > 0) {
    const inner = { ...(target[first] as JsonObject | undefined) }
    put(inner, rest, value)
    define(target, first, inner)
  } else if (!Object.hasOwn(target, first)) define(target, first, value)
}

/** Several numbers of one array's elements stand in one element; a count of them is satisfied by it. */
function addElement(
  target: Record<string, JsonValue>,
  steps: readonly string[],
  member: string,
  value: JsonValue,
): void {
  const [name = ''] = steps
  const items = target[name]
  const [element] = Array.isArray(items) ? (items as readonly JsonValue[]) : []
  define(target, name, [{ ...(element as JsonObject | undefined), [member]: value }])
}

/** An own member whatever its name. */
function define(target: Record<string, JsonValue>, name: string, value: JsonValue): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}

/** JSON as people edit it. */
export function jsonText(value: JsonValue): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
