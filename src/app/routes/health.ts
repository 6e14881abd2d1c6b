/**
 * `GET /v1/health` says that the Worker lives and whether it can serve; `GET /v1/health/ready` is the same as a status
 * for load balancers. Anyone may ask, so that neither names a binding, and what they cost is bounded.
 */
import { Hono } from 'hono'
import { evaluator } from '../../policy/index.ts'
import type { Health } from '../../protocol/index.ts'
import { answerJson, answerProblem } from '../answers.ts'
import { describeHealth, describeReady } from '../descriptions.ts'
import type { RequestScope } from '../request-scope.ts'
import type { Services } from '../services.ts'

/** One look at the archive in this time, however many ask. */
const readyMsMax = 10_000

export function healthRoutes(services: Services): Hono<RequestScope> {
  let checked: { readonly ready: boolean; readonly at: number } | undefined
  const isReady = async (): Promise<boolean> => {
    const now = services.now()
    if (checked !== undefined && now - checked.at < readyMsMax) return checked.ready
    checked = { ready: services.config.kind === 'configured' && (await answers(services)), at: now }
    return checked.ready
  }
  return new Hono<RequestScope>()
    .get('/v1/health', describeHealth, async (c) => {
      const health: Health = {
        live: true,
        ready: await isReady(),
        versions: { schema_version: 2, evaluator },
      }
      return answerJson(c, health)
    })
    .get('/v1/health/ready', describeReady, async (c) => {
      if (!(await isReady())) return answerProblem(c, 'not_ready')
      return c.body(null, 204)
    })
}

/** Whether the archive answers; that there is no such object is an answer. */
async function answers({ archive }: Services): Promise<boolean> {
  try {
    await archive.get('health')
    return true
  } catch {
    return false
  }
}
