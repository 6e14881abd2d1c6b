/** The published entry `aegis-edge/crypto-node`: the suite on `node:crypto` and the key derivations. */
export {
  type ParsedSeeds,
  type SeedSet,
  deriveLineKey,
  deriveTagKey,
  deriveWebhookSecret,
  hmacSha256,
  parseSeeds,
} from './derive.ts'
export { nodeSuite } from './suite.ts'
