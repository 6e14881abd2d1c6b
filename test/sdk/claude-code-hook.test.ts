/** The endpoint for Claude Code's hooks: every answer is a decision, and every doubt a deny. */
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { parseAuthorizeRequest, parseReportRequest } from '../../src/protocol/index.ts'
import { type HookOptions, claudeCodeHook } from '../../src/sdk/claude-code-hook.ts'
import { Aegis } from '../../src/sdk/index.ts'
import { type Script, approvalServer, sendProblem } from './approval-server.ts'
import { TestAuthorizer } from './authorizer.ts'
import { PatientClock } from './patient-clock.ts'

const authorizer = new TestAuthorizer(nodeSuite)
const token = 'a-long-enough-token'
const event = {
  session_id: 'session-1',
  transcript_path: '/home/dev/.claude/t.jsonl',
  cwd: '/home/dev/app',
  permission_mode: 'default',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command: 'npm test', timeout: 60_000 },
  tool_use_id: 'toolu_1',
}

async function hooked(script: Script, options: Partial<HookOptions> = {}) {
  const server = await approvalServer(authorizer, script)
  const aegis = new Aegis({ url: server.url, key: authorizer.key, attemptsMax: 1, clock: new PatientClock() })
  const handler = claudeCodeHook(aegis, { token, ...options })
  const send = async (body: unknown, headers: Record<string, string> = {}) => {
    const response = await handler(
      new Request('http://127.0.0.1/hook', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    )
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
  }
  return { server, handler, send }
}

const decision = (permissionDecision: string, reason: RegExp) => ({
  status: 200,
  body: {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision,
      permissionDecisionReason: expect.stringMatching(reason) as string,
    },
  },
})

