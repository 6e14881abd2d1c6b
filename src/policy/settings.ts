/**
 * `settings.json`: every setting with its default, its bounds and why they are what they are, in one table
 * (policy.md §4). docs/settings.md is generated from it and a test holds the two together. There is no settings
 * route: a setting changes by activating another bundle.
 */
import type { JsonObject, JsonValue } from '../record/index.ts'
import { suggest } from './finding.ts'
import { Members, type Report } from './members.ts'

interface IntegerSetting {
  readonly kind: 'integer'
  readonly standard: number
  readonly min: number
  readonly max: number
  /** What it limits. */
  readonly meaning: string
  /** Why the default and the bounds. */
  readonly derivation: string
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The largest replay window that settings may name: nonces are kept this long past their timestamp, plus 60 s. */
export const replayWindowMsMax = 900_000
/** The hard cap of a request body, whatever settings say. */
export const bodyBytesHardMax = 1_048_576

export const integerSettings = {
  agent_rate_per_s: {
    kind: 'integer',
    standard: 20,
    min: 1,
    max: 5_000,
    meaning: "Tokens per second that refill an agent's bucket",
    derivation:
      'An agent that thinks between calls makes fewer than 2 a second; 20 leaves room for ten parallel tool calls. The most that one tenant object was measured to append is 3,470 a second.',
  },
  agent_burst: {
    kind: 'integer',
    standard: 100,
    min: 1,
    max: 20_000,
    meaning: "Size of an agent's bucket",
    derivation: 'Five seconds of its rate: a fan-out of 100 calls at once passes, a loop does not.',
  },
  tenant_rate_per_s: {
    kind: 'integer',
    standard: 500,
    min: 1,
    max: 5_000,
    meaning: "Tokens per second that refill the tenant's bucket",
    derivation:
      'Half of the about 1,000 requests a second that the platform documents for one object: the rest is for approvals, reads and the alarm.',
  },
  tenant_burst: {
    kind: 'integer',
    standard: 1_000,
    min: 1,
    max: 20_000,
    meaning: "Size of the tenant's bucket",
    derivation: 'Two seconds of its rate, and ten agents with a full bucket.',
  },
  agent_daily_quota: {
    kind: 'integer',
    standard: 100_000,
    min: 1,
    max: 10_000_000,
    meaning: 'Calls that an agent may make in a UTC day',
    derivation:
      'More than one a second all day. It also bounds the request ids that are kept for 24 h: 100,000 rows of about 150 bytes are 15 MB.',
  },
  tenant_daily_quota: {
    kind: 'integer',
    standard: 1_000_000,
    min: 1,
    max: 10_000_000,
    meaning: 'Calls that the tenant may make in a UTC day',
    derivation:
      'Ten agents at their quota; 1,000,000 request ids of about 150 bytes are 150 MB of the 8 GB that an object may hold.',
  },
  replay_window_ms: {
    kind: 'integer',
    standard: 300_000,
    min: 10_000,
    max: replayWindowMsMax,
    meaning: "How far a request's timestamp may be from the server's clock, either way",
    derivation:
      'Five minutes, what unsynchronised hosts are usually allowed. The most is 15 minutes: nonces are kept for timestamp + 15 min + 60 s, at most 20,000 an agent.',
  },
  approve_by_ms: {
    kind: 'integer',
    standard: 30 * minuteMs,
    min: minuteMs,
    max: 7 * 24 * hourMs,
    meaning: 'How long a pending approval waits for its votes',
    derivation:
      'Half an hour: long enough to be seen, short enough that the situation is still the one described.',
  },
  use_within_ms: {
    kind: 'integer',
    standard: 10 * minuteMs,
    min: 10_000,
    max: 24 * hourMs,
    meaning: 'How long an approved action may be consumed',
    derivation: 'Ten minutes: an agent that polls consumes within seconds; what is not used lapses.',
  },
  grant_ttl_ms: {
    kind: 'integer',
    standard: 60_000,
    min: 1_000,
    max: 15 * minuteMs,
    meaning: 'How long a grant may start its tool',
    derivation: 'A minute: a queue in front of the tool, not a session. Freezes do not reach a given grant.',
  },
  body_bytes_max: {
    kind: 'integer',
    standard: 262_144,
    min: 1_024,
    max: bodyBytesHardMax,
    meaning: 'Bytes of an authorize body',
    derivation:
      '256 KiB holds a large file argument; the hard cap of 1 MiB bounds the memory of a Worker under 64 parallel requests to 64 MB.',
  },
  envelope_retention_days: {
    kind: 'integer',
    standard: 90,
    min: 1,
    max: 3_650,
    meaning: 'Days that an Envelope is kept before the alarm erases it',
    derivation: 'A quarter: what is looked into is looked into by then. The Chain keeps its digest for good.',
  },
  refused_calls_per_minute: {
    kind: 'integer',
    standard: 60,
    min: 1,
    max: 6_000,
    meaning:
      'Refused Calls of an agent that are recorded in a minute; past it the answer is 429 without a Line',
    derivation:
      'One a second: a confused agent is recorded in full, a hostile one cannot write more than about 90 MB of refusals a day.',
  },
  pending_per_agent: {
    kind: 'integer',
    standard: 20,
    min: 1,
    max: 1_000,
    meaning: 'Approvals of an agent that may wait at once',
    derivation: 'As many as a person can look at within half an hour.',
  },
  pending_per_tenant: {
    kind: 'integer',
    standard: 1_000,
    min: 1,
    max: 10_000,
    meaning: 'Approvals of the tenant that may wait at once',
    derivation:
      'Fifty agents at their limit; with bodies of 256 KiB each they stay within 256 MB of the object.',
  },
} as const satisfies Readonly<Record<string, IntegerSetting>>

export type IntegerSettingName = keyof typeof integerSettings

export const envelopeModes = ['on', 'off'] as const
export const ruleReaders = ['agent', 'approver', 'auditor', 'admin'] as const
export type RuleReader = (typeof ruleReaders)[number]

export const quorumMax = 20
const groupsMax = 100
export const groupName = /^[a-z0-9][a-z0-9_-]{0,63}$/

export interface ApproverGroup {
  /** Approvals that this group must give, at least. */
  readonly quorum: number
}

/** In the member names of `settings.json`, defaults filled in. */
export type Settings = { readonly [name in IntegerSettingName]: number } & {
  readonly envelope: (typeof envelopeModes)[number]
  /** Roles whose answers carry `matched_rules`. */
  readonly matched_rules_shown_to: readonly RuleReader[]
  readonly agents_may_explain: boolean
  readonly approver_groups: { readonly [name: string]: ApproverGroup }
  /** The group of approvals that no policy names one for. */
  readonly default_group?: string
}

/** Everything but the integers: name, default as written, meaning, derivation; rows of docs/settings.md. */
export const otherSettings = [
  {
    name: 'envelope',
    values: 'on, off',
    standard: 'on',
    meaning: 'Whether the bytes of a request are kept outside the Chain',
    derivation: 'Kept, because a value recorded as its digest can be rechecked only with them.',
  },
  {
    name: 'matched_rules_shown_to',
    values: 'any of agent, approver, auditor, admin',
    standard: 'approver, auditor, admin',
    meaning: 'Roles whose answers name the determining policies',
    derivation: 'Not the agent: rule names tell a prober what to try next.',
  },
  {
    name: 'agents_may_explain',
    values: 'true, false',
    standard: 'false',
    meaning: 'Whether an agent key may ask for the full evaluation of its own requests',
    derivation: 'Off for the same reason.',
  },
  {
    name: 'approver_groups',
    values: '{name: {quorum}}, quorum 1 to 20, at most 100 groups',
    standard: '{}',
    meaning: 'Groups that policies may name and how many of each must approve; who is in one is administered',
    derivation: 'None: a group that nobody is in could never approve.',
  },
  {
    name: 'default_group',
    values: 'one of approver_groups',
    standard: 'absent',
    meaning: 'The group of approvals that no policy names one for',
    derivation: 'Absent, and then such an approval is a deny: a guess would be worse.',
  },
] as const

const rulesShownStandard: readonly RuleReader[] = ['approver', 'auditor', 'admin']

/**
 * Reads `settings.json`; what is absent has its default.
 *
 * @returns complete settings also when there were findings: the caller looks at those.
 */
export function parseSettings(value: JsonValue, report: Report): Settings {
  const members = Members.of(value, [], report)
  const integers = {} as { [name in IntegerSettingName]: number }
  for (const name of Object.keys(integerSettings) as IntegerSettingName[]) {
    const { standard, min, max } = integerSettings[name]
    integers[name] = members?.integer(name, min, max) ?? standard
  }
  const groups = parseGroups(members?.value('approver_groups'), report)
  const defaultGroup = members?.string('default_group')
  if (defaultGroup !== undefined && !Object.hasOwn(groups, defaultGroup)) {
    const meant = suggest(defaultGroup, Object.keys(groups))
    const fix = meant === undefined ? 'add it to `approver_groups`' : `did you mean \`${meant}\`?`
    members?.refuse('default_group', 'unknown_group', `names \`${defaultGroup}\`, which is no group`, fix)
  }
  const settings: Settings = {
    ...integers,
    envelope: members?.oneOf('envelope', envelopeModes) ?? 'on',
    matched_rules_shown_to: parseReaders(members, report),
    agents_may_explain: members?.boolean('agents_may_explain') ?? false,
    approver_groups: groups,
    ...(defaultGroup === undefined ? {} : { default_group: defaultGroup }),
  }
  if (settings.agent_burst < 1 || settings.agent_rate_per_s > settings.tenant_rate_per_s) {
    report(
      ['agent_rate_per_s'],
      'agent_above_tenant',
      '`agent_rate_per_s` is above `tenant_rate_per_s`: one agent could starve all others',
      'lower it, or raise the tenant',
    )
  }
  members?.end()
  return settings
}

/** Settings as the bundle object holds them. */
export function settingsObject(settings: Settings): JsonObject {
  return settings as unknown as JsonObject
}

function parseReaders(members: Members | undefined, report: Report): readonly RuleReader[] {
  const value = members?.value('matched_rules_shown_to')
  if (value === undefined) return rulesShownStandard
  const listed = Array.isArray(value) ? (value as readonly JsonValue[]) : undefined
  if (listed === undefined || listed.some((role) => !ruleReaders.some((known) => known === role))) {
    report(
      ['matched_rules_shown_to'],
      'wrong_type',
      '`matched_rules_shown_to` is not a list of roles',
      `write a list of ${ruleReaders.join(', ')}`,
    )
    return rulesShownStandard
  }
  // In the table's order, so that the order in the file does not move the hash.
  return ruleReaders.filter((role) => listed.includes(role))
}

function parseGroups(value: JsonValue | undefined, report: Report): Record<string, ApproverGroup> {
  const groups: Record<string, ApproverGroup> = Object.create(null) as Record<string, ApproverGroup>
  if (value === undefined) return groups
  const members = Members.of(value, ['approver_groups'], report)
  if (members === undefined) return groups
  if (members.names.length > groupsMax) {
    report(members.path, 'too_many', `more than ${String(groupsMax)} approver groups`, 'merge some')
    return groups
  }
  for (const name of members.names) {
    if (!groupName.test(name)) {
      members.refuse(name, 'bad_name', 'is not a group name', 'use a-z, 0-9, _ and -, at most 64 characters')
    }
    const group = Members.of(members.value(name), members.at(name), report)
    if (group === undefined) continue
    group.mustHave('quorum', 'how many of the group must approve, e.g. "quorum": 1')
    const quorum = group.integer('quorum', 1, quorumMax)
    group.end()
    groups[name] = { quorum: quorum ?? 1 }
  }
  return groups
}
