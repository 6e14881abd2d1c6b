/**
 * The Cedar schema that a catalogue generates (policy.md §2): agents in roles, one action per tool action in its
 * groups, a context with that action's own arguments. It serves validation at publish and people who write policies;
 * evaluation runs without it, since bindings have typed the context by then.
 */
import type { SchemaJson, TypeOfAttribute } from '@cedar-policy/cedar-wasm/web'
import {
  type BindingType,
  type Catalogue,
  type ToolAction,
  pathBinding,
  riskLevels,
  urlBinding,
} from './catalogue.ts'
import type { Engine } from './engine.ts'
import { actionGroups } from './request.ts'

type Attributes = Record<string, TypeOfAttribute<string>>

const string = { type: 'String' } as const
const long = { type: 'Long' } as const
const boolean = { type: 'Boolean' } as const
const datetime = { type: 'Extension', name: 'datetime' } as const

export const principalAttributes = {
  environment: string,
  force_approval: boolean,
  owner: string,
  risk_tier: string,
  trust_max: string,
} as const satisfies Attributes

/** Everything in the context but `args`; policy.md §2 lists it. */
export const commonContext = {
  contains_sensitive_data: boolean,
  environment: string,
  fs: { type: 'Record', attributes: { path: string }, required: false },
  mutates_state: boolean,
  net: { type: 'Record', attributes: { host: string, port: long, scheme: string }, required: false },
  now: datetime,
  risk: long,
  risk_level: string,
  session: { type: 'String', required: false },
  source_trust: string,
  trust: long,
  user: { type: 'Record', attributes: { id: string }, required: false },
} as const satisfies Attributes

const typeOf: Readonly<Record<BindingType, TypeOfAttribute<string>>> = {
  string,
  boolean,
  integer: long,
  decimal: { type: 'Extension', name: 'decimal' },
  ipaddr: { type: 'Extension', name: 'ipaddr' },
  datetime,
  'set<string>': { type: 'Set', element: string },
}

/** The schema in Cedar's JSON form. */
export function schemaJson(catalogue: Catalogue): SchemaJson<string> {
  const actions: SchemaJson<string>[string]['actions'] = { mutating: {}, reading: {} }
  for (const level of riskLevels) actions[`risk:${level}`] = {}
  for (const action of catalogue.actions.values()) actions[`tool:${action.tool}`] = {}
  for (const action of catalogue.actions.values()) {
    actions[action.toolId] = {
      memberOf: actionGroups(action, action.mutatesState).map((id) => ({ id })),
      appliesTo: {
        principalTypes: ['Agent'],
        resourceTypes: ['Resource'],
        context: { type: 'Record', attributes: contextOf(action) },
      },
    }
  }
  return {
    '': {
      entityTypes: {
        Agent: { memberOfTypes: ['Role'], shape: { type: 'Record', attributes: principalAttributes } },
        Resource: {},
        Role: {},
      },
      actions,
    },
  }
}

/** The schema in Cedar's own syntax, for people; an error text where the engine could not write it. */
export function schemaText(catalogue: Catalogue, engine: Engine): string {
  const answer = engine.call((cedar) => cedar.schemaToText(schemaJson(catalogue)))
  if (!answer.ok) throw new Error(`the generated schema was not taken: ${answer.detail}`)
  if (answer.value.type === 'failure') {
    throw new Error(`the generated schema was not taken: ${answer.value.errors[0]?.message ?? ''}`)
  }
  return answer.value.text
}

function contextOf(action: ToolAction): Attributes {
  const args: Attributes = {}
  const present = new Set<string>()
  for (const binding of action.args) {
    if (binding.name === pathBinding || binding.name === urlBinding) {
      if (binding.required) present.add(binding.name)
      continue
    }
    args[binding.name] = { ...typeOf[binding.type], required: binding.required }
  }
  return {
    ...commonContext,
    fs: { ...commonContext.fs, required: present.has(pathBinding) },
    net: { ...commonContext.net, required: present.has(urlBinding) },
    args: { type: 'Record', attributes: args },
  }
}
