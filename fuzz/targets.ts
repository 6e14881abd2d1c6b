/**
 * What is fuzzed: every door through which bytes of strangers come in. A target returns when nothing is wrong, whatever
 * the bytes; it throws when a promise is broken. No Node built-ins: one bundle for the fuzzer and for CI's replay.
 */
import { nodeSuite } from '../src/crypto-node/index.ts'
import { type Bundle, readBundle } from '../src/policy/index.ts'
import { policyMeans } from '../src/cli/policy-engine.ts'
import { readActionCall } from './read-action.ts'
import { parseApiKey } from '../src/protocol/api-key.ts'
import {
  canonicalText,
  decodeUtf8,
  findInvalidUtf8,
  isCanonical,
  lineRules,
  parameterRules,
  parseLine,
  readJson,
  utf8,
} from '../src/record/index.ts'
import { Walk, escapeForReport, toJson, toText } from '../src/verify/index.ts'

export type Target = (bytes: Uint8Array) => void

/** The strict reader: what it takes has one canonical form, which it takes again and reads as the same. */
const json: Target = (bytes) => {
  for (const rules of [lineRules, parameterRules]) {
    const read = readJson(bytes, rules)
    if (!read.ok) continue
    const text = canonicalText(read.value)
    const again = readJson(utf8(text), rules)
    if (!again.ok) throw new Error('the canonical form is refused')
    if (canonicalText(again.value) !== text) throw new Error('the canonical form moves')
    // The platform's reader is not as strict, and reads the same.
    if (canonicalText(JSON.parse(text) as never) !== text) throw new Error('JSON.parse reads something else')
  }
}

/** The decoder of Lines: what it takes is canonical, or says so of what is not. */
const line: Target = (bytes) => {
  const parsed = parseLine(bytes)
  if (!parsed.ok) return
  const read = readJson(bytes, lineRules)
  if (!read.ok || !isCanonical(read.value, bytes)) throw new Error('a Line that is not canonical was taken')
}

/** The verifier: a report for everything, the same however the bytes are cut, and no byte of theirs in it. */
const verify: Target = (bytes) => {
  const whole = walk([bytes])
  const cut = bytes.length === 0 ? 0 : (bytes[0] ?? 0) % bytes.length
  const inTwo = walk([bytes.subarray(0, cut), bytes.subarray(cut)])
  if (toText(whole) !== toText(inTwo)) throw new Error('the report depends on the cut')
  for (const text of [toText(whole), toJson(whole)]) {
    if (!/^[\n\u0020-\u007e]*$/.test(text)) throw new Error('the report holds a character of the input')
  }
}

function walk(parts: readonly Uint8Array[]) {
  const walked = new Walk({
    digester: nodeSuite,
    check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
  })
  for (const part of parts) walked.push(part)
  return walked.end()
}

const apiKey: Target = (bytes) => {
  if (findInvalidUtf8(bytes) !== undefined) return
  const parsed = parseApiKey(decodeUtf8(bytes))
  if (parsed?.kind === 'tenant' && !/^[a-z][a-z0-9-]{1,38}$/.test(parsed.tenant)) {
    throw new Error('a key of what is no tenant')
  }
}

/** The bundle reader with real Cedar behind its guard: findings, or a set; never a trap that reaches the next one. */
const bundle: Target = (bytes) => {
  const [tools = '', cedar = '', settings = ''] = decodeLoosely(bytes).split('\u0000')
  const files = new Map([
    ['tools.json', utf8(tools)],
    ['policy.cedar', utf8(cedar)],
    ['settings.json', utf8(settings === '' ? '{}' : settings)],
  ])
  const read: { readonly bundle?: Bundle | undefined } = readBundle(files, policyMeans())
  void read
  // The engine that judged it still works.
  const { bundle: good } = readBundle(goodFiles, policyMeans())
  if (good === undefined) throw new Error('the engine was poisoned')
}

const goodFiles = new Map([
  ['tools.json', utf8('{"files":{"read":{"risk":"low","mutates_state":false}}}')],
  ['policy.cedar', utf8('@id("a")\npermit (principal, action, resource);\n')],
  ['settings.json', utf8('{}')],
])

/** What is shown to a person: nothing of a file can pose as our own text. */
const show: Target = (bytes) => {
  const text = escapeForReport(decodeLoosely(bytes))
  if (!/^[\u0021-\u007e]*$/.test(text)) throw new Error('a character reached the terminal')
}

function decodeLoosely(bytes: Uint8Array): string {
  return findInvalidUtf8(bytes) === undefined
    ? decodeUtf8(bytes)
    : Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
}

export const targets: Readonly<Record<string, Target>> = {
  'api-key': apiKey,
  bundle,
  json,
  line,
  request: readActionCall,
  show,
  verify,
}
