/**
 * What the walk through the commands of operators, admins, approvers and auditors shares: the real system, a runner that
 * remembers everything that was printed, and the secrets that must not be in it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { bundleWorker } from '../../examples/local/authorizer.ts'
import { developmentSecrets } from '../../examples/local/secrets.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type ToolCall, actionHash } from '../../src/record/index.ts'
import { type System, startSystem } from '../system/system.ts'
import { type Ended, type TestCommand, buildCommand } from './command.ts'

const operatorKey = `aegis_operator_${developmentSecrets.operatorSecret}`

export interface Operating {
  readonly aegis: TestCommand
  readonly system: System
  /** Everything that commands printed, but for what `print` names. */
  readonly printed: string[]
  /** Runs with the key in a file of the test's folder. */
  readonly as: (keyFile: string, ...args: readonly string[]) => Promise<Ended>
  /** The same, and it must end with 0; its stdout. */
  readonly done: (keyFile: string, ...args: readonly string[]) => Promise<string>
  /** The same with `--json`; every object that it printed. */
  readonly json: (keyFile: string, ...args: readonly string[]) => Promise<readonly Record<string, unknown>[]>
  readonly path: (name: string) => string
  readonly secret: (keyFile: string) => string
}

/** Call once at the top of a test file. */
export function startOperating(): Operating {
  const aegis = buildCommand()
  const printed: string[] = []
  let system: System | undefined
  beforeAll(async () => {
    system = await startSystem(await bundleWorker())
    aegis.file('operator.key', `${operatorKey}\n`)
  })
  afterAll(async () => {
    await system?.stop()
  })
  const path = (name: string): string => join(aegis.folder, name)
  const operating: Operating = {
    aegis,
    get system() {
      if (system === undefined) throw new Error('not started')
      return system
    },
    printed,
    async as(keyFile, ...args) {
      const ended = await aegis.run([
        ...args,
        '--url',
        operating.system.authorizer.url,
        '--key-file',
        path(keyFile),
      ])
      printed.push(ended.stdout, ended.stderr)
      return ended
    },
    async done(keyFile, ...args) {
      const { code, stdout, stderr } = await operating.as(keyFile, ...args)
      expect([args.join(' '), code, stderr]).toEqual([args.join(' '), 0, ''])
      return stdout
    },
    async json(keyFile, ...args) {
      const stdout = await operating.done(keyFile, ...args, '--json')
      return stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    },
    path,
    secret: (keyFile) => readFileSync(path(keyFile), 'utf8').trim(),
  }
  return operating
}

/** The tenant `acme` of Ada, its agent `desk`, and a key of each in `ada.key` and `desk.key`. */
export async function makeDesk({ done, path }: Operating, ...agentFlags: readonly string[]): Promise<void> {
  const admin = ['--admin', 'ada@example.com', '--out', path('ada.key')]
  await done('operator.key', 'tenant', 'create', 'acme', ...admin)
  await done('ada.key', 'agent', 'create', 'desk', '--owner', 'olga@example.com', ...agentFlags)
  const holder = ['--agent', 'desk', '--subject', 'desk', '--out', path('desk.key')]
  await done('ada.key', 'apikey', 'issue', '--expires', '1d', '--role', 'agent', ...holder)
}

export interface DeskAnswer {
  readonly call_id: string
  readonly decision: string
  readonly approval?: { readonly approval_id: string; readonly binding_hash: string }
}

/** The desk asks, under the trust that it claims. */
export async function askAsDesk(
  { system, secret }: Operating,
  asked: Pick<ToolCall, 'tool' | 'action' | 'mutates_state' | 'parameters'>,
  claimed = 'trusted_internal_signed',
): Promise<DeskAnswer> {
  const call: ToolCall = { ...asked, resource: null }
  const answer = await fetch(`${system.authorizer.url}/v1/authorize`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret('desk.key')}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      request_id: crypto.randomUUID(),
      timestamp: new Date().toISOString(),
      tool_call: call,
      action_hash: actionHash(call, nodeSuite),
      context: { source_trust: claimed, user: { id: 'u1' } },
    }),
  })
  return (await answer.json()) as DeskAnswer
}
