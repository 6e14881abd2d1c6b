// @microsoft/agent-governance-sdk, out of bench/node_modules (bench/peers-installed.ts). Plain JavaScript, so that the
// project compiles without it; its types, as far as they are used, are in governance-sdk.d.mts.
export { AuditLogger, ConflictResolutionStrategy, PolicyEngine } from '@microsoft/agent-governance-sdk'
