/** `aegis seed new` and `aegis key derive`: what they print, and that no secret is printed. */
import { describe, expect, it } from 'vitest'
import { parseSeeds } from '../../src/crypto-node/index.ts'
import { vectorPath } from '../harness/vector-files.ts'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { buildCommand } from './command.ts'

const aegis = buildCommand()

describe('aegis seed new', () => {
  it('prints one entry of AEGIS_SEED, another each time', async () => {
    const [first, second] = [
      await aegis.run(['seed', 'new']),
      await aegis.run(['seed', 'new', '--number', '12']),
    ]
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toMatch(/^0:[0-9a-f]{64}\n$/)
    expect(second.stdout).toMatch(/^12:[0-9a-f]{64}\n$/)
    expect(first.stdout.slice(2)).not.toBe(second.stdout.slice(3))
    expect(parseSeeds(`${first.stdout.trim()},${second.stdout}`)).toMatchObject({
      kind: 'seeds',
      set: { current: 12 },
    })
  })

  it.each([['-1'], ['1.5'], ['01'], ['1000000'], ['']])('refuses the number %j', async (number) => {
    const { code, stdout, stderr } = await aegis.run(['seed', 'new', `--number=${number}`])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('--number')
  })

  it('names an argument that is too many', async () => {
    const { code, stdout, stderr } = await aegis.run(['seed', 'new', 'now'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe("error: unexpected argument 'now'\n")
  })
})

describe('aegis key derive', () => {
  const seed = '07'.repeat(32)
  const seedFile = aegis.file('seed', `0:${seed}\n`)
  const names = ['--deployment', 'prod', '--tenant', 'harbour', '--key-epoch', '0']

  it('prints the keys of SPEC.md section 11', async () => {
    const stated = readFileSync(vectorPath('11/final.keys.txt'), 'utf8')
    for (const epoch of ['0', '1']) {
      const args = [
        '--deployment',
        'prod',
        '--tenant',
        'harbour',
        '--key-epoch',
        epoch,
        '--seed-file',
        seedFile,
      ]
      const { code, stdout, stderr } = await aegis.run(['key', 'derive', ...args])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/^public_key [0-9a-f]{64}\nkey_id {5}[0-9a-f]{64}\n$/)
      expect(stated).toContain(stdout)
    }
  })

  it('reads standard input, gives JSON, and takes the highest seed or the one named', async () => {
    const two = `0:${seed},3:${'08'.repeat(32)}`
    const derive = async (...args: string[]): Promise<unknown> => {
      const { stdout } = await aegis.run(['key', 'derive', '--json', ...names, '--seed-file', '-', ...args], {
        input: two,
      })
      return JSON.parse(stdout)
    }
    const first = await derive('--seed-number', '0')
    expect(first).toEqual({
      public_key: 'a7b767de40f59c5a65373cdf5bcd3064c1bfc74f35c12cfec4ed5be0987e1a0a',
      key_id: '5eeadae0682648ac3e42e20c83c2e5b213fd1ef56c916ca1b7467ab4434ba8d1',
    })
    expect(await derive()).toEqual(await derive('--seed-number', '3'))
    expect(await derive()).not.toEqual(first)
  })

  it('never shows what a wrong seed file holds', async () => {
    for (const text of [`0:${'AB'.repeat(32)}`, `x${seed}`, seed, `0:${seed},0:${seed}`, '', '\u00ff']) {
      const file = aegis.file('wrong-seed', text)
      const { code, stdout, stderr } = await aegis.run(['key', 'derive', ...names, '--seed-file', file])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^error: --seed-file: [^\n]*\n$/)
      expect(stderr).not.toMatch(/[0-9a-f]{16}/i)
    }
  })

  it.each([
    ['--deployment', ['--deployment', 'Prod', '--tenant', 'harbour', '--key-epoch', '0', '--seed-file', 'x']],
    ['--tenant', ['--deployment', 'prod', '--tenant', 'a', '--key-epoch', '0', '--seed-file', 'x']],
    ['--key-epoch', ['--deployment', 'prod', '--tenant', 'harbour', '--key-epoch', '-1', '--seed-file', 'x']],
    ['--key-epoch', ['--deployment', 'prod', '--tenant', 'harbour', '--seed-file', 'x']],
    ['--seed-file', names],
    ['--seed', [...names, '--seed', seed]],
    ['--seed-number', [...names, '--seed-file', seedFile, '--seed-number', '4']],
  ])('a wrong or missing %s is a usage error', async (flag, args) => {
    const { code, stdout, stderr } = await aegis.run(['key', 'derive', ...args])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(flag)
    expect(stderr).not.toContain(seed)
  })

  it('an unreadable seed file is exit 2', async () => {
    const { code, stdout, stderr } = await aegis.run(['key', 'derive', ...names, '--seed-file', 'missing'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('--seed-file: missing')
  })
})

describe('aegis seed operator', () => {
  it('writes a key that only its owner can read, and prints the secret of it and nothing else', async () => {
    const file = join(aegis.folder, 'operator.key')
    const made = await aegis.run(['seed', 'operator', '--out', file])
    expect([made.code, made.stderr]).toEqual([0, ''])
    expect(made.stdout).toMatch(/^[0-9a-z]{52}\n$/)
    expect(readFileSync(file, 'utf8')).toBe(`aegis_operator_${made.stdout}`)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    // A key that is there is somebody's.
    const again = await aegis.run(['seed', 'operator', '--out', file])
    expect([again.code, again.stdout]).toEqual([2, ''])
    expect(again.stderr).toContain('--out')
    expect((await aegis.run(['seed', 'operator'])).code).toBe(1)
  })
})
