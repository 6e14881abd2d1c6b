/** A Session that another implementation wrote verifies here, and five files that it refuses are refused alike. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { isKnownLine, nobleSuite, parseLine } from '../../src/record/index.ts'
import { toText } from '../../src/verify/index.ts'
import { toFile } from '../harness/chain.ts'
import { judge, toPins } from '../harness/judge.ts'
import { sharedPath } from '../harness/shared.ts'

interface Expected {
  readonly file: string | readonly string[]
  readonly verdict: string
  readonly reason: { readonly kind: string; readonly [member: string]: string } | null
  readonly at: { readonly session_index: number; readonly seq: number } | null
  readonly line: number | null
}

const folder = (name: string): string => sharedPath('vectors', 'aar', name)
const { keys, verify } = JSON.parse(readFileSync(folder('expected.json'), 'utf8')) as {
  readonly keys: Readonly<Record<string, string>>
  readonly verify: readonly Expected[]
}
const key = (name: string): string => keys[name] ?? ''

function bytesOf(file: Expected['file']): Uint8Array {
  if (typeof file === 'string') return new Uint8Array(readFileSync(folder(file)))
  return toFile(file.map((name) => Buffer.from(readFileSync(folder(name), 'utf8').trim())))
}

/** AAR's names for what SPEC.md §7.5 names. */
const reasons: Readonly<Record<string, string>> = {
  ChainBroken: 'prev_hash_mismatch',
  BadSignature: 'bad_signature',
  MalformedLine: 'malformed_line',
  UnknownLineType: 'unknown_line_type',
  TornFinalLine: 'torn_final_line',
}

/** AAR's evidence under our names. */
function evidenceOf(reason: Expected['reason']): object | undefined {
  if (reason?.kind === 'ChainBroken') return { want: reason['expected'], got: reason['found'] }
  if (reason?.kind === 'BadSignature') return { source: reason['source']?.toLowerCase() }
  if (reason?.kind === 'UnknownLineType') return { line_type: reason['line_type'] }
  return undefined
}

describe('files of another implementation', () => {
  it.each(verify)('$file: $verdict', ({ file, verdict, reason, at, line }) => {
    for (const suite of [nodeSuite, nobleSuite]) {
      const report = judge([bytesOf(file)], { suite })
      expect(report.verdict).toBe(verdict)
      if (report.verdict === 'verified') continue
      expect(report.finding.reason).toBe(reasons[reason?.kind ?? ''])
      expect(report.finding.at).toEqual(at ?? undefined)
      expect(report.finding.line).toBe(line)
      expect(report.finding.evidence).toEqual(evidenceOf(reason))
    }
  })

  const golden = bytesOf(verify[0]?.file ?? [])

  it('are a whole Session, pinned with its key and unpinned', () => {
    expect(toText(judge([golden], { suite: nodeSuite }))).toBe(
      `Verified (unpinned)\nkey_id ${key('dev_key_id')}\ncoverage session 0 seq 11\ncompleteness not proven\n`,
    )
    const pins = toPins([key('dev_public_key')], undefined) ?? []
    expect(toText(judge([golden], { suite: nodeSuite, pins }))).toContain(
      `Verified (pinned to ${key('dev_key_id')})\n`,
    )
    const foreign = toPins([key('foreign_public_key')], undefined) ?? []
    expect(toText(judge([golden], { suite: nodeSuite, pins: foreign }))).toContain(
      'Tampered untrusted_key at session 0 seq 0\n',
    )
  })

  it('have Lines that the strict decoder reads', () => {
    for (const row of Buffer.from(golden).toString().trimEnd().split('\n')) {
      const read = parseLine(Buffer.from(row))
      if (!read.ok) throw new Error(`${read.error.path} ${read.error.code}`)
      expect(isKnownLine(read.value)).toBe(true)
    }
  })
})
