/**
 * Times in HTTP messages: RFC 3339, UTC, exactly three digits and `Z` (authorize.md). One text for each instant, so
 * that a message can be compared. Not for the record, whose times are integers.
 */
export const instantPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** Integer ms since the epoch, or `undefined` for another spelling or a day that no calendar has. */
export function parseInstant(text: string): number | undefined {
  if (!instantPattern.test(text)) return undefined
  const ms = Date.parse(text)
  // Date.parse carries 30 February and 24:00 over into the next day.
  return Number.isNaN(ms) || formatInstant(ms) !== text ? undefined : ms
}

/** The inverse, for years 0 to 9999. */
export function formatInstant(ms: number): string {
  return new Date(ms).toISOString()
}
