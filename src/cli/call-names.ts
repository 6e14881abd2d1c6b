/**
 * From a recorded name to a tool and an action. Agents know their tools by one name each; a catalogue has tools with
 * actions. Only a reading of names: whether the catalogue has them is for the decision.
 */
import type { FoundCall } from './recorded-calls.ts'

export interface CallName {
  readonly tool: string
  readonly action: string
}

/** The tool of names that belong to none, the same in `policy init` and in `try`. */
export const unnamedTool = 'tools'

/**
 * @param tool every recorded name is an action of this one (`--tool`).
 * @example nameCall({ name: 'mcp__github__merge_pr', … }, undefined) // { tool: 'github', action: 'merge_pr' }
 */
export function nameCall(call: Pick<FoundCall, 'name' | 'action'>, tool: string | undefined): CallName {
  const { name, action } = call
  if (action !== undefined) return { tool: tool ?? name, action }
  if (tool !== undefined) return { tool, action: actionText(name) }
  // Hosts of several MCP servers write mcp__SERVER__TOOL.
  const [, server, called] = /^mcp__(.+?)__(.+)$/.exec(name) ?? []
  if (server !== undefined && called !== undefined) return { tool: server, action: actionText(called) }
  const dot = name.lastIndexOf('.')
  if (dot > 0 && dot < name.length - 1) return { tool: name.slice(0, dot), action: name.slice(dot + 1) }
  return { tool: unnamedTool, action: actionText(name) }
}

/** An action has no dot, which in a `tool_id` stands before it. */
function actionText(name: string): string {
  return name.replaceAll('.', '-')
}
