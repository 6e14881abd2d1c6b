/** Acts of admins over HTTP: by whom, recorded with their actor, in force at the very next decision, or without effect. */
import { beforeAll, describe, expect, it } from 'vitest'
import { parseApiKey } from '../../../src/protocol/index.ts'
import { type Answer, type Authorizer, body, provisionAuthorizer } from './authorizer.ts'
import { ask, decisionOf, operatorKey } from './operator.ts'
import { testBundle } from './test-bundle.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

const hash = 'c'.repeat(64)
const readers = ['admin', 'auditor']
const keyRequest = { role: 'auditor', subject: 'x', expires_at: '2099-01-01T00:00:00.000Z' }

/** Every route of admins, with a body that would do. */
const routes: readonly (readonly [Method, string, readonly string[], unknown?])[] = [
  ['GET', '/v1/agents', readers],
  ['GET', '/v1/agents/bot', readers],
  ['POST', '/v1/agents', ['admin'], { id: 'made', owner: 'x' }],
  ['PUT', '/v1/agents/bot', ['admin'], { owner: 'x' }],
  ['POST', '/v1/agents/bot/freeze', ['admin']],
  ['POST', '/v1/agents/bot/unfreeze', ['admin']],
  ['POST', '/v1/agents/bot/revoke', ['admin']],
  ['GET', '/v1/groups', readers],
  ['PUT', '/v1/groups/leads', ['admin'], { members: [] }],
  ['GET', '/v1/keys', readers],
  ['POST', '/v1/keys', ['admin'], keyRequest],
  ['POST', '/v1/keys/0123456789abcdef/confirm', ['admin']],
  ['POST', '/v1/keys/0123456789abcdef/revoke', ['admin']],
  ['GET', '/v1/tools', readers],
  ['POST', '/v1/tools/github.read/freeze', ['admin']],
  ['POST', '/v1/tools/github.read/unfreeze', ['admin']],
  ['POST', '/v1/freeze', ['admin']],
  ['GET', '/v1/policies', readers],
  ['POST', '/v1/policies', ['admin'], '{}'],
  ['POST', `/v1/policies/${hash}/activate`, ['admin']],
  ['POST', `/v1/policies/${hash}/shadow`, ['admin']],
  ['DELETE', '/v1/policies/shadow', ['admin']],
]

describe('who may', () => {
  let acme: Authorizer
  beforeAll(async () => {
    acme = await provisionAuthorizer('adm-roles')
  })

  it.each(routes.map(([method, path, roles, sent]) => ({ method, path, roles, sent })))(
    '$method $path: nobody but $roles',
    async ({ method, path, roles, sent }) => {
      const revision = await revisionOf(acme)
      for (const [name, key] of [...acme.keys, ['operator', operatorKey] as const]) {
        const parsed = parseApiKey(key)
        if (parsed?.kind === 'tenant' && roles.includes(parsed.role)) continue
        const answer = await ask(key, method, path, sent)
        expect([name, answer.status, answer.body.code]).toEqual([name, 403, 'role_not_allowed'])
      }
      expect((await ask('x', method, path, sent)).status).toBe(401)
      expect(await revisionOf(acme)).toBe(revision)
    },
  )

  it('another tenant is not there', async () => {
    const other = await provisionAuthorizer('adm-other')
    await other.addAgent('theirs')
    const admin = acme.key('admin')
    const theirs = [
      ['GET', '/v1/agents/theirs'],
      ['POST', '/v1/agents/theirs/freeze'],
      ['POST', `/v1/keys/${other.keyIds.get('theirs') ?? ''}/revoke`],
      ['POST', `/v1/keys/${other.keyIds.get('theirs') ?? ''}/confirm`],
    ] as const
    for (const [method, path] of theirs) {
      const foreign = await ask(admin, method, path)
      expect([path, foreign.status, foreign.body.code]).toEqual([path, 404, 'not_found'])
    }
    expect(await decisionOf(other.key('theirs'))).toBe('allow permitted')
  })
})

async function revisionOf(authorizer: Authorizer): Promise<unknown> {
  return (await ask(operatorKey, 'GET', `/v1/tenants/${authorizer.tenant}`)).body['revision']
}

