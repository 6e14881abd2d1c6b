/**
 * The application (house.md, flows): every request is observed, a deployment without its secrets serves nobody, each
 * sub-app holds one group of routes, and what is left is a 404, a 405 or a fault of ours. No CORS: no browser page of
 * another origin has business here.
 */
import { Hono } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { answerProblem } from './answers.ts'
import { observe } from './middleware/observe.ts'
import { requireConfig } from './middleware/require-config.ts'
import type { RequestScope } from './request-scope.ts'
import { agentRoutes } from './routes/agents.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { approvalRoutes } from './routes/approvals.ts'
import { authorizeRoute } from './routes/authorize.ts'
import { callRoutes } from './routes/calls.ts'
import { chainRoutes } from './routes/chain.ts'
import { consumeRoute } from './routes/consume.ts'
import { envelopeRoutes } from './routes/envelopes.ts'
import { explainRoute } from './routes/explain.ts'
import { groupRoutes } from './routes/groups.ts'
import { healthRoutes } from './routes/health.ts'
import { keyRoutes } from './routes/keys.ts'
import { killSwitchRoutes } from './routes/kill-switches.ts'
import { openApiRoute } from './routes/openapi.ts'
import { policyRoutes } from './routes/policies.ts'
import { reportRoutes } from './routes/reports.ts'
import { sealingRoutes } from './routes/sealing.ts'
import { segmentRoutes } from './routes/segments.ts'
import { tenantRoutes } from './routes/tenants.ts'
import { type World, createServices } from './services.ts'

export type App = Hono<RequestScope>

export function createApp(world: World): App {
  const services = createServices(world)
  const app: App = new Hono<RequestScope>()
  app.use(observe(services))
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) => {
        const response = answerProblem(c, 'method_not_allowed')
        response.headers.set('allow', methods.join(', '))
        return response
      },
    }),
  )
  app.route('/', healthRoutes(services))
  app.use(requireConfig(services))
  app.route('/', authorizeRoute(services))
  app.route('/', explainRoute(services))
  app.route('/', approvalRoutes(services))
  app.route('/', consumeRoute(services))
  app.route('/', reportRoutes(services))
  app.route('/', chainRoutes(services))
  app.route('/', segmentRoutes(services))
  app.route('/', callRoutes(services))
  app.route('/', sealingRoutes(services))
  app.route('/', envelopeRoutes(services))
  app.route('/', keyRoutes(services))
  app.route('/', policyRoutes(services))
  app.route('/', agentRoutes(services))
  app.route('/', groupRoutes(services))
  app.route('/', apiKeyRoutes(services))
  app.route('/', killSwitchRoutes(services))
  app.route('/', tenantRoutes(services))
  app.route('/', openApiRoute(app))
  app.notFound((c) => answerProblem(c, 'not_found'))
  app.onError((error, c) => {
    c.get('noted').fault = describeFault(error)
    // What threw is the object, the archive or ourselves: in each case nothing was acknowledged.
    return answerProblem(c, isOfTheWorld(error) ? 'unavailable' : 'internal_error')
  })
  return app
}

/** A class and a message, cut; never a stack, and the message is ours or the platform's. */
function describeFault(error: Error): string {
  return `${error.name}: ${error.message}`.slice(0, 200)
}

/** The platform marks what a call of an object met: reset, overloaded, unreachable. */
function isOfTheWorld(error: Error): boolean {
  return 'remote' in error || 'retryable' in error || 'overloaded' in error || 'durableObjectReset' in error
}
