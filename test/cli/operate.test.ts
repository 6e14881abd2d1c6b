/**
 * Commands of operators and admins against the real system, in the order in which a tenant's life has them: each act says
 * what came of it, is in force, and prints no secret but into the file that was made for it.
 */
import { appendFileSync, cpSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startOperating } from './operating.ts'

const test = startOperating()
const { as, done, json } = test
const doneLine = (says: string) => new RegExp(`^done {2}${says} {2}revision \\d+ {2}call_[0-9a-z]{26}\\n$`)

describe('a tenant', () => {
  it('is created with its first admin key in a file of its own', async () => {
    const said = await done(
      'operator.key',
      'tenant',
      'create',
      'acme',
      '--admin',
      'ada@example.com',
      '--out',
      test.path('ada.key'),
    )
    expect(said).toMatch(
      /^done {2}tenant acme created with policy set [0-9a-f]{64}, admin key [0-9a-z]{16} of ada@example\.com, in .*ada\.key {2}revision \d+ {2}call_/,
    )
    expect(test.secret('ada.key')).toMatch(/^aegis_admin_acme_/)
    expect(statSync(test.path('ada.key')).mode & 0o777).toBe(0o600)
  })

  it('is not created twice, and no file stays behind', async () => {
    const ended = await as(
      'operator.key',
      'tenant',
      'create',
      'acme',
      '--admin',
      'x',
      '--out',
      test.path('again.key'),
    )
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/^error: POST .*\/v1\/tenants\/acme\/create: 409 already_exists: /)
    expect(() => statSync(test.path('again.key'))).toThrow('ENOENT')
  })

  it('asks where the key shall go before it asks for one', async () => {
    for (const where of [[], ['--print', '--out', test.path('both.key')]]) {
      const ended = await as('operator.key', 'tenant', 'create', 'other', '--admin', 'x', ...where)
      expect(ended).toMatchObject({ code: 1, stdout: '' })
      expect(ended.stderr).toContain('error: --out:')
    }
    const over = await as(
      'operator.key',
      'tenant',
      'create',
      'other',
      '--admin',
      'x',
      '--out',
      test.path('ada.key'),
    )
    expect(over.code).toBe(2)
    expect(over.stderr).toContain('it is there already, and is not overwritten')
    expect(await json('operator.key', 'tenant', 'list')).toEqual([{ tenant: 'acme' }])
  })

  it('is shown, listed, frozen and unfrozen', async () => {
    expect(await done('operator.key', 'tenant', 'list')).toBe('TENANT\nacme\n')
    expect(await done('operator.key', 'tenant', 'list', '-q')).toBe('acme\n')
    expect(await done('operator.key', 'tenant', 'freeze', 'acme')).toMatch(doneLine('tenant acme is frozen'))
    expect(await done('operator.key', 'tenant', 'show', 'acme')).toContain('\nstate       frozen')
    expect(await done('operator.key', 'tenant', 'unfreeze', 'acme')).toMatch(
      doneLine('tenant acme serves again'),
    )
    const [shown] = await json('operator.key', 'tenant', 'show', 'acme')
    expect(shown).toMatchObject({ tenant: 'acme', frozen: false, admins: 1, deployed: { active: true } })
    const nothing = await as('operator.key', 'tenant', 'recover', 'acme')
    expect([nothing.code, nothing.stderr]).toEqual([
      1,
      expect.stringMatching(/409 not_behind: .* \(call_id call_\w+\)\n$/),
    ])
  })

  it('takes its key from the environment too', async () => {
    const { system, aegis } = test
    const env = {
      AEGIS_URL: system.authorizer.url,
      AEGIS_OPERATOR_KEY: test.secret('operator.key'),
      AEGIS_API_KEY: test.secret('ada.key'),
    }
    expect(await aegis.run(['tenant', 'list', '-q'], { env })).toMatchObject({ code: 0, stdout: 'acme\n' })
    expect(await aegis.run(['agent', 'list', '-q'], { env })).toMatchObject({ code: 0, stdout: '' })
  })
})

