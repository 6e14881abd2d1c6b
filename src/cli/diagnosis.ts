/**
 * What `aegis doctor` looks at, one check after another: each says what it found, or why it could not look. Nothing here
 * changes anything at the deployment; what a key may not see is not a problem.
 */
import { type Members, ask } from './answer-members.ts'
import type { Connection } from './connection.ts'
import { CliError } from './exit-codes.ts'
import { RequestError } from './http-client.ts'
import { listEntries } from './list-pages.ts'
import { cellText } from './shown-text.ts'

export interface Check {
  readonly name: 'deployment' | 'clock' | 'bindings' | 'key' | 'publishing' | 'policy'
  /** `unknown`: it could not be looked at with this key, or because of an earlier problem. */
  readonly state: 'ok' | 'problem' | 'unknown'
  readonly detail: string
}

/** A tenth of the window in which the deployment takes a timestamp. */
const skewMaxMs = 30_000
const expiryMs = 14 * 86_400_000
/** A Session that was sealed is published within seconds. */
const lagMaxMs = 5 * 60_000

type Result = Omit<Check, 'name'>

const ok = (detail: string): Result => ({ state: 'ok', detail })
const problem = (detail: string): Result => ({ state: 'problem', detail })
const unknown = (detail: string): Result => ({ state: 'unknown', detail })

/** All checks, in the order in which a person would look. */
export async function diagnose(
  connection: Connection,
  now: () => number = Date.now,
): Promise<readonly Check[]> {
  const health = await lookAtHealth(connection, now)
  if (health.answer === undefined) {
    const later = ['clock', 'bindings', 'key', 'publishing', 'policy'] as const
    return [
      { name: 'deployment', ...health.result },
      ...later.map((name) => ({ name, ...unknown('the deployment cannot be reached') })),
    ]
  }
  return [
    { name: 'deployment', ...health.result },
    { name: 'clock', ...health.clock },
    { name: 'bindings', ...bindingsOf(health.answer) },
    { name: 'key', ...(await attempt(() => lookAtKey(connection, now()))) },
    { name: 'publishing', ...(await attempt(() => lookAtPublishing(connection, now()))) },
    { name: 'policy', ...(await attempt(() => lookAtPolicy(connection))) },
  ]
}

/** A check that the deployment refuses or cannot answer is a problem of its own. */
async function attempt(look: () => Promise<Result>): Promise<Result> {
  try {
    return await look()
  } catch (error) {
    if (error instanceof RequestError && error.status === 401) {
      return problem('the key is not accepted: unknown, expired, revoked, or not confirmed yet')
    }
    if (error instanceof CliError) return problem(error.message.replace(/^error: /, ''))
    throw error
  }
}

async function lookAtHealth(connection: Connection, now: () => number) {
  let date: number | undefined
  const sent = now()
  try {
    const answer = await ask(connection.client, {
      path: '/v1/health',
      takeHeaders: (headers) => {
        const parsed = Date.parse(headers.get('date') ?? '')
        date = Number.isNaN(parsed) ? undefined : parsed
      },
    })
    const versions = answer.members('versions')
    const detail = `${connection.url} answers; ${cellText(versions.text('evaluator'))}`
    return { answer, result: ok(detail), clock: clockOf(date, sent, now()) }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return { result: problem(error.message.replace(/^error: /, '')) }
  }
}

/** The header has whole seconds, cut off; it was written somewhere between sending and receiving. */
function clockOf(date: number | undefined, sent: number, received: number): Result {
  if (date === undefined) return unknown('the answer has no Date')
  const skewMs = date > received ? date - received : date + 1_000 < sent ? date + 1_000 - sent : 0
  const seconds = Math.round(Math.abs(skewMs) / 1_000)
  if (Math.abs(skewMs) <= skewMaxMs)
    return ok(seconds === 0 ? 'as here' : `${String(seconds)} s from the one here`)
  const side = skewMs > 0 ? 'behind' : 'ahead of'
  return problem(
    `the clock here is ${String(seconds)} s ${side} the deployment's: calls that change state are denied past 300 s`,
  )
}

function bindingsOf(health: Members): Result {
  return health.flag('ready')
    ? ok('set up, and the archive answers')
    : problem('not ready: a secret or a binding is missing, or the archive does not answer; the log names it')
}

async function lookAtKey(connection: Connection, now: number): Promise<Result> {
  const { client, keyId, role, tenant } = connection
  const named = tenant === undefined ? role : `${role} of ${tenant}`
  switch (role) {
    case 'operator':
      await ask(client, { path: '/v1/tenants' })
      return ok(named)
    case 'agent':
      await ask(client, { path: '/v1/grants?unreported=true' })
      return ok(`${named}; a key of this role does not see when it expires`)
    case 'approver':
      await ask(client, { path: '/v1/approvals?status=pending' })
      return ok(`${named}; a key of this role does not see when it expires`)
    case 'admin':
    case 'auditor':
      break
  }
  for await (const entry of listEntries(client, '/v1/keys', 'keys')) {
    if (entry.text('key_id') !== keyId) continue
    const expires = entry.text('expires_at')
    const left = Date.parse(expires) - now
    const says = `${named}, ${cellText(entry.text('subject'))}, until ${cellText(expires)}`
    return left < expiryMs
      ? problem(`${says}: ${String(Math.max(0, Math.floor(left / 86_400_000)))} days left`)
      : ok(says)
  }
  return unknown(`${named}; it is not in the list of keys`)
}

async function lookAtPublishing({ client, role }: Connection, now: number): Promise<Result> {
  if (role !== 'auditor') return unknown("needs an auditor's key")
  // Behind every Session: only what is said of those that wait.
  const index = await ask(client, { path: '/v1/chain/segments?after=9999999999' })
  const waiting = index.members('unpublished')
  const sessions = waiting.count('sessions')
  if (waiting.optionalText('stopped') !== undefined) {
    return problem('stopped: the archive holds other bytes where the next segment belongs (docs/runbooks.md)')
  }
  if (sessions === 0) return ok('every sealed Session is published')
  const since = waiting.optionalCount('oldest_closed_at')
  const seconds = since === undefined ? 0 : Math.max(0, Math.round((now - since) / 1_000))
  const says = `${String(sessions)} sealed Sessions wait, the oldest for ${String(seconds)} s`
  return seconds * 1_000 > lagMaxMs ? problem(`${says}: does the archive answer?`) : ok(says)
}

async function lookAtPolicy({ client, role, tenant }: Connection): Promise<Result> {
  if (role === 'operator') {
    if (tenant === undefined) return unknown('name a tenant in the profile')
    const found = await ask(client, { path: `/v1/tenants/${encodeURIComponent(tenant)}` })
    const deployed = found.members('deployed')
    const active = found.optionalText('policy_set_hash')
    return policyResult(active, deployed.text('policy_set_hash'))
  }
  if (role !== 'admin' && role !== 'auditor') return unknown("needs an admin's or an auditor's key")
  let active: string | undefined
  let deployed: string | undefined
  for await (const entry of listEntries(client, '/v1/policies', 'policies')) {
    if (entry.flag('active')) active = entry.text('policy_set_hash')
    if (entry.flag('deployed')) deployed = entry.text('policy_set_hash')
  }
  return policyResult(active, deployed)
}

function policyResult(active: string | undefined, deployed: string | undefined): Result {
  if (active === undefined) return problem('no policy set is in force: everything is denied')
  if (deployed === undefined || deployed === active) return ok(`${cellText(active)} is in force`)
  return problem(
    `in force is ${cellText(active)}, and the deployment carries ${cellText(deployed)}: aegis policy diff active deployed`,
  )
}