describe('an act', () => {
  let acme: Authorizer
  beforeAll(async () => {
    acme = await provisionAuthorizer('adm-acts')
  })

  const admin = (method: Method, path: string, sent?: unknown) => ask(acme.key('admin'), method, path, sent)
  const done = async (method: Method, path: string, sent?: unknown): Promise<Answer> => {
    const answer = await admin(method, path, sent)
    expect([path, answer.status, answer.text.slice(0, 300)]).toEqual([
      path,
      200,
      expect.any(String) as string,
    ])
    return answer
  }

  it('is a Call with its actor, its receipt the answer', async () => {
    const answer = await done('POST', '/v1/agents', { id: 'seen', owner: 'olga@example.com' })
    const last = (await acme.lines()).at(-1)
    expect(last?.text).toBe(answer.body.receipt?.line)
    expect(last).toMatchObject({
      tool_id: 'aegis/agent.create',
      call_id: answer.body.call_id,
      policy: { status: 'allowed' },
      decision_axes: {
        decided_by: 'admin',
        actor: { role: 'admin', api_key: acme.keyIds.get('admin'), subject: 'admin@example.com' },
      },
    })
  })

  it('holds at the next decision, with a Worker that had cached the state before', async () => {
    const bot = acme.key('bot')
    const steps: readonly (readonly [Method, string, unknown, string])[] = [
      ['POST', '/v1/agents/bot/freeze', undefined, 'deny agent_frozen'],
      ['POST', '/v1/agents/bot/unfreeze', undefined, 'allow permitted'],
      ['POST', '/v1/tools/github.read/freeze', undefined, 'deny tool_frozen'],
      ['POST', '/v1/tools/github.read/unfreeze', undefined, 'allow permitted'],
      ['PUT', '/v1/agents/bot', { owner: 'o', trust_max: 'malicious_suspected' }, 'deny policy_denied'],
      ['PUT', '/v1/agents/bot', { owner: 'o' }, 'allow permitted'],
      ['POST', '/v1/freeze', undefined, 'deny tenant_frozen'],
    ]
    expect(await decisionOf(bot)).toBe('allow permitted')
    for (const [method, path, sent, decision] of steps) {
      await done(method, path, sent)
      expect([path, await decisionOf(bot)]).toEqual([path, decision])
    }
    expect((await ask(operatorKey, 'POST', `/v1/tenants/${acme.tenant}/unfreeze`)).status).toBe(200)
    expect(await decisionOf(bot)).toBe('allow permitted')
    await acme.addAgent('gone')
    await done('POST', '/v1/agents/gone/revoke')
    expect(await decisionOf(acme.key('gone'))).toBe('deny agent_revoked')
    expect((await admin('POST', '/v1/agents/gone/unfreeze')).body.code).toBe('agent_revoked')
  })

  it('on a group decides who may approve next', async () => {
    const main = { parameters: { base_branch: 'main' } }
    await done('PUT', '/v1/groups/leads', { members: [] })
    expect(await decisionOf(acme.key('bot'), main)).toBe('deny quorum_unreachable')
    await done('PUT', '/v1/groups/leads', { members: ['Lena@example.com'] })
    expect(await decisionOf(acme.key('bot'), main)).toMatch(/^require_approval/)
    const groups = await admin('GET', '/v1/groups')
    expect(groups.body['groups']).toEqual([{ name: 'leads', members: ['lena@example.com'] }])
    const { decision_axes: axes } = (await acme.lines()).findLast(
      ({ tool_id: tool, line_type: type }) => tool === 'aegis/group.change' && type === 'outcome',
    ) ?? { decision_axes: undefined }
    expect(axes).toMatchObject({ reason_text: 'group leads' })
  })

  it('that is refused is recorded, says its call_id, and changes nothing', async () => {
    const before = await Promise.all([revisionOf(acme), agentsOf()])
    const refused: readonly (readonly [Method, string, unknown, number, string])[] = [
      ['POST', '/v1/agents', { id: 'bot', owner: 'x' }, 409, 'already_exists'],
      ['PUT', '/v1/agents/nobody', { owner: 'x' }, 404, 'not_found'],
      ['POST', '/v1/agents/nobody/freeze', undefined, 404, 'not_found'],
      ['POST', '/v1/keys/0123456789abcdef/revoke', undefined, 404, 'not_found'],
      ['POST', '/v1/keys/0123456789abcdef/confirm', undefined, 404, 'not_found'],
      ['POST', '/v1/keys', { ...keyRequest, role: 'agent' }, 409, 'agent_required'],
      ['POST', '/v1/keys', { ...keyRequest, role: 'agent', agent: 'nobody' }, 404, 'not_found'],
      ['POST', '/v1/keys', { ...keyRequest, agent: 'bot' }, 403, 'role_not_allowed'],
      ['POST', '/v1/keys', { ...keyRequest, role: 'admin', envelopes: true }, 403, 'role_not_allowed'],
      ['POST', `/v1/policies/${hash}/activate`, undefined, 404, 'not_found'],
      ['POST', `/v1/policies/${hash}/shadow`, undefined, 404, 'not_found'],
    ]
    for (const [method, path, sent, status, code] of refused) {
      const answer = await admin(method, path, sent)
      expect([path, answer.status, answer.body.code]).toEqual([path, status, code])
      const last = (await acme.lines()).at(-1)
      expect(last).toMatchObject({ call_id: answer.body.call_id, policy: { status: 'denied', reason: code } })
      expect(answer.text).not.toContain('aegis_')
    }
    expect(await Promise.all([revisionOf(acme), agentsOf()])).toEqual(before)
  })

  it('that is malformed is not recorded, and names each member', async () => {
    const lines = (await acme.lines()).length
    const malformed: readonly (readonly [Method, string, unknown, string, readonly string[]])[] = [
      ['POST', '/v1/agents', { id: '../x', frozen: true }, 'body_invalid', ['id', 'owner', 'frozen']],
      ['POST', '/v1/agents', { id: 'a', owner: ' ' }, 'body_invalid', ['owner']],
      ['POST', '/v1/agents', { id: 'a', owner: 'o', roles: ['r', 'r'] }, 'body_invalid', ['roles']],
      ['POST', '/v1/agents', { id: 'a', owner: 'o', trust_max: 'best' }, 'body_invalid', ['trust_max']],
      ['POST', '/v1/agents', '{"id":"a","id":"b","owner":"o"}', 'body_malformed', []],
      ['PUT', '/v1/agents/bot', { id: 'bot', owner: 'o' }, 'body_invalid', ['id']],
      ['PUT', '/v1/groups/leads', { members: ['a', ''] }, 'body_invalid', ['members["1"]']],
      ['POST', '/v1/keys', { ...keyRequest, role: 'operator' }, 'body_invalid', ['role']],
      [
        'POST',
        '/v1/keys',
        { ...keyRequest, expires_at: '2020-01-01T00:00:00.000Z' },
        'body_invalid',
        ['expires_at'],
      ],
      [
        'POST',
        '/v1/keys',
        { ...keyRequest, expires_at: '2099-02-30T00:00:00.000Z' },
        'body_invalid',
        ['expires_at'],
      ],
      ['POST', '/v1/keys', { ...keyRequest, secret: 'mine' }, 'body_invalid', ['secret']],
      ['POST', '/v1/tools/GitHub.read/freeze', undefined, 'tool_id_invalid', []],
      ['POST', '/v1/tools/aegis%2Fagent.freeze/freeze', undefined, 'tool_id_invalid', []],
      ['POST', '/v1/tools/github/freeze', undefined, 'tool_id_invalid', []],
      ['POST', '/v1/tools/%E2%84%AAit.read/freeze', undefined, 'tool_id_invalid', []],
    ]
    for (const [method, path, sent, code, members] of malformed) {
      const answer = await admin(method, path, sent)
      expect([path, answer.status, answer.body.code]).toEqual([path, 400, code])
      expect((answer.body.members ?? []).map(({ member }) => member).sort()).toEqual([...members].sort())
    }
    expect((await acme.lines()).length).toBe(lines)
  })

  it('freezes tools with a slash in their names, and lists them', async () => {
    await done('POST', '/v1/tools/mcp%2Ffiles.read/freeze')
    expect((await admin('GET', '/v1/tools')).body['tools']).toEqual([
      { tool_id: 'mcp/files.read', frozen: true },
    ])
    await done('POST', '/v1/tools/mcp%2Ffiles.read/unfreeze')
    expect((await admin('GET', '/v1/tools')).body['tools']).toEqual([])
  })

  async function agentsOf(): Promise<unknown> {
    return (await admin('GET', '/v1/agents')).body['agents']
  }

  it('lists agents in pages, with their last call', async () => {
    const before = Date.now()
    await decisionOf(acme.key('bot'))
    const agents = (await agentsOf()) as readonly { id: string; last_call_at?: string }[]
    const bot = agents.find(({ id }) => id === 'bot')
    expect(Date.parse(bot?.last_call_at ?? '')).toBeGreaterThanOrEqual(before)
    expect(agents.find(({ id }) => id === 'seen')).toEqual({
      id: 'seen',
      owner: 'olga@example.com',
      environment: '',
      risk_tier: '',
      trust_max: 'semi_trusted_customer',
      force_approval: false,
      roles: [],
      frozen: false,
      revoked: false,
    })
    const rest = await admin('GET', `/v1/agents?after=${agents[0]?.id ?? ''}`)
    expect((rest.body['agents'] as readonly unknown[]).length).toBe(agents.length - 1)
    expect((await admin('GET', '/v1/agents/bot')).body['id']).toBe('bot')
    expect((await admin('GET', '/v1/agents/nobody')).status).toBe(404)
    expect((await ask(acme.key('auditor'), 'GET', '/v1/agents')).status).toBe(200)
  })
})

