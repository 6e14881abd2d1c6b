/** What the routes under `/v1/calls` take and answer; see descriptions.ts. */
import { authenticated, describe } from './descriptions.ts'

const callParameters = [
  ['agent', 'Only of this agent'],
  ['tool', 'Only of this tool_id'],
  ['decision', 'Only allow, deny, require_approval or rate_limited'],
  ['rule', 'Only those that this policy determined'],
  ['since', 'Only decided then or later'],
  ['until', 'Only decided before'],
  ['limit', '1 to 1000; 100 when left out'],
  ['after', 'SESSION:SEQ: only before this position; `next` of the page before'],
  ['behind', 'SESSION:SEQ: only behind this position, for whoever follows'],
] as const

export const describeCalls = describe({
  id: 'calls',
  summary: 'Calls, newest first; a request looks through a bounded part of the Chain',
  roles: ['auditor'],
  parameters: callParameters.map(([name, description]) => ({
    in: 'query',
    name,
    description,
    schema: { type: 'string' },
  })),
  answer: { status: 200, says: 'A page, not always full', type: 'application/json', schema: 'CallList' },
  problems: [...authenticated, 'query_invalid'],
})

export const describeCall = describe({
  id: 'call',
  summary: 'One Call with its Lines and what is about it, or where to go on looking',
  roles: ['auditor'],
  parameters: [
    {
      in: 'query',
      name: 'after',
      description: 'SESSION:SEQ: looks before this position only; `next` of the answer before',
      schema: { type: 'string' },
    },
  ],
  answer: { status: 200, says: 'The Call, or `next`', type: 'application/json', schema: 'FoundCall' },
  problems: [...authenticated, 'query_invalid', 'not_found'],
})
