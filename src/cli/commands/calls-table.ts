/** Calls as rows: of `aegis calls list` and `tail`. */
import { idText } from '../act.ts'
import type { Members } from '../answer-members.ts'
import type { Table } from '../list-pages.ts'
import { cellText } from '../shown-text.ts'

export const callTable: Table = {
  columns: [
    { title: 'TIME (UTC)', width: 24 },
    { title: 'DECISION', width: 16 },
    { title: 'TOOL', width: 24 },
    { title: 'AGENT', width: 16 },
    { title: 'CALL', width: 31 },
    { title: 'REASON', width: 0 },
  ],
  name: (call) => idText(call.text('call_id')),
  row: (call) => [
    cellText(call.text('decided_at')),
    cellText(call.text('decision')),
    cellText(call.text('tool_id')),
    whoOf(call),
    idText(call.text('call_id')),
    reasonOf(call),
  ],
}

/** The agent, or in brackets who did an administrative act. */
function whoOf(call: Members): string {
  const agent = call.optionalText('agent')
  if (agent !== undefined) return cellText(agent)
  const actor = call.optionalMembers('actor')
  return actor === undefined ? '-' : `(${cellText(actor.optionalText('subject') ?? actor.text('role'))})`
}

function reasonOf(call: Members): string {
  const reason = call.members('reason')
  const rules = call.texts('matched_rules').map(cellText).join(' ')
  const code = cellText(reason.text('code'))
  return rules === '' ? code : `${code} by ${rules}`
}
