/** The composition root: what the platform starts. Nothing is decided here. */
export { TenantChain } from '../durable-objects/tenant-chain.ts'
