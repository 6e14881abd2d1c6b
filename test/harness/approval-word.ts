/** What came of an act on an approval, in a word that a table or a model can hold it against. */
import type { ApprovalResult } from '../../src/chain/approvals.ts'

export function wordOfAct(result: ApprovalResult): string {
  switch (result.kind) {
    case 'approval':
      return result.approval.state
    case 'lost':
      return `lost ${result.state}`
    case 'refused':
      return result.code
    default:
      return result.kind
  }
}
