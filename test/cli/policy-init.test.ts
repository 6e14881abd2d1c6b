/** `aegis policy init`: what it writes is valid, its cases pass, its guesses err towards a human, nothing is overwritten. */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ObservedArguments, declaredFacts } from '../../src/cli/argument-facts.ts'
import { draftBundle } from '../../src/cli/bundle-draft.ts'
import { type DraftedTool, draftCatalogue, guessRisk } from '../../src/cli/catalogue-draft.ts'
import { policyMeans } from '../../src/cli/policy-engine.ts'
import { bindArguments, describeFinding, readBundle, runCases } from '../../src/policy/index.ts'
import type { JsonObject } from '../../src/record/index.ts'
import { buildCommand } from './command.ts'

const aegis = buildCommand()
const means = policyMeans()

const schema = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    url: { type: 'string', format: 'uri' },
    api_key: { type: 'string' },
    body: { type: 'string' },
    dry_run: { type: ['boolean', 'null'] },
    count: { type: 'integer' },
    price: { type: 'number' },
    ratio: { type: 'number' },
    tags: { type: 'array', items: { type: 'string' } },
    items: {
      type: 'array',
      items: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] },
    },
    where: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    long: { type: 'string' },
  },
  required: ['path', 'count', 'items'],
} as const satisfies JsonObject

const mcp = JSON.stringify({
  tools: [
    {
      name: 'read_file',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    },
    { name: 'write_file', inputSchema: schema },
    { name: 'delete_file', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
    { name: 'Fetch', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  ],
})

describe('aegis policy init', { timeout: 60_000 }, () => {
  it('writes a bundle from tool schemas that validates and whose cases pass', async () => {
    const from = aegis.file('tools.json', mcp)
    const folder = join(aegis.folder, 'deep/files')
    const { code, stdout, stderr } = await aegis.run([
      'policy',
      'init',
      folder,
      '--from',
      from,
      '--tool',
      'files',
    ])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/files\.read_file +low +reads +the name says read\n/)
    expect(stdout).toMatch(/files\.delete_file +high +changes state +the name says delete\n/)
    const test = await aegis.run(['policy', 'test', folder, '--json'])
    expect(test.code).toBe(0)
    const hash = (JSON.parse(test.stdout) as { readonly policy_set_hash: string }).policy_set_hash
    expect(stdout).toContain(`policy_set_hash ${hash}\n`)
    const tools = readFileSync(join(folder, 'tools.json'), 'utf8')
    expect(tools.match(/REVIEW/g)).toHaveLength(4)
    // Nothing is left beside it.
    expect(readdirSync(join(aegis.folder, 'deep'))).toEqual(['files'])
  })

  it('writes one from recorded calls; lines that cannot be read are named, exit 3', async () => {
    const rows = [
      { tool: 'crm.get_user', arguments: { id: 'u1' } },
      { tool: 'crm.refund', arguments: { id: 'u1', amount: 5, payments: [{ amount: 2 }, { amount: 3 }] } },
    ]
    const input = `${rows.map((row) => JSON.stringify(row)).join('\n')}\nnonsense\n`
    const { code, stdout, stderr } = await aegis.run(['policy', 'init', 'calls', '--from', '-', '--json'], {
      input,
    })
    expect(code).toBe(3)
    expect(stderr).toContain('line 3 was left out')
    expect(JSON.parse(stdout)).toMatchObject({
      tools: [
        { tool_id: 'crm.get_user', risk: 'low', mutates_state: false, arguments_from: '1 call' },
        { tool_id: 'crm.refund', risk: 'high', mutates_state: true },
      ],
    })
    expect((await aegis.run(['policy', 'test', 'calls'])).code).toBe(0)
  })

  it('leaves out names that no tool can have, and says so', async () => {
    const input = JSON.stringify([
      { tool: 'crm.get', arguments: {} },
      { tool: 'two words', arguments: {} },
    ])
    const { code, stderr } = await aegis.run(['policy', 'init', 'names', '--from', '-'], { input })
    expect(code).toBe(1)
    expect(stderr).toContain('two words')
    expect((await aegis.run(['policy', 'validate', 'names'])).code).toBe(0)
  })

  it('never overwrites: a folder that holds anything, and a file', async () => {
    const from = aegis.file('tools.json', mcp)
    const full = join(aegis.folder, 'full')
    mkdirSync(full)
    writeFileSync(join(full, 'keep.txt'), 'mine')
    const { code, stdout, stderr } = await aegis.run(['policy', 'init', full, '--from', from])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('nothing is overwritten')
    expect(readdirSync(full)).toEqual(['keep.txt'])
    expect((await aegis.run(['policy', 'init', from, '--from', from])).code).toBe(1)
    expect(readFileSync(from, 'utf8')).toBe(mcp)
    // An empty one is taken.
    mkdirSync(join(aegis.folder, 'bare'))
    expect((await aegis.run(['policy', 'init', 'bare', '--from', from])).code).toBe(0)
  })

  it.each([
    ['a file without tools', '{"hello":1}', 1, 'holds no tool schema and no tool call'],
    ['a file that is no JSON', 'hello', 2, 'neither JSON Lines nor one JSON document'],
  ])('%s writes nothing', async (_, input, code, why) => {
    const ended = await aegis.run(['policy', 'init', 'nothing', '--from', '-'], { input })
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toContain(why)
    expect(readdirSync(aegis.folder)).not.toContain('nothing')
  })
})

describe('guesses', () => {
  it.each<[string, 'low' | 'medium' | 'high', boolean]>([
    ['get_user', 'low', false],
    ['search-flights', 'low', false],
    ['list', 'low', false],
    ['get_and_delete', 'high', true],
    ['delete_user', 'high', true],
    ['send_mail', 'high', true],
    ['run', 'high', true],
    ['update_user', 'medium', true],
    ['frobnicate', 'medium', true],
    ['getaway', 'medium', true],
  ])('%s: %s, changes state: %s', (action, risk, mutatesState) => {
    expect(guessRisk({ action })).toMatchObject({ risk, mutatesState })
  })

  it("an author's hint that a tool only reads does not outweigh a name that says otherwise", () => {
    expect(guessRisk({ action: 'delete_user', readOnlyHint: true }).mutatesState).toBe(true)
    expect(guessRisk({ action: 'frobnicate', readOnlyHint: true }).mutatesState).toBe(false)
    expect(guessRisk({ action: 'get_user', destructiveHint: true })).toMatchObject({
      risk: 'high',
      mutatesState: true,
    })
  })

  it('binds what policies compare, with its type, and no prose', () => {
    const drafted: DraftedTool = {
      tool: 't',
      action: 'a',
      facts: declaredFacts(schema),
      source: 'its schema',
    }
    expect(draftCatalogue([drafted])['t']?.['a']?.args).toEqual({
      path: { at: '/path', type: 'string', required: true },
      'net.url': { at: '/url' },
      api_key: { at: '/api_key', type: 'string', record: 'digest' },
      dry_run: { at: '/dry_run', type: 'boolean' },
      count: { at: '/count', type: 'integer', required: true },
      price: { at: '/price', type: 'decimal' },
      tags: { at: '/tags', type: 'set<string>' },
      items_count: { at: '/items/*', type: 'integer', aggregate: 'count', required: true },
      items_amount_sum: { at: '/items/*/amount', type: 'integer', aggregate: 'sum', required: true },
      where_city: { at: '/where/city', type: 'string' },
      long_value: { at: '/long', type: 'string' },
    })
  })
})

const key = fc.constantFrom(
  'id',
  'path',
  'url',
  'amount',
  'body',
  'token',
  'a/b',
  '*',
  '~',
  'é',
  '__proto__',
  'long',
  'x'.repeat(70),
)
const scalar = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer({ min: -9, max: 9 }),
  fc.constantFrom(1.5, 0.00001, 'text', '/abs/path', 'https://example.com/a', 'two\nlines', ''),
)
const parameters = fc.dictionary(
  key,
  fc.oneof(
    scalar,
    fc.array(fc.constantFrom('a', 'b'), { maxLength: 3 }),
    fc.array(fc.dictionary(key, scalar, { maxKeys: 3 }), { maxLength: 3 }),
    fc.dictionary(key, scalar, { maxKeys: 3 }),
  ),
  { maxKeys: 6 },
)

