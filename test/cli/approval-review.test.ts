/** What a person is shown of an approval: all of it, and nothing that could pass for ours. */
import { describe, expect, it } from 'vitest'
import { Members } from '../../src/cli/answer-members.ts'
import { findForeignHash, reviewText } from '../../src/cli/approval-review.ts'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { type JsonObject, actionHash, bindingHash, utf8, parseBody } from '../../src/record/index.ts'

const hash = (digit: string) => digit.repeat(64)
const id = `apr_${'0'.repeat(26)}`
const look = { columns: 80, full: false, now: Date.parse('2026-11-30T12:00:00.000Z') }

/** A review whose hashes are of what it shows. */
function review(call: object = {}, more: object = {}): JsonObject {
  const toolCall = {
    tool: 'Files',
    action: 'write',
    resource: null,
    mutates_state: true,
    parameters: { path: '/tmp/a' },
    ...call,
  } as Parameters<typeof actionHash>[0]
  const named = {
    approval_id: id,
    state: 'pending',
    call_id: 'call_1',
    tool_id: 'files.write',
    groups: ['approvers'],
    quorum: 1,
    approve_by: '2026-11-30T12:30:00.000Z',
    agent: 'desk',
    environment: 'production',
    request: { tool_call: toolCall, context: { source_trust: 'trusted_internal_signed' } },
    derived: { fs: { path: '/tmp/a' } },
    risk: { level: 'medium', score: 50 },
    source_trust: { effective: 'semi_trusted_customer', claimed: 'trusted_internal_signed' },
    matched_rules: ['changes.semi-trusted'],
    why: { code: 'approval_required', detail: 'a change needs a person' },
    votes: [],
    grants: { expires_in_ms: 600_000 },
    policy_set_hash: hash('c'),
    request_digest: hash('d'),
    ...more,
  }
  const action = actionHash(toolCall, nodeSuite)
  const binding = bindingHash(
    {
      action_hash: action,
      agent_id: named.agent,
      approval_id: id,
      approve_by: Date.parse(named.approve_by),
      approver_groups: named.groups,
      call_id: named.call_id,
      environment: named.environment,
      policy_set_hash: named.policy_set_hash as never,
      quorum: named.quorum,
      request_digest: named.request_digest as never,
      source_trust: named.source_trust.effective,
      tenant: 'acme',
      use_within_ms: named.grants.expires_in_ms,
    },
    nodeSuite,
  )
  const read = parseBody(utf8(JSON.stringify({ ...named, action_hash: action, binding_hash: binding })))
  if (!read.ok) throw new Error('no review')
  return read.value
}

const textOf = (object: JsonObject, more: Partial<typeof look> = {}) =>
  reviewText(new Members(object, ''), { ...look, ...more })

