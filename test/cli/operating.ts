/**
 * What the walk through the commands of operators, admins, approvers and auditors shares: the real system, a runner that
 * remembers everything that was printed, and the secrets that must not be in it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { bundleWorker } from '../../examples/local/authorizer.ts'
import { developmentSecrets } from '../../examples/local/secrets.ts'
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
