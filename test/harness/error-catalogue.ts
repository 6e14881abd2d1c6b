/** The catalogue of errors in docs/errors.md, made from the code: written by `npm run docs`, held by a test. */
import { problemCodes, problemStatus, toProblem } from '../../src/protocol/problem.ts'
import { reasonSentences } from '../../src/protocol/reason.ts'

/** One row a problem code: status, code, what it says. */
export function problemRows(): readonly (readonly string[])[] {
  return [...problemCodes]
    .map((code) => ({ code, status: problemStatus(code), says: toProblem(code).detail }))
    .sort((left, right) => left.status - right.status || (left.code < right.code ? -1 : 1))
    .map(({ code, status, says }) => [String(status), `\`${code}\``, says.replaceAll('|', '\\|')])
}

/** One row a reason code that the pipeline gives. */
export function reasonRows(): readonly (readonly string[])[] {
  return Object.entries(reasonSentences)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([code, says]) => [`\`${code}\``, says])
}
