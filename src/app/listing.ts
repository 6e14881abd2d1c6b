/** Lists as they are asked for and answered: `?after=` the last name seen, `next` where there is more (authorize.md). */
import type { ListResult } from '../../durable-objects/rpc.ts'
import { answerJson, answerProblem, answerRefusedReading } from './answers.ts'
import type { RequestContext } from './request-scope.ts'
import type { Services } from './services.ts'

/** Longer than any name that is listed. */
const afterLengthMax = 512

/** Asks for a page and answers it; a name that nothing has is a place in the order like any other. */
export async function answerList<T, E>(
  services: Services,
  c: RequestContext,
  name: string,
  read: (after: string) => Promise<ListResult<T>>,
  toEntry: (found: T) => E,
): Promise<Response> {
  const after = afterOf(c)
  if (after === undefined)
    return answerProblem(c, 'query_invalid', { detail: 'after must be a name that was listed' })
  const result = await c.get('timing').measure('record', () => read(after))
  if (result.kind !== 'list') return answerRefusedReading(services, c, result)
  const next = result.next === undefined ? {} : { next: result.next }
  return answerJson(c, { [name]: result.entries.map(toEntry), ...next })
}

/** `undefined` when it cannot be a name. */
function afterOf(c: RequestContext): string | undefined {
  const after = c.req.query('after') ?? ''
  return after.length <= afterLengthMax ? after : undefined
}
