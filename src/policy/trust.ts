/**
 * How far the source of an action is trusted: six names, from best to worst, and the rule that a claim never
 * exceeds what the agent's record allows (policy.md §2). Not for who the agent is.
 */

/** From worst to best: the position is the `trust` that policies compare. */
export const trustLevels = [
  'unknown',
  'malicious_suspected',
  'untrusted_external',
  'semi_trusted_customer',
  'trusted_internal_unsigned',
  'trusted_internal_signed',
] as const
export type Trust = (typeof trustLevels)[number]

/** What an agent's record holds unless an administrator sets another one. */
export const trustMaxDefault: Trust = 'semi_trusted_customer'

/** One of the six names exactly; anything else is `undefined` (the request is a 400). */
export function parseTrust(value: unknown): Trust | undefined {
  return trustLevels.find((name) => name === value)
}

/** 0 for the worst to 5 for the best. */
export function trustRank(trust: Trust): number {
  return trustLevels.indexOf(trust)
}

/** The worse of what is claimed and what the agent may claim. */
export function effectiveTrust(claim: Trust, trustMax: Trust): Trust {
  return trustRank(claim) <= trustRank(trustMax) ? claim : trustMax
}
