/** What the SDK adds to a page or a Worker, minified and gzipped; a kilobyte is 1,024 bytes here. */
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'

async function bundle(entry: string): Promise<{ gzipped: number; inputs: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL(`../../src/sdk/${entry}.ts`, import.meta.url))],
    absWorkingDir: fileURLToPath(new URL('../..', import.meta.url)),
    bundle: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  const [output] = outputFiles
  const [made] = Object.values(metafile.outputs)
  if (output === undefined || made === undefined) throw new Error('nothing was bundled')
  const inputs = Object.entries(made.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
  return { gzipped: gzipSync(output.contents, { level: 9 }).length, inputs: inputs.map(([name]) => name) }
}

describe('gzipped', () => {
  it.each([
    ['with verification', 'index', 25 * 1024],
    ['without verification', 'unverified', 12 * 1024],
  ])('%s', async (name, entry, most) => {
    const { gzipped } = await bundle(entry)
    process.stdout.write(`SDK ${name}: ${String(gzipped)} bytes gzipped, at most ${String(most)}\n`)
    expect(gzipped).toBeLessThanOrEqual(most)
    // Not an empty file.
    expect(gzipped).toBeGreaterThan(most / 2)
  })

  it('what needs no signature brings no code for signatures, and no package', async () => {
    const { inputs } = await bundle('unverified')
    expect(
      inputs.filter((name) => /^(node_modules|src\/verify)\/|signature|line-decoder/.test(name)),
    ).toEqual([])
  })
})
