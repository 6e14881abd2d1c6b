/** The table of docs/http.md says what the OpenAPI document says, row by row. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createApp } from '../../src/app/app.ts'
import { openApiDocument } from '../../src/app/openapi.ts'
import type { World } from '../../src/app/services.ts'
import { type Content, type OpenApi, type Operation } from '../harness/openapi-document.ts'

/** Nothing is asked of the world while the document is made. */
const world = { config: { kind: 'not_configured', missing: [] }, log: () => undefined } as unknown as World

/** Cells of each row, without the padding that the formatter puts in. */
function rows(): string[][] {
  return readFileSync(new URL('../../docs/http.md', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => /^\| `(GET|POST)/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
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

const toText = (row: readonly string[]) => row.join(' | ')

describe('docs/http.md', () => {
  it('has one row a route, and each says what the document says', async () => {
    const document = (await openApiDocument(createApp(world))) as OpenApi
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => toRow(method, path, operation)),
    )
    expect(new Set(rows().map(toText))).toEqual(new Set(described.map(toText)))
    expect(rows()).toHaveLength(described.length)
  })
})
