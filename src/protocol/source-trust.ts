/**
 * What a caller may claim of where a wish came from (authorize.md §2). A file of its own, so that the SDK shares the list
 * without the schemas. Not for what it is worth: the agent's record cuts it.
 */

/** From worst to best, as policies know them. */
export const sourceTrusts = [
  'unknown',
  'malicious_suspected',
  'untrusted_external',
  'semi_trusted_customer',
  'trusted_internal_unsigned',
  'trusted_internal_signed',
] as const
export type SourceTrust = (typeof sourceTrusts)[number]
