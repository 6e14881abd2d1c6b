/**
 * A bundle as its author keeps it: a folder of `tools.json`, `settings.json`, `*.cedar` and `cases/` (policy.md §1).
 * Reads all of it, validates all of it, and reports every finding with its file and line. The folder is read by the
 * caller: this floor knows no file system. What it becomes: policy-set.ts.
 */
import {
  type Digester,
  type JsonObject,
  type JsonValue,
  decodeUtf8,
  findInvalidUtf8,
  isJsonObject,
  parameterRules,
  readJson,
} from '../record/index.ts'
import { type BundleCase, parseCases } from './cases.ts'
import { parseCatalogue } from './catalogue.ts'
import type { Engine } from './engine.ts'
import { type Finding, formatFinding, hasErrors, lineAt, lineOfMember } from './finding.ts'
import { guardPolicyText, policyLimits } from './guard.ts'
import type { Report } from './members.ts'
import { type LocatePolicy, type PolicySet, composePolicySet } from './policy-set.ts'
import { type PolicyPiece, findWord, splitPolicies } from './scan.ts'
import { parseSettings } from './settings.ts'
import { validatePolicySet } from './validate.ts'

/** Path within the bundle, with `/`, to the file's bytes. */
export type BundleFiles = ReadonlyMap<string, Uint8Array>

export interface Bundle {
  readonly policySet: PolicySet
  readonly objectBytes: Uint8Array
  readonly cases: readonly BundleCase[]
}

export interface ReadBundle {
  /** Absent iff a finding is an error. */
  readonly bundle: Bundle | undefined
  /** In the order of files and lines. */
  readonly findings: readonly Finding[]
}

/** Reads and validates a bundle. The order of the files does not matter. */
export function readBundle(
  files: BundleFiles,
  means: { readonly engine: Engine; readonly digester: Digester },
): ReadBundle {
  const findings: Finding[] = []
  const texts = readTexts(files, findings)
  const tools = readJsonFile('tools.json', texts, findings)
  if (!files.has('tools.json')) {
    const fix = 'add it; `aegis policy init` writes one from tool schemas'
    findings.push(fileFinding('tools.json', 'missing_file', 'the tool catalogue is missing', fix))
  }
  const settingsReport = reporter('settings.json', texts, findings)
  const settings = parseSettings(readJsonFile('settings.json', texts, findings) ?? {}, settingsReport)
  const catalogue = parseCatalogue(tools ?? {}, means.digester, reporter('tools.json', texts, findings))
  const { policies, locate } = readPolicies(texts, means.engine, findings)
  const cases: BundleCase[] = []
  for (const [file] of texts) {
    if (!file.startsWith('cases/')) continue
    const value = readJsonFile(file, texts, findings)
    if (value !== undefined) cases.push(...parseCases(file, value, reporter(file, texts, findings)))
  }
  const composed = composePolicySet({ settings, catalogue, policies }, means.digester, findings, locate)
  if (composed !== undefined) findings.push(...validatePolicySet(composed.policySet, means.engine, locate))
  findings.sort(byPlace)
  if (composed === undefined || hasErrors(findings)) return { bundle: undefined, findings }
  return { bundle: { ...composed, cases }, findings }
}

function byPlace(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return (a.line ?? 0) - (b.line ?? 0)
}

function isBundleFile(file: string): boolean {
  return /^(tools\.json|settings\.json|[^/]+\.cedar|cases\/[^/]+\.json)$/.test(file)
}

/** Documents beside a bundle; they decide nothing. */
function isDocument(file: string): boolean {
  return /^[^/]+\.md$/.test(file)
}

