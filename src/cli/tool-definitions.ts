/**
 * Tool definitions in JSON, by shape: MCP's `tools/list` result (`inputSchema`), Anthropic's (`input_schema`), OpenAI's
 * (`parameters`, under `function` or not). Found wherever they stand, as in a recorded request. Not for calls:
 * recorded-calls.ts.
 */
import { type JsonObject, type JsonValue, isJsonObject } from '../record/index.ts'

export interface ToolDefinition {
  readonly name: string
  readonly schema: JsonObject
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
}

/** Every definition in a value, in the order of the text. */
export function findDefinitions(value: JsonValue): readonly ToolDefinition[] {
  const found: ToolDefinition[] = []
  const open: JsonValue[] = [value]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one !== 'object' || one === null) continue
    const definition = isJsonObject(one) ? definitionOf(one) : undefined
    if (definition !== undefined) found.push(definition)
    else open.push(...Object.values<JsonValue>(one).reverse())
  }
  return found
}

function definitionOf(value: JsonObject): ToolDefinition | undefined {
  const { name } = value
  if (typeof name !== 'string' || name === '') return undefined
  const schema = [value['inputSchema'], value['input_schema'], value['parameters']].find(isSchema)
  if (schema === undefined) return undefined
  const annotations = value['annotations']
  const { readOnlyHint, destructiveHint } = isJsonObject(annotations) ? annotations : ({} as JsonObject)
  return {
    name,
    schema,
    ...(typeof readOnlyHint === 'boolean' ? { readOnlyHint } : {}),
    ...(typeof destructiveHint === 'boolean' ? { destructiveHint } : {}),
  }
}

/** A schema of arguments is one of an object; a tool without arguments may leave its properties out. */
function isSchema(value: JsonValue | undefined): value is JsonObject {
  return isJsonObject(value) && (value['type'] === 'object' || isJsonObject(value['properties']))
}
