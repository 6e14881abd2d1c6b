/** Policies that break cedar-wasm 4.13.0, by form; `n` is how often the form repeats. */
const repeat = (text: string, n: number): string => text.repeat(n)

/** Conditions that nest; 150 of each were measured to trap the parser or to be refused by it. */
export const nestings: Readonly<Record<string, (n: number) => string>> = {
  parentheses: (n) => `${repeat('(', n)}true${repeat(')', n)}`,
  sets: (n) => `${repeat('[', n)}1${repeat(']', n)} == 1`,
  records: (n) => `${repeat('{a: ', n)}1${repeat('}', n)} == 1`,
  'records in sets in parentheses': (n) => `${repeat('({"a": [', n)}1${repeat(']})', n)} == 1`,
  'calls of functions': (n) => `${repeat('ip(', n)}"1.2.3.4"${repeat(')', n)}.isIpv4()`,
  'calls of methods': (n) => `${repeat('[1].contains(', n)}1${repeat(')', n)}`,
}

/** Conditions that chain; 1,000 of each were measured to trap the parser or to be refused by it. */
export const chains: Readonly<Record<string, (n: number) => string>> = {
  additions: (n) => `1${repeat(' + 1', n)} == 1`,
  subtractions: (n) => `1${repeat(' - 1', n)} == 1`,
  multiplications: (n) => `1${repeat(' * 1', n)} == 1`,
  conjunctions: (n) => `true${repeat(' && true', n)}`,
  disjunctions: (n) => `false${repeat(' || false', n)}`,
  attributes: (n) => `context${repeat('.a', n)} == 1`,
  'attributes by name': (n) => `context${repeat('["a"]', n)} == 1`,
  'methods on methods': (n) => `[1]${repeat('.contains(1)', n)}`,
  'ifs in then': (n) => `${repeat('if true then ', n)}true${repeat(' else true', n)}`,
  'ifs in else': (n) => `${repeat('if true then true else ', n)}true`,
  'ifs in if': (n) => `${repeat('if ', n)}true${repeat(' then true else false', n)}`,
  negations: (n) => `${repeat('!', n)}true`,
  minuses: (n) => `${repeat('-', n)}1 == 1`,
}

export function permitWhen(id: string, condition: string): string {
  return `@id("${id}") permit(principal, action, resource) when { ${condition} };\n`
}
