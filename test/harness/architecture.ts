/**
 * Reads every import of a source file and judges it against the floors: who may import whom, and which packages
 * a floor may have. The table is docs/decisions/0002 in code. Not a linter: it knows folders, not style.
 */
import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import { parseSync } from 'oxc-parser'

/** One mention of another module: by whatever syntax, at a line counted from 1. */
export interface Import {
  readonly specifier: string
  readonly typeOnly: boolean
  readonly line: number
}

/** An import that the table does not allow. */
export interface Offence {
  readonly file: string
  readonly line: number
  readonly specifier: string
  readonly why: string
}

interface Edge {
  readonly to: string
  /** Only by a declaration that leaves nothing at run time: `import type`, `export type`, `import('…')` in a type. */
  readonly typeOnly?: true
  /** Only these files of the floor, as paths from the repository's root. */
  readonly files?: readonly string[]
}

interface Floor {
  readonly floors: readonly (string | Edge)[]
  /** Package names; `node:*` stands for every module of Node. */
  readonly packages: readonly string[]
  /** Single files outside the floors. */
  readonly files?: readonly string[]
}

/** Left may import right, and nothing else is allowed. A floor may always import itself. */
export const floors: Readonly<Record<string, Floor>> = {
  record: { floors: [], packages: ['@noble/ed25519', '@noble/hashes'] },
  'crypto-node': { floors: ['record'], packages: ['node:crypto'] },
  policy: { floors: ['record'], packages: ['@cedar-policy/cedar-wasm'] },
  chain: { floors: ['record'], packages: [] },
  verify: { floors: ['record'], packages: [] },
  protocol: { floors: ['record'], packages: ['valibot'] },
  recheck: { floors: ['verify', 'policy', 'record'], packages: [] },
  archive: {
    floors: ['record', { to: 'chain', typeOnly: true, files: ['src/chain/ports.ts'] }],
    packages: [],
  },
  'durable-objects': {
    floors: ['chain', 'archive', 'record', 'crypto-node'],
    packages: ['cloudflare:workers', 'node:dns/promises'],
  },
  app: {
    floors: ['protocol', 'policy', 'archive', 'record', { to: 'durable-objects', typeOnly: true }],
    packages: ['hono', 'hono-openapi', 'valibot', '@valibot/to-json-schema'],
  },
  worker: {
    floors: ['app', 'durable-objects', 'crypto-node', { to: 'console', files: ['src/console/server.ts'] }],
    packages: ['cloudflare:workers'],
  },
  sdk: { floors: ['protocol', 'verify', 'record'], packages: [] },
  cli: {
    floors: ['sdk', 'recheck', 'verify', 'policy', 'protocol', 'record', 'crypto-node'],
    packages: ['commander', 'node:*'],
    files: ['package.json'],
  },
  console: { floors: ['sdk', 'verify', 'recheck'], packages: [] },
}

/** The floor of a file named by its path from the repository's root; undefined for a file on no floor. */
export function floorOf(file: string): string | undefined {
  if (file === 'src/worker.ts') return 'worker'
  const [top, folder, ...rest] = file.split('/')
  if (top === 'durable-objects' && folder !== undefined) return 'durable-objects'
  if (top !== 'src' || folder === undefined || rest.length === 0) return undefined
  return Object.hasOwn(floors, folder) && folder !== 'worker' && folder !== 'durable-objects'
    ? folder
    : undefined
}

/** The imports of one file that the table does not allow, in reading order. */
export function judge(file: string, source: string): Offence[] {
  const own = floorOf(file)
  if (own === undefined) return [{ file, line: 1, specifier: '', why: 'the file is on no floor' }]
  return readImports(file, source).flatMap((found) => {
    const why = refuse(file, own, found)
    return why === undefined ? [] : [{ file, line: found.line, specifier: found.specifier, why }]
  })
}

