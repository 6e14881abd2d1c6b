/** Tool calls are found whatever recorded them; what a tool answered is never taken for a call. */
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nameCall } from '../../src/cli/call-names.ts'
import { closeInputs, openInputs } from '../../src/cli/input-files.ts'
import { type RecordedItem, recordedItems } from '../../src/cli/judged-calls.ts'
import { findCalls } from '../../src/cli/recorded-calls.ts'
import { findDefinitions } from '../../src/cli/tool-definitions.ts'
import type { JsonValue } from '../../src/record/index.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aegis-recorded-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

async function items(text: string | Uint8Array, tool?: string): Promise<RecordedItem[]> {
  const file = join(folder, 'calls')
  writeFileSync(file, text)
  const inputs = await openInputs([file])
  const found: RecordedItem[] = []
  try {
    for (const input of inputs) {
      for await (const item of recordedItems(input, tool)) if (item.kind !== 'progress') found.push(item)
    }
  } finally {
    await closeInputs(inputs)
  }
  return found
}

const openAi = {
  role: 'assistant',
  content: null,
  tool_calls: [
    { id: 'call_1', type: 'function', function: { name: 'get_user', arguments: '{"id":"u1"}' } },
    { id: 'call_2', type: 'function', function: { name: 'pay', arguments: '{"amount":7}' } },
  ],
}
const responses = { type: 'function_call', call_id: 'call_3', name: 'get_user', arguments: '{"id":"u1"}' }
const anthropic = {
  role: 'assistant',
  content: [
    { type: 'text', text: 'Let me see.' },
    { type: 'tool_use', id: 'toolu_1', name: 'get_user', input: { id: 'u1' } },
  ],
}
const mcp = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'get_user', arguments: { id: 'u1' } },
}
const row = { run: 'r', step: 1, tool: 'get_user', arguments: '{"id":"u1"}', result: '{"tool":"evil"}' }

describe('a call is found', () => {
  it.each<[string, JsonValue, string]>([
    ['row, arguments as text', row, '$'],
    ['row, arguments as an object', { tool: 'get_user', arguments: { id: 'u1' } }, '$'],
    [
      'the tool_call of an authorize body',
      { tool_call: { tool: 'get_user', parameters: { id: 'u1' } } },
      '$.tool_call',
    ],
    ['OpenAI message', { ...openAi, tool_calls: openAi.tool_calls.slice(0, 1) }, '$.tool_calls[0]'],
    [
      'OpenAI response',
      { choices: [{ message: { tool_calls: openAi.tool_calls.slice(0, 1) } }] },
      '$.choices[0].message.tool_calls[0]',
    ],
    [
      'OpenAI, the old function_call',
      { role: 'assistant', function_call: { name: 'get_user', arguments: '{"id":"u1"}' } },
      '$',
    ],
    ['OpenAI Responses item', { output: [responses] }, '$.output[0]'],
    ['Anthropic message', anthropic, '$.content[1]'],
    [
      'Anthropic message within a log entry',
      { type: 'assistant', message: anthropic },
      '$.message.content[1]',
    ],
    ['MCP request', mcp, '$'],
    ['MCP request within a log entry', { at: 1, direction: 'out', message: mcp }, '$.message'],
    ['MCP batch', [mcp], '$[0]'],
  ])('%s', (_, value, path) => {
    const found = findCalls(value)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatchObject({ kind: 'call', path, name: 'get_user', parameters: { id: 'u1' } })
  })
})