describe('an agent', () => {
  it('is created, changed in part, and shown', async () => {
    const created = await done(
      'ada.key',
      'agent',
      'create',
      'desk',
      '--owner',
      'olga@example.com',
      '--role',
      'assistant',
      '--role',
      'merger',
      '--trust-max',
      'trusted_internal_signed',
    )
    expect(created).toMatch(doneLine('agent desk created, owned by olga@example\\.com'))
    expect(await done('ada.key', 'agent', 'change', 'desk', '--environment', 'production')).toMatch(
      doneLine('agent desk changed: environment "production"'),
    )
    expect((await json('ada.key', 'agent', 'show', 'desk'))[0]).toMatchObject({
      roles: ['assistant', 'merger'],
      environment: 'production',
      owner: 'olga@example.com',
    })
    expect(await done('ada.key', 'agent', 'change', 'desk', '--environment', 'production')).toBe(
      'unchanged  agent desk has this record already\n',
    )
    expect(await done('ada.key', 'agent', 'change', 'desk', '--no-roles', '-q')).toBe('')
    expect(
      await done('ada.key', 'agent', 'change', 'desk', '--role', 'assistant', '--force-approval'),
    ).toContain('force_approval true')
    expect(await done('ada.key', 'agent', 'change', 'desk', '--no-force-approval')).toContain(
      'force_approval false',
    )
    expect(await done('ada.key', 'agent', 'list')).toMatch(
      /^AGENT .*\ndesk +live +trusted_internal_signed +- +olga@example\.com +assistant\n$/,
    )
  })

  it('is frozen, unfrozen, and revoked for good', async () => {
    expect(await done('ada.key', 'agent', 'freeze', 'desk')).toMatch(doneLine('agent desk is frozen'))
    expect(await done('ada.key', 'agent', 'unfreeze', 'desk')).toMatch(doneLine('agent desk goes on'))
    await done('ada.key', 'agent', 'create', 'gone', '--owner', 'olga@example.com')
    expect(await done('ada.key', 'agent', 'revoke', 'gone')).toMatch(
      doneLine('agent gone is revoked, for good'),
    )
    const late = await as('ada.key', 'agent', 'unfreeze', 'gone')
    expect([late.code, late.stderr]).toEqual([
      1,
      expect.stringMatching(/409 agent_revoked: .* \(call_id call_\w+\)\n$/),
    ])
  })

  it('needs an owner, and a change needs something to change', async () => {
    expect((await as('ada.key', 'agent', 'create', 'x')).stderr).toContain('error: --owner:')
    expect((await as('ada.key', 'agent', 'change', 'desk')).stderr).toContain('nothing to change')
    expect(
      (await as('ada.key', 'agent', 'create', 'x', '--owner', 'y', '--trust-max', 'best')).stderr,
    ).toContain('malicious_suspected')
  })
})

