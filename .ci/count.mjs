// Reads vitest's JSON report and prints `passed failed skipped`. Ends with 1 where there is no readable report.
import { readFileSync } from 'node:fs'

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const {
  numPassedTests: passed,
  numFailedTests: failed,
  numPendingTests: pending,
  numTodoTests: todo,
} = report
const counts = [passed, failed, pending + todo]
if (!counts.every(Number.isSafeInteger)) throw new Error('the report has no counts')
process.stdout.write(`${counts.join(' ')}\n`)
