/**
 * Entries of a tool catalogue, guessed: from a tool's name what it risks and whether it changes state, from its arguments
 * their bindings. A guess errs on the side of asking a human, and its note says that it is one. The author decides.
 */
import { type ArgumentFact, isNumber } from './argument-facts.ts'

/** A tool as a schema or a history shows it. */
export interface DraftedTool {
  readonly tool: string
  readonly action: string
  readonly facts: readonly ArgumentFact[]
  /** What the arguments were learned from: "its schema", "12 calls". */
  readonly source: string
  /** What the tool's author says about it (MCP annotations): hints, not facts. */
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
}

export type GuessedRisk = 'low' | 'medium' | 'high'

export interface Guess {
  readonly risk: GuessedRisk
  readonly mutatesState: boolean
  /** Why, for the note. */
  readonly because: string
}

const readingVerbs = words(
  'browse calculate check compare count describe diff fetch find get grep head help inspect list look lookup ls open preview query read resolve retrieve search show stat status summarize tail think validate verify view',
)
const graveVerbs = words(
  'approve bash cancel charge delete deploy destroy disable drop eval exec execute grant invite kill merge pay publish purge refund release remove reset revoke rotate run sell send shell sudo terminate transfer trigger withdraw',
)
const secretNames =
  /(^|_)(api_?key|auth|card|cvv|dob|email|iban|passport|passwd|password|payment_id|phone|secret|ssn|token)(_|$)/i

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}

/** What a tool's name and hints suggest. A name that says nothing changes state. */
export function guessRisk(drafted: Pick<DraftedTool, 'action' | 'readOnlyHint' | 'destructiveHint'>): Guess {
  const parts = drafted.action.split(/[^a-z0-9]+/i).map((part) => part.toLowerCase())
  const grave = parts.find((part) => graveVerbs.has(part))
  // A grave verb anywhere outweighs a reading one in front: get_and_delete.
  if (grave !== undefined) return { risk: 'high', mutatesState: true, because: `the name says ${grave}` }
  if (drafted.destructiveHint === true) {
    return { risk: 'high', mutatesState: true, because: 'its author says that it is destructive' }
  }
  const [first = ''] = parts
  if (drafted.readOnlyHint === true) {
    return { risk: 'low', mutatesState: false, because: 'its author says that it only reads' }
  }
  if (readingVerbs.has(first)) return { risk: 'low', mutatesState: false, because: `the name says ${first}` }
  return { risk: 'medium', mutatesState: true, because: 'the name does not say that it only reads' }
}

/** A binding as `tools.json` has it. */
export type DraftedBinding = {
  readonly at: string
  readonly type?: string
  readonly aggregate?: 'sum' | 'count'
  readonly required?: true
  readonly record?: 'digest'
}

/** An entry as `tools.json` has it. */
export type DraftedEntry = {
  readonly risk: GuessedRisk
  readonly mutates_state: boolean
  readonly args?: { readonly [name: string]: DraftedBinding }
  readonly note: string
}

/** As many bindings as an entry may have, and far more than anybody reviews. */
const bindingsMax = 32

/** An entry of `tools.json` for the action. */
function draftEntry(drafted: DraftedTool): DraftedEntry {
  const guess = guessRisk(drafted)
  const args: Record<string, DraftedBinding> = {}
  for (const fact of drafted.facts) {
    const binding = draftBinding(fact, args)
    if (binding !== undefined && Object.keys(args).length < bindingsMax) args[binding.name] = binding.object
  }
  return {
    risk: guess.risk,
    mutates_state: guess.mutatesState,
    ...(Object.keys(args).length === 0 ? {} : { args }),
    note: `REVIEW: guessed, because ${guess.because}; arguments from ${drafted.source}.`,
  }
}

export type DraftedCatalogue = { readonly [tool: string]: { readonly [action: string]: DraftedEntry } }

/** A catalogue with an entry an action. */
export function draftCatalogue(tools: readonly DraftedTool[]): DraftedCatalogue {
  const catalogue: Record<string, Record<string, DraftedEntry>> = {}
  for (const drafted of tools) (catalogue[drafted.tool] ??= {})[drafted.action] = draftEntry(drafted)
  return catalogue
}

interface NamedBinding {
  readonly name: string
  readonly object: DraftedBinding
}

function draftBinding(
  fact: ArgumentFact,
  taken: Readonly<Record<string, DraftedBinding>>,
): NamedBinding | undefined {
  const { kind, steps } = fact
  const required = fact.required ? ({ required: true } as const) : {}
  const at = `/${steps.map(pointerStep).join('/')}`
  if ((kind === 'path' || kind === 'url') && steps.length === 1) {
    const name = kind === 'path' ? 'fs.path' : 'net.url'
    if (!Object.hasOwn(taken, name)) return { name, object: { at, ...required } }
  }
  const name = bindingName(steps)
  if (name === undefined) return undefined
  const bind = (wanted: string, object: DraftedBinding): NamedBinding | undefined =>
    Object.hasOwn(taken, wanted) ? undefined : { name: wanted, object }
  const record = secretNames.test(name) ? ({ record: 'digest' } as const) : {}
  if (steps.includes('*')) {
    if (!isNumber(kind)) return undefined
    return bind(`${name}_sum`, { at, type: kind, aggregate: 'sum', ...required })
  }
  switch (kind) {
    case 'string':
    case 'path':
    case 'url':
      return bind(name, { at, type: 'string', ...required, ...record })
    case 'boolean':
    case 'integer':
    case 'decimal':
      return bind(name, { at, type: kind, ...required, ...record })
    case 'strings':
      return bind(name, { at, type: 'set<string>', ...required, ...record })
    case 'array':
      return bind(`${name}_count`, { at: `${at}/*`, type: 'integer', aggregate: 'count', ...required })
    case 'prose':
    case 'object':
    case 'other':
      return undefined
  }
}

/** Names of types, which a binding may not have. */
const typeNames = words('long decimal ipaddr datetime set digest')

function bindingName(steps: readonly string[]): string | undefined {
  const name = steps
    .filter((step) => step !== '*')
    .join('_')
    .replace(/[^A-Za-z0-9_]/g, '_')
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, 48)
  if (name === '') return undefined
  return typeNames.has(name) ? `${name}_value` : name
}

function pointerStep(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1')
}