describe('the bucket of a tenant', () => {
  it('holds for acts and lists of admins, but not for what pulls the plug, nor for the operator', async () => {
    const acme = await provisionAuthorizer('adm-bucket', {
      settings: { agent_rate_per_s: 1, agent_burst: 3, tenant_rate_per_s: 1, tenant_burst: 3 },
    })
    const admin = (method: Method, path: string, sent?: unknown) => ask(acme.key('admin'), method, path, sent)
    const statuses: number[] = []
    for (let time = 0; time < 5; time += 1) statuses.push((await admin('GET', '/v1/agents')).status)
    expect(statuses).toContain(429)
    const limited = await admin('POST', '/v1/agents', { id: 'late', owner: 'o' })
    expect([limited.status, limited.headers.get('ratelimit')?.startsWith('"tenant_rate"')]).toEqual([
      429,
      true,
    ])
    for (const path of [
      '/v1/tools/github.read/freeze',
      '/v1/agents/bot/freeze',
      `/v1/keys/${acme.keyIds.get('approver') ?? ''}/revoke`,
      '/v1/agents/bot/revoke',
      '/v1/freeze',
    ]) {
      expect([path, (await admin('POST', path)).status]).toEqual([path, 200])
    }
    const operator = await ask(operatorKey, 'POST', '/v1/tenants/adm-bucket/unfreeze')
    expect(operator.status).toBe(200)
  })
})

