/** Settings: the table in docs/settings.md is the one in the code. */
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { integerSettings, otherSettings, parseSettings } from '../../src/policy/settings.ts'

function table(): string {
  const rows = Object.entries(integerSettings).map(([name, { standard, min, max, meaning, derivation }]) => [
    `\`${name}\``,
    String(standard),
    `${String(min)} to ${String(max)}`,
    meaning,
    derivation,
  ])
  for (const { name, standard, values, meaning, derivation } of otherSettings) {
    rows.push([`\`${name}\``, standard, values, meaning, derivation])
  }
  const all = [
    ['Setting', 'Default', 'Values', 'What it is', 'Why'],
    ['---', '---', '---', '---', '---'],
    ...rows,
  ]
  return all.map((row) => `| ${row.join(' | ')} |`).join('\n')
}

const document = `# Settings

\`settings.json\` of a bundle holds them. What is left out has its default; what is unknown is a finding. There is no route that
changes a setting: activate a bundle that has it. The code is \`src/policy/settings.ts\`, and a test holds this table to it
(\`UPDATE_DOCS=1 npx vitest run --project node test/policy/settings.test.ts\` writes it).

<!-- prettier-ignore -->
${table()}
`

describe('settings', () => {
  it('are documented as they are', () => {
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync('docs/settings.md', document)
    expect(readFileSync('docs/settings.md', 'utf8')).toBe(document)
  })
  it('have their defaults inside their bounds, and those are what an empty file means', () => {
    const settings = parseSettings({}, () => {
      throw new Error('an empty file has no findings')
    })
    for (const [name, { standard, min, max }] of Object.entries(integerSettings)) {
      expect(standard).toBeGreaterThanOrEqual(min)
      expect(standard).toBeLessThanOrEqual(max)
      expect(settings).toHaveProperty(name, standard)
    }
    expect(settings).toMatchObject({
      replay_window_ms: 300_000,
      approve_by_ms: 1_800_000,
      use_within_ms: 600_000,
      grant_ttl_ms: 60_000,
      body_bytes_max: 262_144,
      refused_calls_per_minute: 60,
      pending_per_agent: 20,
      pending_per_tenant: 1_000,
      envelope: 'on',
      agents_may_explain: false,
    })
    expect(settings.matched_rules_shown_to).not.toContain('agent')
    expect(settings.default_group).toBeUndefined()
  })
  it('keep one order of roles, and refuse a role that does not exist', () => {
    const codes: string[] = []
    const report = (_: readonly string[], code: string): void => void codes.push(code)
    expect(
      parseSettings({ matched_rules_shown_to: ['admin', 'agent'] }, report).matched_rules_shown_to,
    ).toEqual(['agent', 'admin'])
    expect(codes).toEqual([])
    parseSettings({ matched_rules_shown_to: ['root'] }, report)
    parseSettings({ agent_rate_per_s: 600 }, report)
    expect(codes).toEqual(['wrong_type', 'agent_above_tenant'])
  })
})
