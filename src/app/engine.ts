/** The policy engine, for the composition root, which reaches the other floors through this one. */
export { createEngine } from '../policy/index.ts'
