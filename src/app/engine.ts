/** The policy engine of this isolate, for the composition root, which reaches the other floors through this one. */
import { cedarModule } from '../policy/cedar-module.ts'
import { type Engine, createEngine } from '../policy/index.ts'

export function createIsolateEngine(): Engine {
  return createEngine({ module: cedarModule })
}
