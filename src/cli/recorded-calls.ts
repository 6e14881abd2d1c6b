/**
 * Tool calls in recorded JSON, whatever recorded it: rows of {tool, arguments}, OpenAI's `tool_calls` and
 * `function_call`, Anthropic's `tool_use`, MCP's `tools/call`. A call is found by its shape wherever it stands, and never
 * inside what a tool answered. Which action of which tool a recorded name is: call-names.ts.
 */
import {
  type JsonObject,
  type JsonValue,
  describeFormatError,
  encodeUtf8,
  isJsonObject,
  parseBody,
} from '../record/index.ts'

export interface FoundCall {
  readonly kind: 'call'
  /** Where in its row, as a JSON path. */
  readonly path: string
  /** The name as recorded. */
  readonly name: string
  /** The action, where the record keeps it apart from the tool. */
  readonly action?: string
  readonly resource: string | null
  /** What the caller claimed; false where the record says nothing. */
  readonly mutatesState: boolean
  readonly parameters: JsonObject
  /** An id that its API made unique: the same call in a longer copy of the conversation has the same. */
  readonly callId?: string
}

/** Something has the shape of a call and is none that could be made. */
export interface BrokenCall {
  readonly kind: 'broken'
  readonly path: string
  readonly why: string
}

interface Place {
  readonly value: JsonValue
  readonly path: string
}

/** The calls of one row, in the order of the text. */
export function findCalls(row: JsonValue): readonly (FoundCall | BrokenCall)[] {
  const found: (FoundCall | BrokenCall)[] = []
  // An explicit stack: how deep a file nests is not our choice.
  const open: Place[] = [{ value: row, path: '$' }]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value, path } = place
    if (Array.isArray(value)) {
      for (const [at, item] of [...(value as readonly JsonValue[]).entries()].reverse()) {
        open.push({ value: item, path: `${path}[${String(at)}]` })
      }
      continue
    }
    if (!isJsonObject(value) || isAnswer(value)) continue
    const call = callOf(value, path)
    if (call !== undefined) {
      found.push(call)
      continue
    }
    for (const [name, item] of Object.entries(value).reverse()) {
      if (typeof item === 'object' && item !== null) open.push({ value: item, path: `${path}.${name}` })
    }
  }
  return found
}

/** What a tool answered may quote anything, calls included. */
function isAnswer(value: JsonObject): boolean {
  const { type, role } = value
  return (
    role === 'tool' ||
    role === 'function' ||
    type === 'tool_result' ||
    type === 'function_call_output' ||
    (value['jsonrpc'] === '2.0' && value['method'] === undefined)
  )
}

function callOf(value: JsonObject, path: string): FoundCall | BrokenCall | undefined {
  // MCP: {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":…,"arguments":{…}}}
  if (value['method'] === 'tools/call') {
    const params = value['params']
    if (!isJsonObject(params)) return broken(path, 'a tools/call without params')
    return toCall(path, { name: params['name'], given: params['arguments'] ?? {} })
  }
  const { type } = value
  // Anthropic: {"type":"tool_use","id":…,"name":…,"input":{…}}
  if (type === 'tool_use' || type === 'server_tool_use' || type === 'mcp_tool_use') {
    return toCall(path, { name: value['name'], given: value['input'], callId: value['id'] })
  }
  // OpenAI, Responses: {"type":"function_call","call_id":…,"name":…,"arguments":"…"}
  if (type === 'function_call') {
    return toCall(path, { name: value['name'], given: value['arguments'], callId: value['call_id'] })
  }
  // OpenAI, Chat Completions: {"id":…,"type":"function","function":{"name":…,"arguments":"…"}}, once "function_call"
  const named = value['function'] ?? value['function_call']
  if (isJsonObject(named) && Object.hasOwn(named, 'arguments')) {
    return toCall(path, { name: named['name'], given: named['arguments'], callId: value['id'] })
  }
  // Rows of one's own: {"tool":…,"arguments":…}, and the tool_call of an authorize body.
  if (typeof value['tool'] !== 'string') return undefined
  const member = ['arguments', 'parameters', 'input', 'args'].find((name) => Object.hasOwn(value, name))
  if (member === undefined) return broken(path, 'a tool without arguments')
  return toCall(path, {
    name: value['tool'],
    given: value[member],
    action: value['action'],
    resource: value['resource'],
    mutatesState: value['mutates_state'],
  })
}

interface Members {
  readonly name: JsonValue | undefined
  readonly given: JsonValue | undefined
  readonly action?: JsonValue | undefined
  readonly resource?: JsonValue | undefined
  readonly mutatesState?: JsonValue | undefined
  readonly callId?: JsonValue | undefined
}

function toCall(
  path: string,
  { name, given, action, resource, mutatesState, callId }: Members,
): FoundCall | BrokenCall {
  if (typeof name !== 'string' || name === '') return broken(path, 'a call without a name')
  const parameters = readArguments(given)
  if (typeof parameters === 'string')
    return broken(path, `the arguments of ${name.slice(0, 64)}: ${parameters}`)
  return {
    kind: 'call',
    path,
    name,
    ...(typeof action === 'string' ? { action } : {}),
    resource: typeof resource === 'string' ? resource : null,
    mutatesState: mutatesState === true,
    parameters,
    ...(typeof callId === 'string' && callId !== '' ? { callId } : {}),
  }
}

function broken(path: string, why: string): BrokenCall {
  return { kind: 'broken', path, why }
}

/** The arguments under the rules of an authorize body, or why they break them. Models write `""` for none. */
function readArguments(given: JsonValue | undefined): JsonObject | string {
  if (given === '' || given === null) return {}
  if (typeof given !== 'string' && !isJsonObject(given)) return 'they are neither an object nor its JSON text'
  // The reader left NaN where a number cannot be taken as it is written; as text it would become null.
  if (typeof given === 'object' && holdsNan(given)) return 'a number that the authorizer refuses'
  const bytes = encodeUtf8(typeof given === 'string' ? given : JSON.stringify(given))
  if (bytes === undefined) return 'they are no Unicode text'
  const read = parseBody(bytes)
  return read.ok ? read.value : describeFormatError(read.error)
}

function holdsNan(value: JsonValue): boolean {
  const open: JsonValue[] = [value]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (Number.isNaN(one)) return true
    if (typeof one === 'object' && one !== null) open.push(...Object.values<JsonValue>(one))
  }
  return false
}
