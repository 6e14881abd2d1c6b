/**
 * The states of an approval (authorize.md §4). A file of its own, so that the SDK shares the list without the schemas.
 * Not for which state follows which: that is the chain's.
 */

/** `pending` and `approved` can still change; the others are how it ended. */
export const approvalStates = [
  'pending',
  'approved',
  'denied',
  'expired',
  'cancelled',
  'consumed',
  'lapsed',
  'withdrawn',
] as const
export type ApprovalStateName = (typeof approvalStates)[number]
