/**
 * A checker for the part of JSON Schema that our documents use: faults as paths. Throws for a keyword that it does not
 * know, so that nothing passes unread. Not a validator for anyone else's schemas.
 */
const annotations: ReadonlySet<string> = new Set(['description', '$schema', 'title'])

/** Where the value is not what the schema says; empty when it is. */
export function checkJson(schema: unknown, value: unknown, path = '$'): string[] {
  if (typeof schema !== 'object' || schema === null) throw new Error(`no schema at ${path}`)
  const rules = schema as Readonly<Record<string, unknown>>
  return Object.entries(rules).flatMap(([keyword, rule]) => {
    if (annotations.has(keyword)) return []
    return checkKeyword(keyword, rule, rules, value, path)
  })
}

function checkKeyword(
  keyword: string,
  rule: unknown,
  rules: Readonly<Record<string, unknown>>,
  value: unknown,
  path: string,
): string[] {
  const fault = (holds: boolean) => (holds ? [] : [`${path} ${keyword}`])
  switch (keyword) {
    case 'type':
      return fault(typeOf(value) === rule || (rule === 'number' && typeOf(value) === 'integer'))
    case 'const':
      return fault(value === rule)
    case 'enum':
      return fault((rule as readonly unknown[]).includes(value))
    case 'pattern':
      return fault(typeof value !== 'string' || new RegExp(rule as string, 'u').test(value))
    case 'minimum':
      return fault(typeof value !== 'number' || value >= (rule as number))
    case 'required':
      return fault(
        !isObject(value) || (rule as readonly string[]).every((name) => Object.hasOwn(value, name)),
      )
    case 'maxProperties':
      return fault(!isObject(value) || Object.keys(value).length <= (rule as number))
    case 'anyOf':
      return fault((rule as readonly unknown[]).some((one) => checkJson(one, value, path).length === 0))
    case 'items':
      return Array.isArray(value)
        ? value.flatMap((item, at) => checkJson(rule, item, `${path}[${String(at)}]`))
        : []
    case 'properties':
      if (!isObject(value)) return []
      return Object.entries(rule as Record<string, unknown>).flatMap(([name, inner]) =>
        Object.hasOwn(value, name) ? checkJson(inner, value[name], `${path}.${name}`) : [],
      )
    case 'additionalProperties': {
      if (!isObject(value)) return []
      const known = Object.keys(rules['properties'] ?? {})
      const more = Object.keys(value).filter((name) => !known.includes(name))
      if (rule === false) return fault(more.length === 0)
      return typeof rule === 'object'
        ? more.flatMap((name) => checkJson(rule, value[name], `${path}.${name}`))
        : []
    }
    default:
      throw new Error(`the keyword ${keyword} at ${path} is not one that is known here`)
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
