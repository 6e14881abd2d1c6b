/** The table of routes in docs/http.md, made from the OpenAPI document: written by `npm run docs`, held by a test. */
import { createApp } from '../../src/app/app.ts'
import { openApiDocument } from '../../src/app/openapi.ts'
import type { World } from '../../src/app/services.ts'
import type { Content, OpenApi, Operation } from './openapi-document.ts'

/** Nothing is asked of the world while the document is made. */
const world = { config: { kind: 'not_configured', missing: [] }, log: () => undefined } as unknown as World

/** One row a route, in the order in which the application has them. */
export async function httpRows(): Promise<readonly (readonly string[])[]> {
  const document = (await openApiDocument(createApp(world))) as OpenApi
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => toRow(method, path, operation)),
  )
}

/** route, role, body, answer, codes. */
function toRow(method: string, path: string, operation: Operation): string[] {
  const roles = operation.description?.replace('Roles: ', '') ?? 'no key'
  const body = Object.values(operation.requestBody?.content ?? {}).map(nameOf)[0] ?? ''
  const answers: string[] = []
  const codes: string[] = []
  for (const [status, { description, content }] of Object.entries(operation.responses)) {
    if (Number(status) >= 400) {
      codes.push(`${status} ${description.replace(/\w+/g, '`$&`').replaceAll(',', '')}`)
      continue
    }
    const [type, schema] = Object.entries(content ?? {})[0] ?? []
    const what = schema === undefined ? '' : ` ${nameOf(schema) ?? `\`${type ?? ''}\``}`
    answers.push(`${status}${what}: ${description}`)
  }
  return [`\`${method.toUpperCase()} ${path}\``, roles, body, answers.join('; '), codes.join('; ')]
}

function nameOf({ schema }: Content): string | undefined {
  const name = schema?.$ref?.split('/').at(-1)
  return name === undefined ? undefined : `\`${name}\``
}
