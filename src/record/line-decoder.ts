/**
 * Strict decoding of one Line (SPEC.md §4): canonical bytes in, a typed Line out. Known members must have their type;
 * unknown members stay in the object, untouched, so that encoding it again gives the same bytes. The verifier does not
 * use this: it judges only what SPEC.md §7 names.
 */
import { type FormatError, type FormatErrorCode, type Parsed, parsed, refused } from './errors.ts'
import { parseDigest, parseSignature } from './digest.ts'
import { isCanonical } from './jcs.ts'
import { type JsonObject, type JsonValue, isJsonObject } from './json.ts'
import { type ForeignLine, type Line, lineBytesMax } from './line.ts'
import { parseLineObject } from './profile.ts'

/**
 * Reads one Line.
 *
 * @param bytes the row without its LF.
 * @returns the Line, a {@link ForeignLine} for a type that this version does not know, or the first thing wrong.
 */
export function parseLine(bytes: Uint8Array): Parsed<Line | ForeignLine> {
  if (bytes.length > lineBytesMax)
    return refused({ code: 'too_long', path: '$', detail: '65536 bytes at most' })
  const read = parseLineObject(bytes)
  if (!read.ok) return read
  if (!isCanonical(read.value, bytes)) return refused({ code: 'not_canonical', path: '$' })
  return decodeLine(read.value)
}

/** The same for an object that was read already; its canonicity is the caller's concern. */
export function decodeLine(members: JsonObject): Parsed<Line | ForeignLine> {
  const type = members['line_type']
  if (typeof type !== 'string') return refused(memberError(type, '$.line_type', 'a string'))
  const shape = Object.hasOwn(lineShapes, type) ? lineShapes[type as Line['line_type']] : undefined
  const error = (shape ?? foreignShape)(members, '$')
  if (error !== undefined) return refused(error)
  if (shape !== undefined) return parsed(members as unknown as Line)
  return parsed({
    ...(members as unknown as Pick<ForeignLine, 'seq' | 'prev_hash'>),
    line_type: type,
    members,
  })
}

/** Whether a decoded Line is of a type that this version writes. */
export function isKnownLine(line: Line | ForeignLine): line is Line {
  return Object.hasOwn(lineShapes, line.line_type)
}

/** Checks a present value; `undefined` means that it is right. */
type Check = (value: JsonValue, path: string) => FormatError | undefined

const text: Check = (value, path) =>
  typeof value === 'string' ? undefined : memberError(value, path, 'a string')
const integer: Check = (value, path) =>
  typeof value === 'number' ? undefined : memberError(value, path, 'an integer')
const digest: Check = (value, path) =>
  parseDigest(value) === undefined ? memberError(value, path, '64 lowercase hex characters') : undefined
const signature: Check = (value, path) =>
  parseSignature(value) === undefined ? memberError(value, path, '128 lowercase hex characters') : undefined
const object: Check = (value, path) =>
  isJsonObject(value) ? undefined : memberError(value, path, 'an object')

function memberError(value: JsonValue | undefined, path: string, wanted: string): FormatError {
  const code: FormatErrorCode = value === undefined ? 'missing_member' : 'wrong_type'
  return { code, path, detail: `expected ${wanted}` }
}

function exactly(...wanted: readonly (string | number)[]): Check {
  return (value, path) =>
    (wanted as readonly JsonValue[]).includes(value)
      ? undefined
      : { code: 'unknown_value', path, detail: `expected ${wanted.join(' or ')}` }
}

function list(item: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return memberError(value, path, 'an array')
    for (const [at, element] of (value as readonly JsonValue[]).entries()) {
      const error = item(element, `${path}[${String(at)}]`)
      if (error !== undefined) return error
    }
    return undefined
  }
}

/** An object with required and optional members; anything else in it is kept and not looked at. */
function shapeOf(
  required: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): Check {
  return (value, path) => {
    if (!isJsonObject(value)) return memberError(value, path, 'an object')
    for (const [name, check] of Object.entries(required)) {
      const member = value[name]
      if (member === undefined) return { code: 'missing_member', path: `${path}.${name}` }
      const error = check(member, `${path}.${name}`)
      if (error !== undefined) return error
    }
    for (const [name, check] of Object.entries(optional)) {
      const member = value[name]
      const error = member === undefined ? undefined : check(member, `${path}.${name}`)
      if (error !== undefined) return error
    }
    return undefined
  }
}

function mapOf(item: Check): Check {
  return (value, path) => {
    if (!isJsonObject(value)) return memberError(value, path, 'an object')
    for (const [name, member] of Object.entries(value)) {
      const error = item(member, `${path}[${JSON.stringify(name.slice(0, 64))}]`)
      if (error !== undefined) return error
    }
    return undefined
  }
}