describe('policy sets', () => {
  let acme: Authorizer
  beforeAll(async () => {
    acme = await provisionAuthorizer('adm-policy')
  })

  const admin = (method: Method, path: string, sent?: unknown) => ask(acme.key('admin'), method, path, sent)
  const policies = async () =>
    (await admin('GET', '/v1/policies')).body['policies'] as readonly {
      policy_set_hash: string
      pushed_at?: string
      active: boolean
      shadow: boolean
      deployed: boolean
    }[]

  it('are pushed, activated with warnings, rolled back, and listed with the deployed one', async () => {
    const [first] = (await policies()).filter(({ active }) => active)
    const bundle = testBundle({
      policies: '@id("stop") forbid(principal, action == Action::"github.read", resource);',
      settings: { approver_groups: { leads: { quorum: 2 }, owners: { quorum: 1 } } },
    })
    const pushed = await admin('POST', '/v1/policies', bundle.bytes)
    expect([pushed.status, pushed.body['policy_set_hash']]).toEqual([200, bundle.policySetHash])
    expect(await decisionOf(acme.key('bot'))).toBe('allow permitted')
    const activated = await admin('POST', `/v1/policies/${bundle.policySetHash}/activate`)
    expect(activated.body).toMatchObject({
      outcome: 'done',
      warnings: [
        { code: 'quorum_unreachable', group: 'leads', quorum: 2, members: 1 },
        { code: 'quorum_unreachable', group: 'owners', quorum: 1, members: 0 },
      ],
    })
    expect(await decisionOf(acme.key('bot'))).toBe('deny policy_denied')
    const listed = await policies()
    expect(listed.find(({ active }) => active)?.policy_set_hash).toBe(bundle.policySetHash)
    const deployed = listed.filter((entry) => entry.deployed)
    expect(deployed).toHaveLength(1)
    expect(deployed[0]).not.toHaveProperty('pushed_at')
    const back = await admin('POST', `/v1/policies/${first?.policy_set_hash ?? ''}/activate`)
    expect(back.status).toBe(200)
    expect(await decisionOf(acme.key('bot'))).toBe('allow permitted')
    // By its hash alone: it is pushed with that.
    const [own] = deployed
    expect((await admin('POST', `/v1/policies/${own?.policy_set_hash ?? ''}/activate`)).status).toBe(200)
    expect((await policies()).find((entry) => entry.deployed)).toMatchObject({
      active: true,
      pushed_at: expect.any(String) as string,
    })
    expect(await decisionOf(acme.key('bot'))).toBe('deny unknown_tool')
    expect((await admin('POST', `/v1/policies/${first?.policy_set_hash ?? ''}/activate`)).status).toBe(200)
  })

  it('are evaluated in the shadow, and no more', async () => {
    const bundle = testBundle({ policies: '@id("all") forbid(principal, action, resource);' })
    await admin('POST', '/v1/policies', bundle.bytes)
    expect((await admin('POST', `/v1/policies/${bundle.policySetHash}/shadow`)).status).toBe(200)
    expect((await policies()).find(({ shadow }) => shadow)?.policy_set_hash).toBe(bundle.policySetHash)
    expect(await decisionOf(acme.key('bot'))).toBe('allow permitted')
    expect((await acme.lastOutcome()).text).toContain(`"policy_set_hash":"${bundle.policySetHash}"`)
    expect((await admin('DELETE', '/v1/policies/shadow')).status).toBe(200)
    await decisionOf(acme.key('bot'))
    expect((await acme.lastOutcome()).text).not.toContain('"shadow"')
  })

  it('that could not run are refused with what is wrong, and not kept', async () => {
    const { bytes } = testBundle()
    const text = new TextDecoder().decode(bytes)
    const count = (await policies()).length
    const wrong: readonly (readonly [string, string])[] = [
      ['not JSON', '{'],
      ['not canonical', ` ${text}`],
      ['another format', text.replace('"format":1', '"format":2')],
      [
        'an unknown argument',
        text.replaceAll('base_branch', 'base_brunch').replace('"base_brunch"', '"base_branch"'),
      ],
      ['a setting out of bounds', text.replace('"agent_burst":20000', '"agent_burst":0')],
    ]
    for (const [what, sent] of wrong) {
      const answer = await admin('POST', '/v1/policies', sent)
      expect([what, answer.status, answer.body.code]).toEqual([what, 400, 'body_invalid'])
      expect([what, (answer.body.members ?? []).length > 0]).toEqual([what, true])
    }
    const long = await admin('POST', '/v1/policies', `"${'x'.repeat(1_048_576)}"`)
    expect([long.status, long.body.code]).toEqual([413, 'body_too_large'])
    expect((await policies()).length).toBe(count)
  })

  it('answer an admin and an auditor in the bytes that are hashed', async () => {
    const { bytes, policySetHash } = testBundle()
    for (const name of ['admin', 'auditor']) {
      const answer = await ask(acme.key(name), 'GET', `/v1/policies/${policySetHash}`)
      expect([answer.status, answer.text]).toEqual([200, new TextDecoder().decode(bytes)])
    }
    expect((await admin('GET', '/v1/policies?after=x')).body.code).toBe('query_invalid')
  })
})

it('an act in the middle of decisions leaves none under the old state behind its answer', async () => {
  const acme = await provisionAuthorizer('adm-race')
  const bot = acme.key('bot')
  await decisionOf(bot)
  const calls = Array.from({ length: 20 }, () => ask(bot, 'POST', '/v1/authorize', body()))
  const frozen = await ask(acme.key('admin'), 'POST', '/v1/agents/bot/freeze')
  const after = await Promise.all(Array.from({ length: 20 }, () => decisionOf(bot)))
  expect(new Set(after)).toEqual(new Set(['deny agent_frozen']))
  await Promise.all(calls)
  const lines = await acme.lines()
  const at = lines.findIndex(({ text }) => text === frozen.body.receipt?.line)
  const later = lines
    .slice(at + 1)
    .filter(({ agent_id, line_type }) => agent_id === 'bot' && line_type === 'outcome')
  expect(later.map(({ policy }) => policy?.reason)).toEqual(later.map(() => 'agent_frozen'))
})
