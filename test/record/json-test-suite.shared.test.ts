/** The syntax reader against JSONTestSuite; docs/json-test-suite.md says what it decides where the RFC is open. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { lineRules, parameterRules, readJson } from '../../src/record/index.ts'
import { decide, readSuite, tableRow } from '../harness/json-test-suite.ts'

const suite = readSuite()
const named = (prefix: string): typeof suite => suite.filter((file) => file.name.startsWith(prefix))

describe('the syntax reader', () => {
  it('reads every text that must be read, but the two that name a member twice', () => {
    expect(named('y_').length).toBeGreaterThan(90)
    const refused = named('y_').flatMap((file) =>
      decide(file.bytes) === 'read' ? [] : [[file.name, decide(file.bytes)]],
    )
    expect(refused).toEqual([
      ['y_object_duplicated_key.json', 'duplicate_key'],
      ['y_object_duplicated_key_and_value.json', 'duplicate_key'],
    ])
  })

  it('refuses every text that must be refused', () => {
    expect(named('n_').length).toBeGreaterThan(180)
    expect(named('n_').filter((file) => decide(file.bytes) === 'read')).toEqual([])
  })

  it('decides the others as docs/json-test-suite.md says, each one of them', () => {
    const page = readFileSync(
      fileURLToPath(new URL('../../docs/json-test-suite.md', import.meta.url)),
      'utf8',
    )
    // However wide the columns are set.
    const rows = page
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.replace(/ +/g, ' '))
    expect(rows).toEqual(named('i_').map(tableRow))
    expect(named('y_').length + named('n_').length + named('i_').length).toBe(suite.length)
  })

  it('lets none of those that are open through a profile', () => {
    for (const rules of [lineRules, parameterRules]) {
      expect(named('i_').filter((file) => readJson(file.bytes, rules).ok)).toEqual([])
    }
  })
})
