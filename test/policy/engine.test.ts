/** policy.md §5 in Node; the same bodies run in workerd from test/worker/policy. */
import { describe } from 'vitest'
import { engineClaims } from './claims/engine-claims.ts'
import { cedarModule } from './node-means.ts'

describe('the engine in Node', { timeout: 60_000 }, () => {
  engineClaims(cedarModule)
})
