import { cloudflareTest } from '@cloudflare/vitest-pool-workers'
import { defineConfig } from 'vitest/config'
import { sharedSignatures } from './test/harness/shared-signatures.ts'
import { outsideTests } from './test/harness/shared.ts'

/**
 * Two projects: `node` runs everything but test/worker in Node; `worker` runs test/worker inside workerd, under
 * the configuration that is deployed. A stray `.only`, which would hide every other test of its file, fails. A
 * test that reads ../shared ends in `.shared.test.ts`.
 */
export default defineConfig({
  test: {
    // The Worker logs each request; only what a failed test printed is of interest.
    silent: 'passed-only',
    projects: [
      {
        test: {
          name: 'node',
          allowOnly: false,
          include: ['test/**/*.test.ts'],
          exclude: ['test/worker/**', ...outsideTests()],
          // Against a test that hangs; what must be quick says so itself.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: './wrangler.toml' },
            miniflare: {
              cf: false,
              // Published, worthless: the seed of SPEC.md's examples.
              bindings: {
                AEGIS_SEED: `0:${'07'.repeat(32)}`,
                AEGIS_DEPLOYMENT: 'test',
                AEGIS_OPERATOR_SECRET: '0'.repeat(52),
              },
            },
          }),
        ],
        test: {
          name: 'worker',
          allowOnly: false,
          testTimeout: 30_000,
          include: ['test/worker/**/*.test.ts'],
          exclude: outsideTests(),
          provide: { sharedSignatures: sharedSignatures() },
        },
      },
    ],
  },
})