describe('whatever the calls were', { timeout: 60_000 }, () => {
  it('the bundle drafted from them is valid, its cases pass, and each of the calls binds', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(parameters, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
        (tools) => {
          const calls = tools.map((all) => all.map((one) => JSON.parse(JSON.stringify(one)) as JsonObject))
          const drafted = calls.map((all, at): DraftedTool => {
            const seen = new ObservedArguments()
            for (const one of all) seen.add(one)
            return {
              tool: 't',
              action: `${['get', 'set', 'drop'][at] ?? ''}_it`,
              facts: seen.facts(),
              source: 'calls',
            }
          })
          const encoder = new TextEncoder()
          const files = new Map([...draftBundle(drafted)].map(([path, text]) => [path, encoder.encode(text)]))
          const { bundle, findings } = readBundle(files, means)
          expect(findings.map(describeFinding)).toEqual([])
          if (bundle === undefined) return
          expect(runCases(bundle, means).flatMap(({ problems }) => problems)).toEqual([])
          for (const [at, all] of calls.entries()) {
            const action = bundle.policySet.catalogue.toolAction(`t.${drafted[at]?.action ?? ''}`)
            if (action === undefined) throw new Error('an action is lost')
            for (const one of all) expect(bindArguments(action, one)).toMatchObject({ ok: true })
          }
        },
      ),
      { numRuns: 60 },
    )
  })
})