describe('PreToolUse', () => {
  it('allow: the call as it is, with its session', async () => {
    const { send, server } = await hooked({ decision: 'allow' })
    expect(await send(event)).toEqual(decision('allow', /^aegis: permitted \(call_/))
    const read = parseAuthorizeRequest(server.of('authorize')[0]?.body ?? new Uint8Array())
    expect(read).toMatchObject({
      request: {
        toolCall: {
          tool: 'claude-code',
          action: 'Bash',
          mutates_state: true,
          parameters: { command: 'npm test', timeout: 60_000 },
        },
        session: 'session-1',
        sourceTrust: 'unknown',
      },
    })
  })

  it('deny', async () => {
    const { send } = await hooked({ decision: 'deny' })
    expect(await send(event)).toEqual(decision('deny', /^aegis: denied, policy_denied$/))
  })

  it('an approval that comes in time: allow', async () => {
    const { send, server } = await hooked({ states: ['pending', 'pending', 'approved'] })
    expect(await send(event)).toEqual(decision('allow', /permitted/))
    expect(server.of('consume')).toHaveLength(1)
  })

  it('an approval that does not: deny, and the same call finds the same approval later', async () => {
    const told: string[] = []
    const onApproval: HookOptions['onApproval'] = ({ approval }) => void told.push(approval.approvalId)
    const { send, server } = await hooked({ states: ['pending', 'approved'] }, { waitMs: 0, onApproval })
    expect(await send(event)).toEqual(decision('deny', /^aegis: apr_\d+ waits for release-managers/))
    const other = { ...event, tool_input: { command: 'npm publish' } }
    expect(await send(other)).toEqual(decision('deny', /waits for/))
    expect(await send({ ...event, session_id: 'session-2' })).toEqual(decision('deny', /waits for/))
    expect(await send({ ...event, tool_use_id: 'toolu_2' })).toEqual(decision('allow', /permitted/))
    expect(server.of('authorize')).toHaveLength(3)
    expect(new Set(told).size).toBe(3)
    // It was for one use.
    expect(await send({ ...event, tool_use_id: 'toolu_3' })).toEqual(decision('deny', /waits for/))
  })

  it('one that was denied by a human: deny, and the next call asks anew', async () => {
    const { send, server } = await hooked({ states: ['denied'] })
    expect(await send(event)).toEqual(decision('deny', /no authority, approval_denied/))
    await send(event)
    expect(server.of('authorize')).toHaveLength(2)
  })

  it('ask, where that was chosen', async () => {
    const { send } = await hooked({ states: ['pending'] }, { waitMs: 0, unapproved: 'ask' })
    expect(await send(event)).toEqual(decision('ask', /waits for release-managers/))
  })

  it('says of a tool what `toAction` and `context` say', async () => {
    const { send, server } = await hooked(
      { decision: 'allow' },
      {
        toAction: ({ toolName, input }) => ({
          tool: 'git',
          action: toolName.toLowerCase(),
          parameters: input,
        }),
        context: ({ cwd }) => ({ session: cwd, sourceTrust: 'trusted_internal_unsigned' }),
      },
    )
    await send(event)
    const read = parseAuthorizeRequest(server.of('authorize')[0]?.body ?? new Uint8Array())
    expect(read).toMatchObject({
      request: {
        toolCall: { tool: 'git', action: 'bash' },
        session: '/home/dev/app',
        sourceTrust: 'trusted_internal_unsigned',
      },
    })
  })
})

describe('every doubt is a deny', () => {
  it.each([
    ['no JSON', 'permissionDecision: allow'],
    ['nothing', ''],
    ['a member twice', JSON.stringify(event).replace('{', '{"tool_name":"Read",')],
    ['no tool', { ...event, tool_name: undefined }],
    ['no input', { ...event, tool_input: 'npm test' }],
    ['another event', { ...event, hook_event_name: 'PreToolUse ' }],
    ['an input that has no exact form', JSON.stringify(event).replace('60000', '-0')],
    ['a body of two mebibytes', { ...event, pad: 'x'.repeat(2 << 20) }],
  ])('%s', async (_name, body) => {
    const { send, server } = await hooked({ decision: 'allow' })
    expect(await send(body)).toEqual(decision('deny', /^aegis: /))
    expect(server.arrived).toEqual([])
  })

  it('the authorizer does not answer', async () => {
    const { send } = await hooked({
      routes: { authorize: (response) => sendProblem(response, 503, { code: 'unavailable' }) },
    })
    expect(await send(event)).toEqual(decision('deny', /^aegis: no authority, unavailable$/))
  })

  it('a function of the caller fails', async () => {
    const toAction = () => {
      throw new Error('a secret')
    }
    const { send } = await hooked({ decision: 'allow' }, { toAction })
    expect(await send(event)).toEqual(decision('deny', /^aegis: no decision$/))
  })

  it('a token that is not the one: 401, and nothing is asked', async () => {
    const { send, server, handler } = await hooked({ decision: 'allow' })
    for (const authorization of ['', 'Bearer', `Bearer ${token}x`, `Bearer ${token.slice(1)}`, token]) {
      expect(await send(event, { authorization })).toEqual({ status: 401, body: undefined })
    }
    const get = await handler(
      new Request('http://127.0.0.1/hook', { headers: { authorization: `Bearer ${token}` } }),
    )
    expect(get.status).toBe(405)
    expect(server.arrived).toEqual([])
  })

  it('a token that could be guessed is an error at once', () => {
    const aegis = new Aegis({ url: 'https://authorizer.example', key: authorizer.key })
    expect(() => claudeCodeHook(aegis, { token: 'short' })).toThrow('fewer than 16')
  })
})

describe('PostToolUse', () => {
  it('reports what came of the grant, once, and of no other call', async () => {
    const { send, server } = await hooked({ decision: 'allow' })
    await send(event)
    await send({ ...event, tool_use_id: 'toolu_2' })
    const done = { status: 200, body: {} }
    expect(await send({ ...event, hook_event_name: 'PostToolUse' })).toEqual(done)
    expect(await send({ ...event, hook_event_name: 'PostToolUse' })).toEqual(done)
    const failed = { ...event, hook_event_name: 'PostToolUseFailure', tool_use_id: 'toolu_2' }
    expect(await send({ ...failed, error: 'a secret' })).toEqual(done)
    expect(await send({ ...failed, tool_use_id: 'toolu_9' })).toEqual(done)
    const executions = server.of('report').map(({ body }) => {
      const read = parseReportRequest(body)
      return read.ok ? read.request.execution : undefined
    })
    expect(executions).toEqual([{ status: 'success' }, { status: 'trap', message: 'the tool failed' }])
  })

  it('says nothing to Claude Code when the report fails', async () => {
    const errors: unknown[] = []
    const { send } = await hooked(
      {
        decision: 'allow',
        routes: { report: (response) => sendProblem(response, 503, { code: 'unavailable' }) },
      },
      { onReportError: (error) => errors.push(error) },
    )
    await send(event)
    expect(await send({ ...event, hook_event_name: 'PostToolUse' })).toEqual({ status: 200, body: {} })
    expect(errors).toMatchObject([{ code: 'unavailable' }])
  })
})
