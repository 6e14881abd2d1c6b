/**
 * What to say when a policy set is activated (policy.md §4): groups in which fewer people are than must approve. Calls that
 * would need them are denied `quorum_unreachable`. Not a refusal: who is in a group may be put right afterwards.
 */
import type { PolicyActivated } from '../protocol/index.ts'
import type { Settings } from '../policy/index.ts'
import type { Caller } from './authenticate.ts'

export async function unreachableQuorums(
  { chain, keyId }: Caller,
  settings: Settings | undefined,
): Promise<PolicyActivated['warnings']> {
  const groups = Object.entries(settings?.approver_groups ?? {})
  if (groups.length === 0) return []
  const sizes = new Map<string, number>()
  let after: string | undefined = ''
  while (after !== undefined) {
    const page = await chain.groups(keyId, after)
    // The act is done; a list that cannot be had leaves it without warnings.
    if (page.kind !== 'list') return []
    for (const { name, members } of page.entries) sizes.set(name, members.length)
    after = page.next
  }
  return groups.flatMap(([group, { quorum }]) => {
    const members = sizes.get(group) ?? 0
    return members >= quorum ? [] : [{ code: 'quorum_unreachable' as const, group, quorum, members }]
  })
}
