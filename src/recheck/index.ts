/** The floor of `aegis recheck`: recorded outcomes under another policy set. Runtime-free: the caller brings bytes. */
export { PolicyCoverage } from './coverage.ts'
export type { RecheckMeans } from './evaluate.ts'
export { MarkdownReport } from './markdown.ts'
export { RowReader, type RowReading } from './reading.ts'
export { Recheck, type RecheckSummary, type RecheckedRow } from './recheck.ts'
export { rowJson, rowText, summaryJson, summaryText } from './report.ts'
export type { BrokenRow } from './row-counter.ts'
export {
  type DifferenceName,
  differenceNames,
  recheckExitCode,
  recheckReasons,
  verdictNames,
} from './verdict.ts'