/** Texts by file, sorted by name. */
function readTexts(files: BundleFiles, findings: Finding[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  if (files.size > policyLimits.filesMax) {
    findings.push(fileFinding('bundle', 'too_many_files', 'more than 500 files', 'merge some'))
    return texts
  }
  for (const file of [...files.keys()].sort()) {
    const bytes = files.get(file) as Uint8Array
    if (isDocument(file)) continue
    if (!isBundleFile(file)) {
      const fix = 'a bundle has tools.json, settings.json, *.cedar, cases/*.json and *.md: move or rename it'
      findings.push(fileFinding(file, 'unknown_file', 'the file is no part of a bundle', fix))
    } else if (bytes.length > policyLimits.fileBytesMax) {
      findings.push(fileFinding(file, 'file_too_large', 'the file is over 1 MiB', 'split it'))
    } else if (findInvalidUtf8(bytes) !== undefined) {
      findings.push(fileFinding(file, 'not_readable', 'the file is not UTF-8', 'save it as UTF-8'))
    } else texts.set(file, decodeUtf8(bytes))
  }
  return texts
}

function readJsonFile(
  file: string,
  texts: ReadonlyMap<string, string>,
  findings: Finding[],
): JsonValue | undefined {
  const text = texts.get(file)
  if (text === undefined) return undefined
  const read = readJson(new TextEncoder().encode(text), parameterRules)
  if (read.ok) return read.value
  findings.push(formatFinding(file, text, read.error))
  return undefined
}

function reporter(file: string, texts: ReadonlyMap<string, string>, findings: Finding[]): Report {
  return (path, code, message, fix) => {
    const text = texts.get(file)
    const line = text === undefined ? {} : { line: lineOfMember(text, path) }
    findings.push({ severity: 'error', code, file, ...line, message, fix })
  }
}

function fileFinding(file: string, code: string, message: string, fix: string): Finding {
  return { severity: 'error', code, file, message, fix }
}

interface Source {
  readonly file: string
  readonly piece: PolicyPiece
}

interface ReadPolicies {
  readonly policies: ReadonlyMap<string, JsonObject>
  readonly locate: LocatePolicy
}

function readPolicies(texts: ReadonlyMap<string, string>, engine: Engine, findings: Finding[]): ReadPolicies {
  const policies = new Map<string, JsonObject>()
  const sources = new Map<string, Source>()
  for (const [file, text] of texts) {
    if (!file.endsWith('.cedar')) continue
    for (const piece of splitPolicies(text)) {
      const json = parsePolicy(file, piece, engine, findings)
      if (json === undefined) continue
      const id = isJsonObject(json['annotations']) ? json['annotations']['id'] : undefined
      if (typeof id !== 'string') {
        findings.push(
          pieceFinding(file, piece, 'missing_id', 'the policy has no @id', 'add @id("…") before it'),
        )
        continue
      }
      const first = sources.get(id)
      if (first !== undefined) {
        const message = `the id ${id} is that of ${first.file}:${String(first.piece.line)} too`
        findings.push({ ...pieceFinding(file, piece, 'duplicate_id', message, 'rename one'), policyId: id })
        continue
      }
      policies.set(id, json)
      sources.set(id, { file, piece })
    }
  }
  const locate: LocatePolicy = (id, word) => {
    const source = sources.get(id)
    if (source === undefined) return { file: 'bundle' }
    const at = word === undefined ? undefined : findWord(source.piece.text, word)
    const line = source.piece.line + (at === undefined ? 0 : lineAt(source.piece.text, at) - 1)
    return { file: source.file, line }
  }
  return { policies, locate }
}

function parsePolicy(
  file: string,
  piece: PolicyPiece,
  engine: Engine,
  findings: Finding[],
): JsonObject | undefined {
  const refuse = (code: string, message: string, fix: string, line = piece.line): undefined => {
    findings.push({ ...pieceFinding(file, piece, code, message, fix), line })
    return undefined
  }
  const problem = guardPolicyText(piece)
  if (problem !== undefined) return refuse(problem.code, `the policy ${problem.message}`, problem.fix)
  if (piece.hasSlot) {
    return refuse('template', 'the policy is a template', 'write it without ?principal and ?resource')
  }
  const answer = engine.call((cedar) => cedar.policyToJson(piece.text))
  if (!answer.ok) return refuse('engine_failed', 'the policy broke the engine', 'simplify it')
  if (answer.value.type === 'failure') {
    const [error] = answer.value.errors
    const label = error?.sourceLocations?.[0]
    const line = label === undefined ? piece.line : piece.line + lineAt(piece.text, label.start) - 1
    const expected = label?.label ?? error?.help ?? 'see the Cedar syntax'
    return refuse('not_parsed', error?.message ?? 'the policy does not parse', expected, line)
  }
  return answer.value.json as unknown as JsonObject
}

function pieceFinding(file: string, piece: PolicyPiece, code: string, message: string, fix: string): Finding {
  return { severity: 'error', code, file, line: piece.line, message, fix }
}
