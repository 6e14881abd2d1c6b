/** The floors hold: who imports whom, which packages a floor has, and that the lowest ones know no runtime. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { floorOf, floors, judge, readImports } from './harness/architecture.ts'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((name) => /\.[cm]?[jt]sx?$/.test(name))
    .toSorted()
}

describe('the tree', () => {
  const files = [...sources('src'), ...sources('durable-objects')]

  it('is read at all', () => {
    expect(files).toContain('src/cli/main.ts')
    expect(readImports('src/cli/main.ts', readFileSync(join(root, 'src/cli/main.ts'), 'utf8'))).not.toEqual(
      [],
    )
  })

  it('imports only along the allowed edges', () => {
    const offences = files.flatMap((file) => judge(file, readFileSync(join(root, file), 'utf8')))
    expect(offences).toEqual([])
  })
})

describe('the table', () => {
  const edges = Object.entries(floors).map(
    ([name, floor]) =>
      [name, floor.floors.map((edge) => (typeof edge === 'string' ? edge : edge.to))] as const,
  )

  it('names floors only', () => {
    for (const [, targets] of edges) for (const target of targets) expect(floors).toHaveProperty([target])
  })

  it('has no cycle', () => {
    const done = new Set<string>()
    // Takes away what stands on nothing but what was taken before; a cycle is what remains.
    for (let round = 0; round <= edges.length; round += 1) {
      for (const [name, targets] of edges) if (targets.every((target) => done.has(target))) done.add(name)
    }
    expect(edges.map(([name]) => name).filter((name) => !done.has(name))).toEqual([])
  })
})

describe('a forbidden import is reported, whatever its syntax', () => {
  const syntaxes = [
    "import { x } from '../policy/engine.ts'",
    "import x from '../policy/engine.ts'",
    "import * as x from '../policy/engine.ts'",
    "import '../policy/engine.ts'",
    "import type { X } from '../policy/engine.ts'",
    "import { type X } from '../policy/engine.ts'",
    "export { x } from '../policy/engine.ts'",
    "export * from '../policy/engine.ts'",
    "export * as x from '../policy/engine.ts'",
    "export type { X } from '../policy/engine.ts'",
    "const x = await import('../policy/engine.ts')",
    'const x = await import(`../policy/engine.ts`)',
    "type X = import('../policy/engine.ts').X",
    "type X = typeof import('../policy/engine.ts')",
    "import x = require('../policy/engine.ts')",
    "const x = require('../policy/engine.ts')",
    "const x = module.require('../policy/engine.ts')",
    "const x = require.resolve('../policy/engine.ts')",
    "function f() { if (true) { return () => import('../policy/engine.ts') } }",
  ]
  it.each(syntaxes)('%s', (syntax) => {
    const source = `// first line\n${syntax}\n`
    expect(judge('src/verify/report.ts', source)).toEqual([
      {
        file: 'src/verify/report.ts',
        line: 2,
        specifier: '../policy/engine.ts',
        why: 'verify may not import policy',
      },
    ])
  })

  it.each([
    'const x = await import(name)',
    'const x = await import(`../${name}.ts`)',
    'const x = require(name)',
    'const x = require()',
  ])('%s, since nobody can judge a computed name', (syntax) => {
    expect(judge('src/verify/report.ts', syntax)).toMatchObject([{ why: 'the module name is computed' }])
  })

  it('/// <reference>', () => {
    expect(judge('src/record/line.ts', '/// <reference types="node" />\n')).toMatchObject([
      { line: 1, specifier: 'node', why: 'record may not import the package node' },
    ])
  })

  it('but not a word in a comment or in a string', () => {
    const source = "// import '../policy/engine.ts'\nconst x = \"import '../policy/engine.ts'\"\n"
    expect(judge('src/verify/report.ts', source)).toEqual([])
  })

  it('and a file that does not parse is an error', () => {
    expect(() => judge('src/verify/report.ts', 'import {')).toThrow('src/verify/report.ts')
  })
})

describe('edges', () => {
  it.each([
    ['src/record/line.ts', '../chain/admit.ts', 'record may not import chain'],
    ['src/record/line.ts', '../../durable-objects/store.ts', 'record may not import durable-objects'],
    ['src/chain/admit.ts', '../verify/index.ts', 'chain may not import verify'],
    ['src/verify/index.ts', '../chain/append.ts', 'verify may not import chain'],
    ['src/verify/index.ts', '../crypto-node/index.ts', 'verify may not import crypto-node'],
    ['src/policy/decide.ts', '../protocol/index.ts', 'policy may not import protocol'],
    ['src/archive/segments.ts', '../chain/ports.ts', 'archive may import chain by `import type` only'],
    ['src/app/services.ts', '../chain/ports.ts', 'app may not import chain'],
    ['src/app/routes/authorize.ts', '../../crypto-node/index.ts', 'app may not import crypto-node'],
    ['src/app/services.ts', '../../durable-objects/tenant-chain.ts', 'app may import durable-objects by'],
    ['src/worker.ts', './policy/index.ts', 'worker may not import policy'],
    ['src/worker.ts', './console/page.ts', 'worker may import only src/console/server.ts of console'],
    ['durable-objects/store.ts', '../src/policy/index.ts', 'durable-objects may not import policy'],
    ['src/sdk/index.ts', '../policy/index.ts', 'sdk may not import policy'],
    ['src/cli/main.ts', '../app/config.ts', 'cli may not import app'],
    ['src/sdk/index.ts', '../../package.json', 'package.json is on no floor'],
    ['src/sdk/index.ts', '../../test/harness/shared.ts', 'test/harness/shared.ts is on no floor'],
    ['src/sdk/index.ts', '../utils.ts', 'src/utils.ts is on no floor'],
  ])('%s may not import %s', (file, specifier, why) => {
    const [offence, ...more] = judge(file, `import { x } from '${specifier}'`)
    expect(offence?.why).toContain(why)
    expect(more).toEqual([])
  })

  it.each([
    ['src/record/line.ts', "import { x } from './digest.ts'"],
    ['src/chain/admit.ts', "import { x } from '../record/line.ts'"],
    ['src/archive/segments.ts', "import type { X } from '../chain/ports.ts'"],
    ['src/app/services.ts', "import type { X } from '../../durable-objects/tenant-chain.ts'"],
    ['src/app/services.ts', "type X = import('../../durable-objects/tenant-chain.ts').X"],
    ['src/worker.ts', "export { X } from '../durable-objects/tenant-chain.ts'"],
    ['src/worker.ts', "import { x } from './console/server.ts'"],
    ['durable-objects/tenant-chain.ts', "import { x } from '../src/chain/admit.ts'"],
    ['src/cli/main.ts', "import { version } from '../../package.json'"],
  ])('%s may: %s', (file, source) => {
    expect(judge(file, source)).toEqual([])
  })

  it('`import { type X }` is not a type-only edge: it leaves an import at run time', () => {
    const source = "import { type X } from '../../durable-objects/tenant-chain.ts'"
    expect(judge('src/app/services.ts', source)).toHaveLength(1)
  })

  it('a file in src outside every floor is reported', () => {
    expect(floorOf('src/utils.ts')).toBeUndefined()
    expect(judge('src/helpers/text.ts', '')).toMatchObject([{ why: 'the file is on no floor' }])
    expect(judge('src/worker/index.ts', '')).toMatchObject([{ why: 'the file is on no floor' }])
  })
})

describe('packages', () => {
  it.each([
    ['src/record/signature.ts', 'node:crypto', 'node:crypto'],
    ['src/record/signature.ts', 'crypto', 'node:crypto'],
    ['src/record/signature.ts', '@noble/curves/ed25519.js', '@noble/curves'],
    ['src/crypto-node/index.ts', 'node:fs', 'node:fs'],
    ['src/verify/index.ts', '@noble/hashes/sha2.js', '@noble/hashes'],
    ['src/app/config.ts', '@cedar-policy/cedar-wasm', '@cedar-policy/cedar-wasm'],
    ['src/app/config.ts', 'cloudflare:workers', 'cloudflare:workers'],
    ['src/sdk/index.ts', 'valibot', 'valibot'],
    [
      'src/app/config.ts',
      '../../node_modules/@cedar-policy/cedar-wasm/web/cedar_wasm_bg.wasm',
      '@cedar-policy/cedar-wasm',
    ],
  ])('%s may not import %s', (file, specifier, name) => {
    expect(judge(file, `import { x } from '${specifier}'`)).toMatchObject([
      { why: expect.stringContaining(`may not import the package ${name}`) as string },
    ])
  })

  it.each([
    ['src/record/signature.ts', '@noble/hashes/sha2.js'],
    ['src/crypto-node/index.ts', 'node:crypto'],
    ['src/policy/engine.ts', '../../node_modules/@cedar-policy/cedar-wasm/web/cedar_wasm_bg.wasm'],
    ['src/app/routes/authorize.ts', 'hono/body-limit'],
    ['src/cli/main.ts', 'node:fs/promises'],
    ['durable-objects/tenant-chain.ts', 'cloudflare:workers'],
  ])('%s may import %s', (file, specifier) => {
    expect(judge(file, `import { x } from '${specifier}'`)).toEqual([])
  })
})

describe('the runtime-free floors', () => {
  const require = createRequire(import.meta.url)
  const manifest = require('typescript/package.json') as { bin: { tsc: string } }
  const program = join(dirname(require.resolve('typescript/package.json')), manifest.bin.tsc)
  const tsc = (...args: string[]): string => {
    const { stdout } = spawnSync(process.execPath, [program, ...args], { cwd: root, encoding: 'utf8' })
    return stdout
  }

  it('compile under their own configuration, every file of them', () => {
    const { files = [] } = JSON.parse(tsc('-p', 'src/record', '--showConfig')) as { files?: string[] }
    const compiled = files.map((file) => join('src/record', file)).toSorted()
    const expected = ['src/record', 'src/verify', 'src/chain'].flatMap(sources).toSorted()
    expect(compiled).toEqual(expected)
    expect(readFileSync(join(root, 'package.json'), 'utf8')).toContain('tsc -p src/record')
  })

  it('cannot name what a runtime brings, also beside the packages they import', () => {
    const names = [
      'fetch',
      'crypto',
      'Buffer',
      'process',
      'TextEncoder',
      'console',
      'setTimeout',
      'performance',
    ]
    const source = [
      "import { verify } from '@noble/ed25519'",
      "import { sha256 } from '@noble/hashes/sha2.js'",
      ...names.map((name) => `export const is_${name}: unknown = ${name}`),
      'export const known: unknown = [verify, sha256, Uint8Array, BigInt]',
    ].join('\n')
    const cache = join(root, 'node_modules/.cache')
    mkdirSync(cache, { recursive: true })
    const folder = mkdtempSync(join(cache, 'runtime-free-'))
    try {
      writeFileSync(join(folder, 'snippet.ts'), source)
      const config = { extends: join(root, 'src/record/tsconfig.json'), include: [], files: ['snippet.ts'] }
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
      const errors = tsc('-p', folder, '--pretty', 'false').trim().split('\n')
      expect(errors).toHaveLength(names.length)
      for (const name of names) {
        expect(errors).toContainEqual(expect.stringContaining(`Cannot find name '${name}'`))
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
