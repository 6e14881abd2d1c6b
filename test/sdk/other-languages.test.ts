/** The examples for those without TypeScript, as they stand in examples/, against an authorizer of the tests. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { parseAuthorizeRequest, parseReportRequest } from '../../src/protocol/index.ts'
import { actionHash } from '../../src/record/index.ts'
import { type ApprovalServer, type Script, approvalServer, sendProblem } from './approval-server.ts'
import { TestAuthorizer } from './authorizer.ts'
import { sendJson } from './hostile-server.ts'

const authorizer = new TestAuthorizer(nodeSuite)
const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'aegis-examples-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function run(script: Script, program: string, ...args: string[]) {
  const server = await approvalServer(authorizer, script)
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, AEGIS_URL: server.url, AEGIS_API_KEY: authorizer.key },
  })
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { server, code, ...said }
}

/** What was asked: the server recomputes the hash as the Worker does. */
function checkAsked(server: ApprovalServer): unknown {
  const read = parseAuthorizeRequest(server.of('authorize')[0]?.body ?? new Uint8Array())
  if (!read.ok) throw new Error(JSON.stringify(read))
  expect(read.request.actionHash).toBe(actionHash(read.request.toolCall, nodeSuite))
  return read.request.toolCall.parameters
}

const reported = (server: ApprovalServer) =>
  server.of('report').map(({ body }) => {
    const read = parseReportRequest(body)
    return read.ok ? read.request.execution : 'refused'
  })

describe('examples/python/agent.py', () => {
  const text = 'caf\u00e9 \ud83c\udf27 "quoted" \\ \u0007 \u2028'
  const agent = (script: Script, path: string) =>
    run(script, 'python3', 'examples/python/agent.py', path, text)

  it('runs what is allowed, with exactly what was authorized, and reports it', async () => {
    const path = join(folder, 'allowed.txt')
    const { server, code, out, err } = await agent({ decision: 'allow' }, path)
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^wrote .*allowed\.txt under grt_\d+\n$/)
    expect(readFileSync(path, 'utf8')).toBe(text)
    expect(checkAsked(server)).toEqual({ path, text })
    expect(reported(server)).toEqual([{ status: 'success' }])
  })

  it('waits for an approval, uses it once, and runs', async () => {
    const path = join(folder, 'approved.txt')
    const { server, code, out } = await agent({ states: ['pending', 'approved'] }, path)
    expect(code).toBe(0)
    expect(out).toMatch(/^apr_\d+ waits for release-managers\nwrote /)
    expect(server.of('consume')).toHaveLength(1)
    expect(reported(server)).toEqual([{ status: 'success' }])
  })

  it.each([
    ['denied', { decision: 'deny' }, 'deny: policy_denied'],
    ['not approved', { states: ['denied'] }, 'is denied'],
    [
      'answered for something else',
      {
        routes: {
          authorize: (response, { body }) =>
            sendJson(response, {
              ...authorizer.answer(body, { decision: 'allow' }),
              receipt: authorizer.answer(new Uint8Array(), { decision: 'allow' }).receipt,
            }),
        },
      },
      'the receipt is for something else',
    ],
    [
      'denied and allowed in one answer',
      {
        routes: {
          authorize: (response, { body }) =>
            sendJson(
              response,
              JSON.stringify(authorizer.answer(body, { decision: 'allow' })).replace(
                '{',
                '{"decision":"deny",',
              ),
            ),
        },
      },
      'names a member twice',
    ],
    [
      'refused',
      { routes: { authorize: (response) => sendProblem(response, 403, { code: 'role_not_allowed' }) } },
      'role_not_allowed',
    ],
    [
      'redirected',
      {
        routes: {
          authorize: (response) => void response.writeHead(307, { location: '/v1/elsewhere' }).end(),
        },
      },
      'answered 307',
    ],
  ] satisfies [string, Script, string][])('runs nothing that is %s', async (name, script, said) => {
    const path = join(folder, `${name}.txt`)
    const { code, err, server } = await agent(script, path)
    expect(code).toBe(1)
    expect(err).toContain(said)
    expect(() => readFileSync(path)).toThrow('ENOENT')
    expect(server.of('report')).toEqual([])
  })

  it('reports the class of an error and not its message', async () => {
    const { server, code } = await agent({ decision: 'allow' }, join(folder, 'no', 'such', 'folder.txt'))
    expect(code).toBe(1)
    expect(reported(server)).toEqual([{ status: 'trap', message: 'FileNotFoundError' }])
  })
})

describe('examples/curl/walk.sh', () => {
  const walk = (script: Script) => run(script, 'bash', 'examples/curl/walk.sh')

  it('goes from the question to the report', async () => {
    const { server, code, out, err } = await walk({ states: ['approved'] })
    expect([code, err]).toEqual([0, ''])
    expect(out.replaceAll(/apr_\d+/g, 'apr_…').split('\n')).toEqual([
      'authorize: require_approval',
      'waiting: apr_…',
      'approval: approved',
      'consume: allow',
      'run: what stands in $action, and nothing else',
      'report: success',
      '',
    ])
    expect(checkAsked(server)).toEqual({ path: '/srv/notes/today.md', text: 'Rain.' })
    expect(reported(server)).toEqual([{ status: 'success' }])
  })

  it.each([
    ['a denial', { decision: 'deny' }, 'authorize: deny\n'],
    ['a denied approval', { states: ['denied'] }, 'approval: denied\n'],
  ] satisfies [string, Script, string][])('ends at %s', async (_name, script, said) => {
    const { server, code, out } = await walk(script)
    expect(code).toBe(1)
    expect(out).toContain(said)
    expect(server.of('report')).toEqual([])
  })
})
