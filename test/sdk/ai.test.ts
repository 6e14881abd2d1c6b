/** The adapter for the Vercel AI SDK, with the real package and a model that says what a test tells it to. */
import { type ModelMessage, generateText, jsonSchema, stepCountIs, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { parseAuthorizeRequest, parseReportRequest } from '../../src/protocol/index.ts'
import { type ApprovalStore, type ProtectToolsOptions, protectTools } from '../../src/sdk/ai.ts'
import { Aegis, type ApprovalRequired } from '../../src/sdk/index.ts'
import { type ApprovalServer, type Script, approvalServer, sendProblem } from './approval-server.ts'
import { TestAuthorizer } from './authorizer.ts'
import { PatientClock } from './patient-clock.ts'

const authorizer = new TestAuthorizer(nodeSuite)
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
}

/** A model that calls the tool once, and says `done` to whatever comes back. */
function model(input: unknown = { branch: 'main' }): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => ({
      content: prompt.some(({ role }) => role === 'tool')
        ? [{ type: 'text', text: 'done' }]
        : [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'merge', input: JSON.stringify(input) }],
      finishReason: { unified: 'stop', raw: undefined },
      usage,
      warnings: [],
    }),
  })
}

interface Merge {
  readonly branch: string
}

const schema = jsonSchema<Merge>({
  type: 'object',
  properties: { branch: { type: 'string' } },
  required: ['branch'],
})

async function set(script: Script, options: Partial<ProtectToolsOptions<'merge'>> = {}) {
  const server = await approvalServer(authorizer, script)
  const ran: unknown[] = []
  const aegis = new Aegis({ url: server.url, key: authorizer.key, attemptsMax: 1, clock: new PatientClock() })
  const merge = tool({
    description: 'merges',
    inputSchema: schema,
    execute: async (input, { toolCallId }) => {
      ran.push({ input, toolCallId, frozen: Object.isFrozen(input) })
      return `merged ${input.branch}`
    },
  })
  const make = () => protectTools(aegis, { merge }, { tool: 'github', ...options })
  return { server, ran, make, ...make() }
}

const results = (messages: readonly ModelMessage[]) =>
  messages.flatMap(({ role, content }) => (role === 'tool' ? content : []))

const stopWhen = stepCountIs(5)
const prompt: ModelMessage[] = [{ role: 'user', content: 'merge it' }]

describe('a tool that asks by itself', () => {
  it('runs with the frozen copy when it is allowed, and is reported', async () => {
    const { tools, ran, server } = await set({ decision: 'allow' })
    const { text, responseMessages } = await generateText({
      model: model(),
      messages: prompt,
      tools,
      stopWhen,
    })
    expect(text).toBe('done')
    expect(ran).toEqual([{ input: { branch: 'main' }, toolCallId: 'call-1', frozen: true }])
    expect(results(responseMessages)).toMatchObject([{ output: { type: 'text', value: 'merged main' } }])
    expect(askedFor(server)).toMatchObject([
      { tool: 'github', action: 'merge', parameters: { branch: 'main' } },
    ])
    expect(reported(server)).toEqual(['success'])
  })

  it('runs 0 times when it is denied; the model is told so', async () => {
    const { tools, ran, server } = await set({ decision: 'deny' })
    const { text, responseMessages } = await generateText({
      model: model(),
      messages: prompt,
      tools,
      stopWhen,
    })
    expect(text).toBe('done')
    expect(ran).toEqual([])
    expect(JSON.stringify(results(responseMessages))).toContain('denied')
    expect(server.of('report')).toEqual([])
  })

  it('waits inside its call for an approval, and runs once', async () => {
    const { tools, ran } = await set({ states: ['pending', 'pending', 'approved'] })
    await generateText({ model: model(), messages: prompt, tools, stopWhen })
    expect(ran).toHaveLength(1)
  })

  it('does not run once the caller has given up', async () => {
    const { tools, ran } = await set({ states: ['pending'] })
    const abortSignal = AbortSignal.timeout(150)
    const gaveUp = generateText({ model: model(), messages: prompt, tools, stopWhen, abortSignal })
    await gaveUp.catch(() => undefined)
    expect(ran).toEqual([])
  })

  it('keeps streaming what it streams, and is reported at the end', async () => {
    const server = await approvalServer(authorizer, { decision: 'allow' })
    const aegis = new Aegis({ url: server.url, key: authorizer.key })
    const merge = tool({
      inputSchema: schema,
      async *execute({ branch }) {
        yield `merging ${branch}`
        await Promise.resolve()
        yield `merged ${branch}`
      },
    })
    const { tools } = protectTools(aegis, { merge }, { tool: 'github' })
    const stream = tools.merge.execute?.({ branch: 'main' }, { toolCallId: 'c', messages: [], context: {} })
    const seen: unknown[] = []
    for await (const value of stream as AsyncIterable<string>) {
      seen.push(value)
      expect(server.of('report')).toEqual([])
    }
    expect(seen).toEqual(['merging main', 'merged main'])
    expect(reported(server)).toEqual(['success'])
  })

  it('that cannot be protected is an error when the set is made', async () => {
    const aegis = new Aegis({ url: 'https://authorizer.example', key: authorizer.key })
    const remote = tool({ inputSchema: schema, outputSchema: schema })
    expect(() => protectTools(aegis, { remote }, { tool: 'x' })).toThrow('remote has no execute')
    const open = protectTools(aegis, { remote }, { tool: 'x', unprotected: ['remote'] })
    expect(open.tools.remote).toBe(remote)
  })
})