/** A union that a string member tells apart. */
function unionBy(tag: string, shapes: Readonly<Record<string, Check>>): Check {
  return (value, path) => {
    if (!isJsonObject(value)) return memberError(value, path, 'an object')
    const name = value[tag]
    if (typeof name !== 'string') return memberError(name, `${path}.${tag}`, 'a string')
    const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
    if (shape === undefined) {
      const detail = `expected ${Object.keys(shapes).join(' or ')}`
      return { code: 'unknown_value', path: `${path}.${tag}`, detail }
    }
    return shape(value, path)
  }
}

const everyLine = { schema_version: exactly(2), line_type: text, seq: integer, prev_hash: digest }
const everySignedLine = { ...everyLine, key_id: digest, signature }
const signedExtras = { chain_id: text, session_index: integer }

const foreignShape = shapeOf({ line_type: text, seq: integer, prev_hash: digest })

const policy = unionBy('status', {
  allowed: object,
  denied: shapeOf({ reason: text }),
  rate_limited: shapeOf({ reason: text }),
  pending_approval: shapeOf({ approval_id: text }),
})

const grant = shapeOf(
  { grant_id: text, tool_id: text },
  { action_hash: digest, expires_at: integer, fs: object, net: object },
)

const capability = unionBy('status', { granted: shapeOf({ grant }), denied: shapeOf({ reason: text }) })

const execution = unionBy('status', {
  delegated: object,
  host_denied: shapeOf({ reason: text }),
  success: object,
  trap: shapeOf({ message: text }),
  resource_exceeded: shapeOf({ kind: text }),
})

const entity = shapeOf({ type: text, id: text })
const actor = shapeOf({ role: text }, { api_key: text, subject: text })

const decisionAxes = shapeOf(
  {},
  {
    capability: text,
    role: text,
    session: text,
    matched_rule: text,
    approval_ref: text,
    fs: shapeOf({ path_raw: text, path_canonical: text }),
    net: shapeOf({ host: text, port: integer }),
    decided_by: exactly('policy', 'pipeline', 'admin', 'report'),
    evaluator: text,
    matched_rules: list(text),
    policy_errors: list(text),
    rules_total: integer,
    overrides: list(text),
    principal: shapeOf({ type: text, id: text, attrs: object, parents: list(entity) }),
    action: entity,
    resource: entity,
    context: object,
    bindings_hash: digest,
    metadata: mapOf(text),
    claims: object,
    reason_text: text,
    approval: shapeOf({
      groups: list(text),
      quorum: integer,
      approve_by: integer,
      use_within_ms: integer,
      binding_hash: digest,
    }),
    call_ref: text,
    authorized_digest: digest,
    shadow: shapeOf({ policy_set_hash: digest, status: text, matched_rules: list(text) }, { reason: text }),
    explained: integer,
    suppressed: integer,
    actor,
    envelope: exactly('off', 'erased'),
  },
)

const lineShapes: Readonly<Record<Line['line_type'], Check>> = {
  open: shapeOf(
    { ...everySignedLine, public_key: digest },
    { ...signedExtras, prev_session_tail: digest, opened_at: integer, deployment: text },
  ),
  intent: shapeOf(
    { ...everyLine, call_id: text, tool_id: text, request_digest: digest },
    { agent_id: text, action_hash: digest },
  ),
  outcome: shapeOf(
    {
      ...everySignedLine,
      call_id: text,
      tool_id: text,
      request_digest: digest,
      policy_set_hash: digest,
      policy,
      capability,
      execution,
      decision_axes: decisionAxes,
    },
    {
      ...signedExtras,
      grant_id: text,
      response_digest: digest,
      wall_ms: integer,
      agent_id: text,
      action_hash: digest,
      decided_at: integer,
    },
  ),
  decision: shapeOf(
    {
      ...everySignedLine,
      approval_id: text,
      verdict: unionBy('verdict', {
        approved: shapeOf({ scope: shapeOf({ tool_id: text }, { fs: object, net: object }) }),
        denied: shapeOf({ reason: text }),
      }),
    },
    {
      ...signedExtras,
      action_hash: digest,
      binding_hash: digest,
      approvers: list(shapeOf({ subject: text, api_key: text, groups: list(text), at: integer })),
      decided_at: integer,
      reason_text: text,
      actor,
    },
  ),
  close: shapeOf(everySignedLine, { ...signedExtras, closed_at: integer, calls: integer }),
}
