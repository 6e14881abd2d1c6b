/**
 * Tool and action names to one spelling (authorize.md §3 step 5). Refuses instead of repairing: no trimming, no
 * Unicode folding, so that a KELVIN SIGN, a zero-width space or a no-break space never becomes a known tool. Hashes
 * stay over what the caller sent. Not for resources, which are compared as they are.
 */

export type Identifiers =
  | { readonly ok: true; readonly tool: string; readonly action: string; readonly toolId: string }
  | { readonly ok: false; readonly member: 'tool' | 'action' }

const allowed = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/
/** `aegis/` is for our own acts; the other two begin the names of action groups. */
const reservedTools = ['aegis/', 'tool:', 'risk:']

/**
 * @returns the normalised names and `toolId` = tool + `.` + action, or which of the two was refused.
 * @example normaliseIdentifiers('GitHub', 'merge%5Fpr') // toolId 'github.merge_pr'
 */
export function normaliseIdentifiers(tool: string, action: string): Identifiers {
  const toolName = normalise(tool)
  if (toolName === undefined || reservedTools.some((prefix) => toolName.startsWith(prefix))) {
    return { ok: false, member: 'tool' }
  }
  const actionName = normalise(action)
  // With a dot in it, `a.b` + `c` and `a` + `b.c` would be one tool_id.
  if (actionName === undefined || actionName.includes('.')) return { ok: false, member: 'action' }
  return { ok: true, tool: toolName, action: actionName, toolId: `${toolName}.${actionName}` }
}

function normalise(raw: string): string | undefined {
  // 128 characters, each written as three at most: longer cannot become allowed.
  if (raw.length > 384) return undefined
  let name = raw
  if (raw.includes('%')) {
    if (/%(?![0-9A-Fa-f]{2})/.test(raw)) return undefined
    // Only ASCII is allowed below, so that each escape can be read alone; a `%` that appears is refused with the rest.
    name = raw.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
  }
  if (!allowed.test(name) || name.includes('..') || name.includes('//')) return undefined
  return name.replace(/[A-Z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 32))
}