describe('with toolApproval', () => {
  it('an allow is asked for once, and runs once', async () => {
    const { tools, toolApproval, ran, server } = await set({ decision: 'allow' })
    await generateText({ model: model(), messages: prompt, tools, toolApproval, stopWhen })
    expect(ran).toHaveLength(1)
    expect(server.of('authorize')).toHaveLength(1)
    expect(reported(server)).toEqual(['success'])
  })

  it('a denial runs 0 times', async () => {
    const { tools, toolApproval, ran, server } = await set({ decision: 'deny' })
    const messages = (await generateText({ model: model(), messages: prompt, tools, toolApproval, stopWhen }))
      .responseMessages
    expect(ran).toEqual([])
    expect(server.of('authorize')).toHaveLength(1)
    expect(JSON.stringify(messages)).toContain('policy_denied')
  })

  it('no decision runs 0 times', async () => {
    const { tools, toolApproval, ran } = await set({
      routes: { authorize: (response) => sendProblem(response, 503, { code: 'unavailable' }) },
    })
    await generateText({ model: model(), messages: prompt, tools, toolApproval, stopWhen })
    expect(ran).toEqual([])
  })

  /** The first half: the model has called, and a human is needed. */
  async function stopped(script: Script, options: Partial<ProtectToolsOptions<'merge'>> = {}) {
    const made = await set(script, options)
    const { tools, toolApproval } = made
    const first = await generateText({ model: model(), messages: prompt, tools, toolApproval, stopWhen })
    const request = first.content.find(({ type }) => type === 'tool-approval-request')
    if (request?.type !== 'tool-approval-request') throw new Error('no approval was asked for')
    const respond = (approved: boolean): ModelMessage[] => [
      ...prompt,
      ...first.responseMessages,
      {
        role: 'tool',
        content: [{ type: 'tool-approval-response', approvalId: request.approvalId, approved }],
      },
    ]
    return { ...made, request, respond }
  }

  it('an approval stops the run, and resumes once it was given: one authorize, one consume, one run', async () => {
    const { tools, toolApproval, ran, server, request, respond } = await stopped({})
    expect(ran).toEqual([])
    expect(request).toMatchObject({
      reason: expect.stringMatching(/^apr_\d+ waits for release-managers$/) as string,
    })
    const { text } = await generateText({
      model: model(),
      messages: respond(true),
      tools,
      toolApproval,
      stopWhen,
    })
    expect(text).toBe('done')
    expect(ran).toHaveLength(1)
    expect(server.of('authorize')).toHaveLength(1)
    expect(server.of('consume')).toHaveLength(1)
    // The same history again, as a client that replays it would send it: it is asked for anew.
    await generateText({ model: model(), messages: respond(true), tools, toolApproval, stopWhen })
    expect(server.of('authorize').length).toBeGreaterThan(1)
    expect(server.of('consume').length).toBe(ran.length)
  })

  it('what the history says counts for nothing while the authorizer has not heard of an approval', async () => {
    const { tools, toolApproval, ran, respond } = await stopped({ states: ['pending'] }, { waitMs: 0 })
    const { responseMessages } = await generateText({
      model: model(),
      messages: respond(true),
      tools,
      toolApproval,
      stopWhen,
    })
    expect(ran).toEqual([])
    expect(JSON.stringify(responseMessages)).toContain('approval_pending')
  })

  it('a no in the history does not run, whatever the authorizer says', async () => {
    const { tools, toolApproval, ran, server, respond } = await stopped({})
    await generateText({ model: model(), messages: respond(false), tools, toolApproval, stopWhen })
    expect(ran).toEqual([])
    expect(server.of('consume')).toEqual([])
  })

  it('another process resumes with what the store kept as JSON', async () => {
    const kept = new Map<string, string>()
    const store: ApprovalStore = {
      get: async (id) => {
        const text = kept.get(id)
        return text === undefined ? undefined : (JSON.parse(text) as ApprovalRequired)
      },
      set: async (id, required) => void kept.set(id, JSON.stringify(required)),
      delete: async (id) => void kept.delete(id),
    }
    const { make, ran, server, respond } = await stopped({}, { store })
    expect(kept.size).toBe(1)
    await generateText({ model: model(), messages: respond(true), ...make(), stopWhen })
    expect(ran).toHaveLength(1)
    expect(server.of('authorize')).toHaveLength(1)
    expect(kept.size).toBe(0)
  })

  it('an input that the history changed is asked for anew, as what it is', async () => {
    const { tools, toolApproval, ran, server, respond } = await stopped({}, { waitMs: 0 })
    const changed = JSON.parse(JSON.stringify(respond(true)).replaceAll('main', 'prod')) as ModelMessage[]
    await generateText({ model: model(), messages: changed, tools, toolApproval, stopWhen })
    expect(askedFor(server).map((call) => call.parameters)).toEqual([{ branch: 'main' }, { branch: 'prod' }])
    expect(ran).toEqual([{ input: { branch: 'prod' }, toolCallId: 'call-1', frozen: true }])
  })
})

function askedFor(server: ApprovalServer) {
  return server.of('authorize').map(({ body }) => {
    const read = parseAuthorizeRequest(body)
    if (!read.ok) throw new Error('not read')
    return read.request.toolCall
  })
}

function reported(server: ApprovalServer): string[] {
  return server.of('report').map(({ body }) => {
    const read = parseReportRequest(body)
    return read.ok ? read.request.execution.status : 'not read'
  })
}