function refuse(file: string, own: string, found: Import): string | undefined {
  const floor = floors[own]
  if (floor === undefined) return `there is no floor ${own}`
  if (found.specifier === computed) return 'the module name is computed'
  if (!found.specifier.startsWith('.')) return refusePackage(own, floor, found.specifier)

  const target = posix.normalize(posix.join(posix.dirname(file), found.specifier))
  // The wasm of a package can be reached by its path only, which is still an import of that package.
  const [, below] = /^node_modules\/(.+)$/.exec(target) ?? []
  if (below !== undefined) return refusePackage(own, floor, below)
  if (floor.files?.includes(target) === true) return undefined
  const other = floorOf(target)
  if (other === undefined) return `${target} is on no floor`
  if (other === own) return undefined

  const edge = floor.floors
    .map((allowed): Edge => (typeof allowed === 'string' ? { to: allowed } : allowed))
    .find((allowed) => allowed.to === other)
  if (edge === undefined) return `${own} may not import ${other}`
  if (edge.typeOnly === true && !found.typeOnly) return `${own} may import ${other} by \`import type\` only`
  if (edge.files !== undefined && !edge.files.includes(target)) {
    return `${own} may import only ${edge.files.join(', ')} of ${other}`
  }
  return undefined
}

function refusePackage(own: string, floor: Floor, specifier: string): string | undefined {
  const name = packageOf(specifier)
  if (floor.packages.includes(name)) return undefined
  if (name.startsWith('node:') && floor.packages.includes('node:*')) return undefined
  return `${own} may not import the package ${name}`
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) {
    return specifier.startsWith('node:') ? specifier : `node:${specifier}`
  }
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** What `readImports` puts for a module name that is not a literal: nobody can judge it. */
const computed = '<computed>'

/**
 * Every mention of another module in a source text: import and export declarations, dynamic `import()`, `import()`
 * in a type, `import x = require()`, `require()` and `require.resolve()`, `/// <reference>`.
 *
 * @throws Error for a text that does not parse: an unread file would pass unseen.
 */
export function readImports(file: string, source: string): Import[] {
  const parsed = parseSync(file, source)
  const [error] = parsed.errors
  if (error !== undefined) throw new Error(`${file}: ${error.message}`)
  const imports: Import[] = []
  const lineAt = (offset: number): number => source.slice(0, offset).split('\n').length
  const add = (specifier: string, typeOnly: boolean, offset: number): void => {
    imports.push({ specifier, typeOnly, line: lineAt(offset) })
  }
  for (const comment of parsed.comments) {
    const [, name] = /^\/\s*<reference\s[^>]*?"([^"]*)"/.exec(comment.value) ?? []
    if (comment.type === 'Line' && name !== undefined) add(name, true, comment.start)
  }
  // An explicit stack: how deep a source nests is not our choice.
  const open: unknown[] = [parsed.program]
  while (open.length > 0) {
    const node = open.pop()
    open.push(...list(node).toReversed())
    if (!isNode(node)) continue
    const mention = mentionOf(node)
    if (mention !== undefined) add(mention.specifier, mention.typeOnly, node.start)
    open.push(...Object.values(node).toReversed())
  }
  return imports.toSorted((left, right) => left.line - right.line)
}

interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly [member: string]: unknown
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function mentionOf(node: SyntaxNode): { specifier: string; typeOnly: boolean } | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
      return { specifier: literal(node['source']), typeOnly: node['importKind'] === 'type' }
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      if (!isNode(node['source'])) return undefined
      return { specifier: literal(node['source']), typeOnly: node['exportKind'] === 'type' }
    case 'ImportExpression':
      return { specifier: literal(node['source']), typeOnly: false }
    case 'TSImportType':
      return { specifier: literal(node['source'] ?? node['argument']), typeOnly: true }
    case 'TSExternalModuleReference':
      return { specifier: literal(node['expression']), typeOnly: false }
    case 'CallExpression': {
      if (!isRequire(node['callee'])) return undefined
      return { specifier: literal(list(node['arguments'])[0]), typeOnly: false }
    }
    default:
      return undefined
  }
}

function isRequire(callee: unknown): boolean {
  if (!isNode(callee)) return false
  if (callee.type === 'Identifier') return callee['name'] === 'require'
  return callee.type === 'MemberExpression' && (isRequire(callee['object']) || isRequire(callee['property']))
}

function literal(node: unknown): string {
  if (!isNode(node)) return computed
  if (node.type === 'TSLiteralType') return literal(node['literal'])
  const [quasi, ...more] = list(node['quasis'])
  if (more.length === 0) {
    const value = isNode(quasi) ? quasi['value'] : undefined
    if (
      typeof value === 'object' &&
      value !== null &&
      'cooked' in value &&
      typeof value.cooked === 'string'
    ) {
      return value.cooked
    }
  }
  return typeof node['value'] === 'string' ? node['value'] : computed
}