describe('an API key', () => {
  it('is issued into a file, and is good at once', async () => {
    const said = await done(
      'ada.key',
      'apikey',
      'issue',
      '--role',
      'agent',
      '--agent',
      'desk',
      '--subject',
      'desk-prod',
      '--expires',
      '90d',
      '--out',
      test.path('desk.key'),
    )
    expect(said).toMatch(
      /^done {2}agent key [0-9a-z]{16} of desk-prod issued, until \d{4}-.*Z, in .*desk\.key {2}revision/,
    )
    for (const role of ['auditor', 'approver']) {
      await done(
        'ada.key',
        'apikey',
        'issue',
        '--role',
        role,
        '--subject',
        `${role}@example.com`,
        '--expires',
        '1d',
        '--out',
        test.path(`${role}.key`),
        '-q',
        ...(role === 'auditor' ? ['--envelopes'] : []),
      )
    }
    expect(await done('auditor.key', 'agent', 'list', '-q')).toBe('desk\ngone\n')
  })

  it('is on stdout alone where that was asked for', async () => {
    const { code, stdout, stderr } = await test.aegis.run(
      ['apikey', 'issue', '--role', 'auditor', '--subject', 'x', '--expires', '1h', '--print'],
      { env: { AEGIS_URL: test.system.authorizer.url, AEGIS_API_KEY: test.secret('ada.key') } },
    )
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^aegis_auditor_acme_[0-9a-z]+_[0-9a-z]{52}\n$/),
    ])
    expect(stderr).toMatch(/^done {2}auditor key /)
    expect(stderr).not.toContain(stdout.trim().slice(-52))
  })

  it('of an admin waits for a second one, who is not its holder', async () => {
    await done(
      'operator.key',
      'apikey',
      'issue',
      '--tenant',
      'acme',
      '--role',
      'admin',
      '--subject',
      'bob@example.com',
      '--expires',
      '1d',
      '--out',
      test.path('bob.key'),
    )
    const said = await done(
      'ada.key',
      'apikey',
      'issue',
      '--role',
      'admin',
      '--subject',
      'cleo@example.com',
      '--expires',
      '1d',
      '--out',
      test.path('cleo.key'),
    )
    const [, id] =
      /it opens nothing until another admin runs: aegis apikey confirm ([0-9a-z]{16})/.exec(said) ?? []
    expect((await as('cleo.key', 'agent', 'list')).stderr).toContain('401 unauthorized')
    const own = await as('ada.key', 'apikey', 'confirm', id ?? '')
    expect(own.stderr).toMatch(/403 confirmation_by_another: .* \(call_id call_\w+\)\n$/)
    expect(await done('bob.key', 'apikey', 'confirm', id ?? '')).toMatch(
      doneLine(`key ${id ?? ''} may be used`),
    )
    expect(await done('bob.key', 'apikey', 'confirm', id ?? '')).toMatch(
      /^unchanged {2}key \w+ may be used {2}revision \d+\n$/,
    )
    await done('cleo.key', 'agent', 'list')
    await done('bob.key', 'apikey', 'revoke', id ?? '')
    expect((await as('cleo.key', 'agent', 'list')).code).toBe(1)
    expect(await done('ada.key', 'apikey', 'list')).toMatch(
      new RegExp(`\\n${id ?? ''} +admin +revoked +.*cleo@example\\.com +- +ada@example\\.com\\n`),
    )
  })

  it('as a whole is no argument', async () => {
    const { code, stderr } = await as('ada.key', 'apikey', 'revoke', test.secret('desk.key'))
    expect([code, stderr]).toEqual([1, expect.stringContaining('that is a whole key')])
  })
})

describe('groups and tools', () => {
  it('groups are who is named, all of them', async () => {
    expect(await done('ada.key', 'group', 'set', 'approvers', 'Approver@example.com')).toMatch(
      doneLine('group approvers is Approver@example\\.com'),
    )
    expect(await done('auditor.key', 'group', 'list')).toMatch(
      /^GROUP +MEMBERS\napprovers +approver@example\.com\n$/,
    )
    expect((await as('ada.key', 'group', 'set', 'approvers')).stderr).toContain('--none')
  })

  it('a tool is frozen for all agents', async () => {
    expect(await done('ada.key', 'tool', 'freeze', 'github.merge_pr')).toMatch(
      doneLine('tool github\\.merge_pr is frozen'),
    )
    expect(await done('ada.key', 'tool', 'list')).toBe('FROZEN TOOL\ngithub.merge_pr\n')
    expect(await done('ada.key', 'tool', 'unfreeze', 'github.merge_pr')).toMatch(
      doneLine('tool github\\.merge_pr may be called again'),
    )
    const wrong = await as('ada.key', 'tool', 'freeze', 'GitHub.merge')
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('400 tool_id_invalid')])
  })
})

