/** Agents as administrators write and see them: `POST` and `GET /v1/agents`, `PUT /v1/agents/{id}`. */
import * as v from 'valibot'
import { instantPattern } from './instant.ts'
import { sourceTrusts } from './source-trust.ts'
import {
  type StrictBody,
  aBoolean,
  aString,
  label,
  mustBeObject,
  readStrictBody,
  subject,
} from './strict-body.ts'

/** As it can stand in a path and in a log. */
export const agentIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/

const agentId = v.pipe(
  v.string(aString),
  v.regex(agentIdPattern, 'must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or a digit'),
)

/** They stand in every Line of the agent: 32 of 64 bytes are 2 KiB of its 64. */
const rolesMax = 32

const written = {
  /** Who answers for it: he approves nothing that it asks for. */
  owner: subject,
  environment: v.exactOptional(label(64)),
  risk_tier: v.exactOptional(label(64)),
  /** The best trust that its claims are believed up to; `semi_trusted_customer` when left out. */
  trust_max: v.exactOptional(
    v.picklist(sourceTrusts, `must be one of ${[...sourceTrusts].reverse().join(', ')}`),
  ),
  /** Whatever it is allowed waits for people. */
  force_approval: v.exactOptional(v.boolean(aBoolean)),
  roles: v.exactOptional(
    v.pipe(
      v.array(v.pipe(label(64), v.minLength(1, 'must not be empty')), 'must be an array of strings'),
      v.maxLength(rolesMax, `must be at most ${String(rolesMax)} roles`),
      v.check((roles) => new Set(roles).size === roles.length, 'must not name one twice'),
    ),
  ),
}

export const agentChangeSchema = v.strictObject(written, mustBeObject)
export const agentCreateSchema = v.strictObject({ id: agentId, ...written }, mustBeObject)

/** What an agent's record holds beside what only freezes and revocations change. */
export interface WrittenAgent {
  readonly id: string
  readonly owner: string
  readonly environment: string
  readonly riskTier: string
  readonly trustMax: (typeof sourceTrusts)[number]
  readonly forceApproval: boolean
  readonly roles: readonly string[]
}

/**
 * Reads a whole record.
 *
 * @param id of the path, where the body does not have it.
 */
export function parseAgent(bytes: Uint8Array, id?: string): StrictBody<WrittenAgent> {
  const read =
    id === undefined
      ? readStrictBody(agentCreateSchema, bytes)
      : withId(readStrictBody(agentChangeSchema, bytes), id)
  if (!read.ok) return read
  const { value } = read
  return {
    ok: true,
    value: {
      id: value.id,
      owner: value.owner,
      environment: value.environment ?? '',
      riskTier: value.risk_tier ?? '',
      trustMax: value.trust_max ?? 'semi_trusted_customer',
      forceApproval: value.force_approval ?? false,
      roles: value.roles ?? [],
    },
  }
}

function withId<T extends object>(read: StrictBody<T>, id: string): StrictBody<T & { readonly id: string }> {
  return read.ok ? { ok: true, value: { ...read.value, id } } : read
}

export const agentSchema = v.strictObject({
  id: v.string(),
  owner: v.string(),
  environment: v.string(),
  risk_tier: v.string(),
  trust_max: v.string(),
  force_approval: v.boolean(),
  roles: v.array(v.string()),
  frozen: v.boolean(),
  /** For good. */
  revoked: v.boolean(),
  /** When its last Call was recorded. */
  last_call_at: v.exactOptional(v.pipe(v.string(), v.regex(instantPattern))),
})
export type AgentBody = v.InferOutput<typeof agentSchema>

export const agentListSchema = v.strictObject({
  agents: v.array(agentSchema),
  /** What to send as `after` for the rest. */
  next: v.exactOptional(v.string()),
})
export type AgentList = v.InferOutput<typeof agentListSchema>