describe('what only looks like one is not', () => {
  it.each<[string, JsonValue]>([
    ['a message', { role: 'user', content: 'call get_user' }],
    ['what a tool answered, OpenAI', { role: 'tool', content: [row] }],
    ['what a tool answered, Anthropic', { content: [{ type: 'tool_result', content: [anthropic] }] }],
    ['what a tool answered, Responses', { type: 'function_call_output', output: [row] }],
    ['what a tool answered, MCP', { jsonrpc: '2.0', id: 1, result: { content: [row] } }],
    ['another MCP request', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
    [
      'an offer of a tool',
      { tools: [{ type: 'function', function: { name: 'get_user', parameters: { type: 'object' } } }] },
    ],
  ])('%s', (_, value) => {
    expect(findCalls(value)).toEqual([])
  })

  it('a result beside the call of its row', () => {
    expect(findCalls({ ...row, result: anthropic })).toHaveLength(1)
  })
})

describe('what has the shape of a call and is none is named', () => {
  it.each<[string, JsonValue, string]>([
    ['no arguments', { tool: 'x' }, 'without arguments'],
    ['arguments that are no JSON', { tool: 'x', arguments: '{"a":' }, 'is not JSON'],
    ['arguments that are no object', { tool: 'x', arguments: '[1]' }, 'the arguments of x'],
    ['arguments that are a number', { tool: 'x', arguments: 7 }, 'neither an object'],
    ['a key twice', { tool: 'x', arguments: '{"a":1,"a":2}' }, 'the arguments of x'],
    ['a number that is not exact', { tool: 'x', arguments: '{"a":9007199254740993}' }, 'the arguments of x'],
    [
      'the same in an object',
      { tool: 'x', arguments: { a: [Number.NaN] } },
      'a number that the authorizer refuses',
    ],
    ['no name', { type: 'tool_use', input: {} }, 'without a name'],
    ['no params', { jsonrpc: '2.0', method: 'tools/call' }, 'without params'],
  ])('%s', (_, value, why) => {
    expect(findCalls(value)).toEqual([
      { kind: 'broken', path: '$', why: expect.stringContaining(why) as string },
    ])
  })

  it('no arguments, as models write it', () => {
    for (const given of ['', null])
      expect(findCalls({ tool: 'x', arguments: given })).toMatchObject([{ parameters: {} }])
  })
})

describe('a file', () => {
  const calls = (found: readonly RecordedItem[]): readonly string[] =>
    found.map((item) =>
      item.kind === 'call' ? `${String(item.line)} ${item.tool}.${item.action}` : item.kind,
    )

  it('of JSON Lines, with CRLF, empty lines, a byte order mark and no last LF', async () => {
    const line = JSON.stringify(row)
    expect(calls(await items(`\ufeff${line}\r\n\r\n  \n${line}`))).toEqual([
      '1 tools.get_user',
      '4 tools.get_user',
    ])
  })

  it('of one document on several lines', async () => {
    const document = JSON.stringify({ messages: [{ role: 'user' }, openAi, anthropic] }, null, 2)
    expect(calls(await items(document))).toEqual([
      'undefined tools.get_user',
      'undefined tools.pay',
      'undefined tools.get_user',
    ])
  })

  it('whose lines are broken here and there, the first one too, loses none of the others', async () => {
    const line = JSON.stringify(row)
    const found = await items(`{"tool":\n${line}\nnonsense\n${line}\n${line}\n${line.slice(0, 20)}`)
    expect(calls(found)).toEqual([
      'unread',
      '2 tools.get_user',
      'unread',
      '4 tools.get_user',
      '5 tools.get_user',
      'unread',
    ])
    expect(found.flatMap((item) => (item.kind === 'unread' ? [item.line] : []))).toEqual([1, 3, 6])
  })

  it('that repeats the conversation counts each call once', async () => {
    const found = await items(`${JSON.stringify([openAi])}\n${JSON.stringify([openAi, anthropic])}\n`)
    expect(calls(found)).toEqual(['1 tools.get_user', '1 tools.pay', 'repeat', 'repeat', '2 tools.get_user'])
  })

  it('that has the same call twice without an id counts both', async () => {
    const line = JSON.stringify(mcp)
    expect(calls(await items(`${line}\n${line}\n`))).toHaveLength(2)
  })

  it('with a number that only its log could not hold is read', async () => {
    const found = await items('{"at":1716239022.12345678901234567890,"tool":"x","arguments":{"a":1.5}}')
    expect(found).toMatchObject([{ kind: 'call', parameters: { a: 1.5 } }])
  })

  it.each([
    ['empty', '', 'is empty'],
    ['of text', 'hello\nworld\n', 'neither JSON Lines nor one JSON document'],
    ['a document that breaks off', '{\n "messages": [\n  {"role": "user"},\n', 'at line 4'],
  ])('%s is refused', async (_, text, why) => {
    await expect(items(text)).rejects.toThrow(why)
  })
})

describe('names', () => {
  it.each([
    [{ name: 'get_user' }, undefined, 'tools', 'get_user'],
    [{ name: 'get_user' }, 'crm', 'crm', 'get_user'],
    [{ name: 'github.merge_pr' }, undefined, 'github', 'merge_pr'],
    [{ name: 'a.b.c' }, undefined, 'a.b', 'c'],
    [{ name: 'a.b.c' }, 'x', 'x', 'a-b-c'],
    [{ name: 'mcp__github__merge_pr' }, undefined, 'github', 'merge_pr'],
    [{ name: 'mcp__a__b__c' }, undefined, 'a', 'b__c'],
    [{ name: 'github', action: 'merge_pr' }, undefined, 'github', 'merge_pr'],
    [{ name: '.hidden' }, undefined, 'tools', '-hidden'],
  ])('%j of %s is %s and %s', (recorded, tool, wantTool, action) => {
    expect(nameCall(recorded, tool)).toEqual({ tool: wantTool, action })
  })
})

describe('definitions', () => {
  const schema = { type: 'object', properties: { id: { type: 'string' } } }
  it.each<[string, JsonValue]>([
    ['MCP, the result', { tools: [{ name: 'get', inputSchema: schema }] }],
    [
      'MCP, the whole answer',
      { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'get', inputSchema: schema }] } },
    ],
    ['OpenAI, Chat Completions', [{ type: 'function', function: { name: 'get', parameters: schema } }]],
    ['OpenAI, Responses', [{ type: 'function', name: 'get', parameters: schema }]],
    ['Anthropic', [{ name: 'get', input_schema: schema }]],
    ['a recorded request', { model: 'm', tools: [{ name: 'get', input_schema: schema }], messages: [] }],
  ])('%s', (_, value) => {
    expect(findDefinitions(value)).toEqual([{ name: 'get', schema }])
  })

  it('carry the hints of MCP', () => {
    const annotations = { readOnlyHint: true, destructiveHint: false, title: 'Get' }
    expect(findDefinitions([{ name: 'get', inputSchema: schema, annotations }])).toEqual([
      { name: 'get', schema, readOnlyHint: true, destructiveHint: false },
    ])
  })
})