describe('an approval', () => {
  it('is shown with everything that is to be judged', () => {
    const text = textOf(review({}, { on_behalf_of: 'u1' }))
    expect(text).toContain(
      `approval ${id}: pending\nto be approved by 2026-11-30T12:30:00.000Z (in 30 min, by the clock here)\nasked: approvers; 1 must approve\n`,
    )
    expect(text).toContain('who asks: the agent\n    | "desk"\nfor whom, as the agent says\n    | "u1"\n')
    expect(text).toContain(
      'what it wants to do\n    | "files.write"\ntool and action, as the agent sent them\n    | "Files"\n    | "write"\non what: it names nothing\n',
    )
    expect(text).toContain(
      'every argument, 1 in all\n    | /path = "/tmp/a"\nwhat policies read of the arguments, and nothing else of them\n    | /fs/path = "/tmp/a"\n',
    )
    expect(text).toContain(
      'risk medium, 50 of 100\nsource trust semi_trusted_customer; the agent claimed trusted_internal_signed, which its record cuts\n',
    )
    expect(text).toContain(
      'the rules that decided this\n    | "changes.semi-trusted"\nwhy a person is needed (approval_required)\n    | "a change needs a person"\n',
    )
    expect(text).toContain('must be used within 600 s of the last approval')
    expect(text).toMatch(
      /\nbinding_hash {4}[0-9a-f]{64}\naction_hash {5}[0-9a-f]{64}\npolicy_set_hash c{64}\nrequest_digest {2}d{64}\n/,
    )
  })

  it('has no line of a value that looks like one of ours, whatever the value', () => {
    const hostile = 'x"\nbinding_hash    0000\n\u001b[1A\u202eApprove exactly this? [y/N] '
    const object = review(
      {
        tool: hostile,
        action: hostile,
        resource: hostile,
        parameters: { [hostile]: hostile, list: [hostile, 5, '5', null, {}, []] },
      },
      {
        agent: hostile,
        on_behalf_of: hostile,
        environment: hostile,
        tool_id: hostile,
        matched_rules: [hostile],
        groups: [hostile],
        why: { code: hostile, detail: hostile },
        derived: { [hostile]: hostile },
      },
    )
    const text = textOf(object)
    expect(text).not.toContain('\u001b')
    expect(text).not.toContain('\u202e')
    const ours = text.split('\n').filter((line) => !line.startsWith('    | '))
    expect(ours.filter((line) => line.startsWith('binding_hash'))).toEqual([
      `binding_hash    ${JSON.stringify(object['binding_hash']).slice(1, -1)}`,
    ])
    expect(ours.some((line) => line.startsWith('Approve exactly'))).toBe(false)
    // What stands inside our own lines is cut and has no break.
    expect(ours.every((line) => line.length < 200)).toBe(true)
    expect(text).toContain(
      '    | /list/1 = 5\n    | /list/2 = "5"\n    | /list/3 = null\n    | /list/4 = {}\n    | /list/5 = []\n',
    )
  })

  it('shows the ends of a long value, and says outside of it what is missing', () => {
    const value = `${'a'.repeat(500)}rm -rf${'b'.repeat(500)}`
    const cut = textOf(review({ parameters: { command: value } }))
      .split('\n')
      .filter((line) => line.startsWith('    | '))
      .map((line) => line.slice(6))
      .join('')
    expect(cut).toContain(
      `"${'a'.repeat(384)}" [526 of 1006 characters are not shown here; --full shows them] "${'b'.repeat(96)}"`,
    )
    const whole = textOf(review({ parameters: { command: value } }), { full: true })
    expect(whole.replaceAll('\n    | ', '')).toContain(`/command = "${value}"`)
  })

  it('quotes a name that could pass for more than a name', () => {
    expect(textOf(review({ parameters: { 'path = "/ok"': '/etc' } }))).toContain(
      '    | /"path = \\"/ok\\"" = "/etc"\n',
    )
  })

  it('counts the arguments that it leaves out, and shows all on request', () => {
    const parameters = Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`p${String(at)}`, at]))
    const text = textOf(review({ parameters }))
    expect(text).toContain('every argument, 600 in all\n')
    expect(text).toContain('arguments that are not shown: 100; --full shows all\n')
    expect(textOf(review({ parameters }), { full: true })).toContain('    | /p599 = 599\n')
  })
})

describe('the hashes of an approval', () => {
  const foreign = (object: JsonObject, tenant = 'acme') => findForeignHash(new Members(object, ''), tenant)

  it('are computed from what is shown', () => {
    expect(foreign(review())).toBeUndefined()
    expect(foreign(review(), 'other')).toBe('binding_hash')
  })

  it.each([
    ['agent', 'other'],
    ['environment', ''],
    ['approve_by', '2026-11-30T12:30:00.001Z'],
    ['groups', ['others']],
    ['quorum', 2],
    ['policy_set_hash', hash('e')],
    ['request_digest', hash('e')],
    ['source_trust', { effective: 'trusted_internal_signed' }],
    ['grants', { expires_in_ms: 600_001 }],
    ['call_id', 'call_2'],
  ])('show when %s is another', (name, value) => {
    expect(foreign({ ...review(), [name]: value })).toBe('binding_hash')
  })

  it('show when an argument is another', () => {
    const object = review()
    const { request } = review({ parameters: { path: '/etc/shadow' } })
    expect(foreign({ ...object, request: request ?? null })).toBe('action_hash')
  })
})
