/** The SDK is neutral to the runtime: bundled for a browser it needs no module of Node and no schema library. */
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

it.each(['index', 'unverified', 'service-binding', 'ai', 'claude-code-hook'])(
  '%s bundles for browsers from our own floors and noble alone',
  async (entry) => {
    const { metafile, warnings } = await build({
      entryPoints: [fileURLToPath(new URL(`../../src/sdk/${entry}.ts`, import.meta.url))],
      absWorkingDir: fileURLToPath(new URL('../..', import.meta.url)),
      bundle: true,
      platform: 'browser',
      format: 'esm',
      write: false,
      metafile: true,
      logLevel: 'silent',
    })
    expect(warnings).toEqual([])
    const inputs = Object.keys(metafile.inputs)
    const allowed = /^(src\/(sdk|verify|protocol|record)|node_modules\/@noble\/(ed25519|hashes))\//
    expect(inputs.filter((input) => !allowed.test(input))).toEqual([])
    expect(inputs).toContain(`src/sdk/${entry}.ts`)
  },
)