describe('policy sets', () => {
  const folder = (name: string) => join(test.path(name))
  const hashes: string[] = []

  it('are pushed from a folder whose cases pass, and put in force', async () => {
    const [shown] = await json('operator.key', 'tenant', 'show', 'acme')
    hashes.push(String(shown?.['policy_set_hash']))
    cpSync('policies/default', folder('mine'), { recursive: true })
    appendFileSync(
      join(folder('mine'), 'secrets.cedar'),
      '@id("mine.stop")\n@reason("not on Sundays")\nforbid (principal, action == Action::"github.get_issue", resource);\n',
    )
    const pushed = await done('ada.key', 'policy', 'push', folder('mine'), '--activate')
    const [, hash] =
      /^done {2}policy set ([0-9a-f]{64}) pushed {2}revision \d+ {2}call_\w+\ndone {2}policy set \1 is in force {2}/.exec(
        pushed,
      ) ?? []
    hashes.push(hash ?? '')
    expect(await done('auditor.key', 'policy', 'list')).toMatch(
      new RegExp(`\n${hash ?? ''} +\\d{4}-.*Z +\\d+ +active\\n`),
    )
  })

  it('are not pushed when a case fails, unless that was said', async () => {
    cpSync(folder('mine'), folder('broken'), { recursive: true })
    appendFileSync(
      join(folder('broken'), 'reads.cedar'),
      '@id("broken.all") forbid (principal, action, resource);\n',
    )
    const ended = await as('ada.key', 'policy', 'push', folder('broken'))
    expect([ended.code, ended.stdout]).toEqual([1, ''])
    expect(ended.stderr).toMatch(/fails \d+ cases?: see aegis policy test, or say --untested\n$/)
    expect(await done('ada.key', 'policy', 'push', folder('broken'), '--untested', '-q')).toBe('')
  })

  it('are compared in words, wherever they are', async () => {
    const ended = await as('auditor.key', 'policy', 'diff', hashes[0] ?? '', 'active')
    expect([ended.code, ended.stderr]).toEqual([1, ''])
    expect(ended.stdout).toBe(
      `a ${hashes[0] ?? ''}\nb ${hashes[1] ?? ''}\n+ policy mine.stop: forbids, reason "not on Sundays"\n`,
    )
    expect(await done('auditor.key', 'policy', 'diff', 'active', folder('mine'))).toMatch(
      /\nno difference\n$/,
    )
    expect((await as('auditor.key', 'policy', 'diff', '0'.repeat(64), 'active')).stderr).toContain(
      '404 not_found',
    )
  })

  it('are rolled back, and forward again', async () => {
    const back = await done('ada.key', 'policy', 'rollback')
    expect(back).toMatch(
      doneLine(`policy set ${hashes[0] ?? ''} is in force again, instead of ${hashes[1] ?? ''}`),
    )
    expect(await done('ada.key', 'policy', 'rollback')).toContain(`${hashes[1] ?? ''} is in force again`)
    await done('ada.key', 'policy', 'activate', hashes[0] ?? '')
    const states = (await json('ada.key', 'policy', 'list')).map(
      ({ policy_set_hash: hash, active, previous }) => [hash, active, previous],
    )
    expect(states).toContainEqual([hashes[0], true, false])
    expect(states).toContainEqual([hashes[1], false, true])
    expect((await as('ada.key', 'policy', 'activate', 'x')).stderr).toContain('64 lowercase hex')
  })

  it('are evaluated in the shadow', async () => {
    expect(await done('ada.key', 'policy', 'shadow', hashes[1] ?? '')).toContain(
      'is evaluated beside the one in force',
    )
    expect(await done('ada.key', 'policy', 'list')).toMatch(/ shadow, previous\n/)
    expect(await done('ada.key', 'policy', 'shadow', 'off')).toContain('no policy set is evaluated beside')
  })

  it('warn of a group that cannot approve', async () => {
    await done('ada.key', 'group', 'set', 'approvers', '--none')
    const ended = await as('ada.key', 'policy', 'activate', hashes[0] ?? '')
    expect([ended.code, ended.stderr]).toEqual([
      0,
      expect.stringMatching(
        /^warning: quorum_unreachable: the group approvers has 0 members, and 1 must approve/,
      ),
    ])
    await done('ada.key', 'group', 'set', 'approvers', 'approver@example.com')
  })
})

describe('what was printed', () => {
  it('has none of the secrets', () => {
    for (const name of [
      'operator.key',
      'ada.key',
      'bob.key',
      'cleo.key',
      'desk.key',
      'auditor.key',
      'approver.key',
    ]) {
      expect(test.printed.join('\n')).not.toContain(test.secret(name).slice(-52))
    }
  })
})
