/** `aegis recheck` and `aegis policy coverage` as processes: reports, exit codes, files, threads, and hostile Chains. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { RecheckPool } from '../../src/cli/recheck-pool.ts'
import { RowBatcher } from '../../src/cli/row-batch.ts'
import { Forge } from '../harness/forge.ts'
import { type RecheckVector, inputBytes, readCases } from '../harness/vector-files.ts'
import { buildCommand } from './command.ts'

const aegis = buildCommand()
const sample = fileURLToPath(new URL('../../examples/recheck', import.meta.url))
const chain = join(sample, 'chain.aarl')
const envelopes = ['--envelopes', join(sample, 'envelopes')]
const bundle = ['--policy', join(sample, 'bundle')]
const proposed = ['--policy', join(sample, 'proposed')]

/** A folder that goes away with the tests, with these files. */
function folder(name: string, files: Readonly<Record<string, string | Uint8Array>>): string {
  const path = join(aegis.folder, name)
  mkdirSync(path, { recursive: true })
  for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content)
  return path
}

const rowsOf = (stdout: string): readonly string[] =>
  stdout.split('\n').filter((line) => line.startsWith('call ') || line.startsWith('row '))

describe('the vectors', () => {
  const vectors = readCases<RecheckVector>('10/rechecks')

  // A process costs a tenth of a second: every third, both numbers of threads.
  it.concurrent.each(vectors.filter((_, at) => at % 3 === 0).map((vector, at) => ({ ...vector, at })))(
    '$name',
    async ({ at, envelopes: kept, expect: expected, files, name, policies, policy }) => {
      const args = ['recheck', '--threads', at % 2 === 0 ? '1' : '2']
      if (policy !== undefined) args.push('--policy', aegis.file(`${name}.json`, policy))
      if (policies !== undefined) {
        const named = Object.entries(policies).map(([hash, text]) => [`${hash}.json`, text])
        args.push(
          '--policies',
          folder(`${name}.policies`, Object.fromEntries(named) as Record<string, string>),
        )
      }
      if (kept !== undefined) args.push('--envelopes', folder(`${name}.envelopes`, kept))
      for (const [number, file] of files.entries()) {
        args.push(aegis.file(`${name}.${String(number)}.aarl`, inputBytes(file)))
      }
      const { code, stdout } = await aegis.run(args)
      expect({ exit: code, rows: rowsOf(stdout) }).toEqual(expected)
    },
  )
})

