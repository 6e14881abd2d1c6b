/** `GET /openapi.json`: generated from the routes and the schemas they use, once an isolate. Needs no key. */
import { Hono } from 'hono'
import { describeOpenApi } from '../descriptions.ts'
import { openApiDocument } from '../openapi.ts'
import type { RequestScope } from '../request-scope.ts'

/** @param all the whole application: it is read when the first request comes, and then knows every route. */
export function openApiRoute(all: Hono<RequestScope>): Hono<RequestScope> {
  let text: string | undefined
  return new Hono<RequestScope>().get('/openapi.json', describeOpenApi, async (c) => {
    text ??= JSON.stringify(await openApiDocument(all))
    return c.body(text, 200, { 'content-type': 'application/json', 'cache-control': 'public, max-age=300' })
  })
}
