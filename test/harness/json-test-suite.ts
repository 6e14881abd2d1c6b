/** nst/JSONTestSuite: its files, and what the syntax reader decides where RFC 8259 leaves it open. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readJson, syntaxRules } from '../../src/record/index.ts'
import { sharedPath } from './shared.ts'

export interface SuiteFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/** The 318 files of `test_parsing/`. */
export function readSuite(): readonly SuiteFile[] {
  const folder = mkdtempSync(join(tmpdir(), 'aegis-json-suite-'))
  try {
    const archive = readdirSync(sharedPath('vectors', 'jsontestsuite')).find((name) =>
      name.endsWith('.tar.gz'),
    )
    if (archive === undefined) throw new Error('no JSONTestSuite archive')
    execFileSync('tar', ['-xzf', sharedPath('vectors', 'jsontestsuite', archive), '-C', folder])
    const parsing = join(folder, 'test_parsing')
    return readdirSync(parsing)
      .sort()
      .map((name) => ({ name, bytes: new Uint8Array(readFileSync(join(parsing, name))) }))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** `read`, or the code of the refusal. */
export function decide(bytes: Uint8Array): string {
  const read = readJson(bytes, syntaxRules)
  return read.ok ? 'read' : read.error.code
}

/** A row of docs/json-test-suite.md. */
export function tableRow(file: SuiteFile): string {
  const decision = decide(file.bytes)
  return `| \`${file.name}\` | ${decision === 'read' ? 'read' : `refused: \`${decision}\``} |`
}