describe('aegis recheck', () => {
  it('says row by row, then in sums, what changes', async () => {
    const { code, stderr, stdout } = await aegis.run(['recheck', ...proposed, ...envelopes, chain])
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    const changed = rowsOf(stdout).filter((row) => !row.includes(': unchanged '))
    expect(changed.map((row) => row.replace(/^call \S+ /, ''))).toEqual([
      'session 0 seq 28: newly_parked was=allowed',
      'session 0 seq 35: newly_blocked was=pending_approval now=denied',
      'session 0 seq 38: newly_blocked was=allowed now=denied',
      'session 0 seq 44: newly_allowed was=denied now=allowed',
    ])
    expect(stdout).toContain(
      '\n\n11 rechecked: 7 unchanged, 2 newly_blocked, 1 newly_allowed, 1 newly_parked, 0 indeterminate\n',
    )
    expect(stdout).toContain('\nrule            before  after\n(unknown_tool)       1      1\n')
    const less = await aegis.run(['recheck', '--changed', ...proposed, ...envelopes, chain])
    expect(rowsOf(less.stdout)).toEqual(changed)
    expect(less.stdout.slice(less.stdout.indexOf('\n\n'))).toBe(stdout.slice(stdout.indexOf('\n\n')))
  })

  it('finds everything unchanged under the own sets', async () => {
    const ended = await aegis.run(['recheck', '--policies', join(sample, 'policies'), ...envelopes, chain])
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(rowsOf(ended.stdout)).toHaveLength(11)
    const [hash = ''] =
      /[0-9a-f]{64}/.exec(readFileSync(chain, 'utf8').match(/"policy_set_hash":"1\w+/)?.[0] ?? '') ?? []
    const object = join(sample, 'policies', `${hash}.json`)
    expect((await aegis.run(['recheck', '--policy', object, ...envelopes, chain])).stdout).toBe(ended.stdout)
  })

  it('prints an object a row, and the sums last', async () => {
    const { stdout } = await aegis.run(['recheck', '--json', ...proposed, ...envelopes, chain])
    const objects = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(objects).toHaveLength(12)
    expect(objects[2]).toMatchObject({
      seq: 28,
      tool_id: 'desk.refund',
      agent_id: 'clerk',
      verdict: 'newly_parked',
      reason: null,
      was: { status: 'allowed', rules: ['small-refunds'] },
      now: { status: 'pending_approval', rules: ['large-refunds'], groups: ['managers'], quorum: 1 },
    })
    expect(objects.at(-1)).toMatchObject({
      summary: { calls: 11, newly_allowed: 1, by_agent: [{ name: 'clerk', newly_blocked: 2 }] },
    })
  })

  it('writes a comment for a pull request', async () => {
    const { code, stdout } = await aegis.run(['recheck', '--markdown', ...proposed, ...envelopes, chain])
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^### Recheck: policy set `[0-9a-f]{64}`\n\nOf 11 calls recorded under the policy, 4 /,
    )
    expect(stdout).toContain('| newly_allowed was=denied now=allowed | `house-cards` | `charges` |\n')
    const same = await aegis.run(['recheck', '--markdown', ...bundle, ...envelopes, chain])
    expect(same.code).toBe(0)
    expect(same.stdout).toContain('Nothing changes: 11 calls ')
  })

  it('fails on the differences that are named, and on those only', async () => {
    const on = async (kinds: string, ...more: readonly string[]): Promise<number | null> =>
      (await aegis.run(['recheck', '--fail-on', kinds, ...proposed, ...more, chain])).code
    expect(await on('newly_allowed', ...envelopes)).toBe(1)
    expect(await on('newly_parked,newly_blocked', ...envelopes)).toBe(1)
    const blocked = await aegis.run([
      'recheck',
      '--since',
      '2026-11-30T12:00:08Z',
      '--fail-on',
      'newly_blocked',
      ...proposed,
      ...envelopes,
      chain,
    ])
    expect(blocked.code).toBe(0)
    // What cannot be judged outranks every difference.
    expect(await on('newly_allowed')).toBe(3)
  })

  it('leaves out what was decided before --since, and follows it all the same', async () => {
    const { code, stdout } = await aegis.run([
      'recheck',
      '--since',
      '2026-11-30T12:00:04Z',
      ...bundle,
      ...envelopes,
      chain,
    ])
    expect(code).toBe(0)
    // The use of an approval that was given before.
    expect(rowsOf(stdout)[0]).toContain('session 0 seq 33: unchanged allowed')
    expect(stdout).toContain(', 4 before --since\n')
  })

  it('says the same for any number of threads, locale, zone and cut of the input', async () => {
    const bytes = readFileSync(chain)
    // More than one batch for each thread.
    const many = aegis.file('many.aarl', Buffer.concat(Array.from({ length: 40 }, () => bytes)))
    const args = ['recheck', ...proposed, ...envelopes]
    const [first, ...others] = await Promise.all([
      aegis.run([...args, '--threads', '1', many]),
      aegis.run([...args, '--threads', '2', many], { env: { TZ: 'Asia/Kathmandu', LANG: 'tr_TR.UTF-8' } }),
      aegis.run([...args, '--threads', '5', '-'], { input: readFileSync(many) }),
      aegis.run([...args, ...Array.from({ length: 40 }, () => chain)]),
    ])
    expect(rowsOf(first?.stdout ?? '')).toHaveLength(440)
    for (const other of others) expect(other).toEqual(first)
    const json = await aegis.run([...args, '--json', '--threads', '1', many])
    expect((await aegis.run([...args, '--json', '--threads', '3', many])).stdout).toBe(json.stdout)
  })

  it('uses no set and no Envelope whose hash is another, and says so', async () => {
    const hash = 'policy_set_hash":"'
    const text = readFileSync(chain, 'utf8')
    const own = text.slice(text.lastIndexOf(hash) + hash.length).slice(0, 64)
    const object = readFileSync(join(sample, 'policies', `${own}.json`), 'utf8')
    const sets = folder('altered', { [`${own}.json`]: object.replace('1000', '1001') })
    const ended = await aegis.run(['recheck', '--threads', '2', '--policies', sets, chain])
    expect(ended.code).toBe(3)
    expect(ended.stdout).toContain('\nindeterminate: 11 unknown_policy_set_hash\n')
    expect(ended.stderr).toMatch(/^aegis recheck: \S+\.json is not used: its SHA-256 is [0-9a-f]{64}\n$/)
    const kept = folder('too-large', {})
    const charge = JSON.parse(text.split('\n').find((line) => line.includes('"seq":42,')) ?? '{}') as {
      readonly request_digest: string
    }
    writeFileSync(join(kept, charge.request_digest), Buffer.alloc(3_000_000))
    const altered = await aegis.run(['recheck', ...bundle, '--envelopes', kept, chain])
    expect(altered.code).toBe(3)
    expect(altered.stdout).toContain('\nindeterminate: 1 missing_envelope, 1 envelope_digest_mismatch\n')
  })

  it('exits with 2 where a file cannot be read, in any thread', async () => {
    const kept = folder('unreadable', {})
    const text = readFileSync(chain, 'utf8')
    const charge = JSON.parse(text.split('\n').find((line) => line.includes('"seq":42,')) ?? '{}') as {
      readonly request_digest: string
    }
    mkdirSync(join(kept, charge.request_digest))
    for (const threads of ['1', '2']) {
      const ended = await aegis.run(['recheck', '--threads', threads, ...bundle, '--envelopes', kept, chain])
      expect(ended.code).toBe(2)
      expect(ended.stderr).toMatch(/^error: cannot read \S+: it is not a file\n$/)
    }
    for (const [args, message] of [
      [['--policy', '/nowhere', chain], /^error: cannot read --policy: \/nowhere: there is no such file/],
      [['--policies', chain, chain], /^error: --policies: \S+ is not a folder/],
      [[...bundle, '--envelopes', chain, chain], /^error: --envelopes: \S+ is not a folder/],
      [[...bundle, '/nowhere'], /^error: cannot read \/nowhere: there is no such file/],
    ] as const) {
      const ended = await aegis.run(['recheck', ...args])
      expect(ended).toMatchObject({ code: 2, stdout: '' })
      expect(ended.stderr).toMatch(message)
    }
  })

  it.each([
    [[chain], /--policy or --policies is needed/],
    [[...bundle, '--policies', sample, chain], /--policy or --policies is needed, and not both/],
    [[...bundle, '--json', '--markdown', chain], /--json and --markdown exclude each other/],
    [[...bundle, '--fail-on', 'unchanged', chain], /--fail-on .*newly_blocked, newly_allowed, newly_parked/],
    [[...bundle, '--fail-on', '', chain], /--fail-on/],
    [[...bundle, '--since', 'yesterday', chain], /--since/],
    [[...bundle, '--threads', '0', chain], /--threads/],
    [['--policy', chain, chain], /--policy: \S+ is neither a bundle's folder nor a bundle object/],
    [bundle, /missing required argument 'file'/],
  ] as const)('%j is a usage error', async (args, message) => {
    const ended = await aegis.run(['recheck', ...args])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(message)
  })

  it('reads on in this thread when another one is lost', async () => {
    const warned: string[] = []
    const pool = new RecheckPool({
      threads: 3,
      startAfter: 0,
      source: { policySet: { kind: 'folder', folder: aegis.folder } },
      since: undefined,
      workerUrl: new URL(
        `data:text/javascript,${encodeURIComponent('setTimeout(() => { throw new Error("lost") }, 50)')}`,
      ),
      warn: (sentence) => warned.push(sentence),
    })
    const batcher = new RowBatcher()
    const bytes = readFileSync(chain)
    for (let copy = 0; copy < 40; copy += 1) batcher.push(bytes)
    const batches = batcher.take(true)
    expect(batches.length).toBeGreaterThan(8)
    let rows = 0
    const count = (): void => {
      for (const readings of pool.take()) rows += readings.length
    }
    for (const batch of batches) {
      await pool.put(batch)
      count()
    }
    await pool.drain()
    count()
    await pool.end()
    expect(rows).toBe(40 * bytes.toString('utf8').trimEnd().split('\n').length)
  })
})

describe('a hostile Chain', () => {
  it('writes no control character and no line of the report, in any form', async () => {
    const evil = '\u001b]0;owned\u0007\u202e\r\n`|<b>'
    const forge = new Forge().open()
    for (let at = 0; at < 3; at += 1) {
      forge.outcome(`${evil}${String(at)}`, {
        tool_id: evil.repeat(100),
        agent_id: evil,
        policy: { status: 'denied', reason: evil },
        decision_axes: {
          matched_rules: [evil],
          ...(at === 1 ? { decided_by: 'pipeline' } : {}),
          shadow: { policy_set_hash: '0'.repeat(64), status: evil, matched_rules: [evil] },
        },
      })
    }
    const file = aegis.file('evil.aarl', forge.close().file)
    for (const form of [[], ['--json'], ['--markdown']]) {
      const { code, stdout } = await aegis.run(['recheck', ...form, ...bundle, file])
      expect(code).toBe(3)
      expect(stdout).toMatch(/^[\n\u0020-\u007e]*$/)
      // Three rows and no fourth: what looks like one is inside a name.
      expect(rowsOf(stdout)).toHaveLength(form.length === 0 ? 3 : 0)
      // No name ends the code span that it stands in.
      expect(form.includes('--markdown') ? stdout : '').not.toContain('`|')
    }
    const coverage = await aegis.run(['policy', 'coverage', join(sample, 'bundle'), file])
    expect(coverage.stdout).toMatch(/^[\n\u0020-\u007e]*$/)
  })

  it('has rows that are named where they are no Lines, and all others judged', async () => {
    const whole = readFileSync(chain, 'utf8').split('\n')
    const broken = [
      '{"line_type":"outcome"}',
      '[]',
      '{}',
      `{"a":"${'x'.repeat(70_000)}"}`,
      `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
      '{"call_id":1,"line_type":"outcome","seq":1}',
    ]
    const file = aegis.file('broken.aarl', [...broken, ...whole].join('\n'))
    const { code, stdout } = await aegis.run(['recheck', ...bundle, ...envelopes, file])
    expect(code).toBe(3)
    expect(rowsOf(stdout).slice(0, 6)).toEqual([
      'row 1 is no Line: member_invalid',
      'row 2 is no Line: not_an_object',
      'row 3 is no Line: member_invalid',
      'row 4 is no Line: line_too_long',
      'row 5 is no Line: not_an_object',
      'row 6 is no Line: member_invalid',
    ])
    expect(
      rowsOf(stdout)
        .slice(6)
        .every((row) => row.includes(': unchanged ')),
    ).toBe(true)
  })
})

describe('aegis policy coverage', () => {
  it('counts which policies decide, and names what is never used', async () => {
    const args = ['policy', 'coverage', join(sample, 'bundle'), ...envelopes, chain]
    const { code, stderr, stdout } = await aegis.run(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('\n11 calls evaluated: 10 decided by a policy, 1 by none\n')
    expect(stdout).toContain('\npolicies that decided a call: 6 of 6\n       4  large-refunds\n')
    expect(stdout).toContain('\ntools that were never used: 1\n          desk.export_customers\n')
    const told = JSON.parse((await aegis.run([...args, '--json'])).stdout) as object
    expect(told).toMatchObject({
      calls: 11,
      undecided: 1,
      never_fired: [],
      undecided_by_tool: [{ name: 'desk.delete_customer', calls: 1 }],
      undecided_by_code: [{ name: 'unknown_tool', calls: 1 }],
      never_used: ['desk.export_customers'],
    })
  })

  it('takes what the very set answered from the record, and exits with 3 where another cannot be asked', async () => {
    const own = await aegis.run(['policy', 'coverage', join(sample, 'bundle'), chain])
    expect(own.code).toBe(0)
    const other = await aegis.run(['policy', 'coverage', join(sample, 'proposed'), chain])
    expect(other.code).toBe(3)
    expect(other.stdout).toContain(', 2 that cannot be evaluated\n')
    expect(other.stdout).toContain('\npolicies that never fired: 1\n          charges\n')
  })

  it('needs a bundle without errors', async () => {
    const ended = await aegis.run(['policy', 'coverage', sample, chain])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
  })
})
