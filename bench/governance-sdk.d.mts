export interface AuditEntry {
  timestamp: string
  agentId: string
  action: string
  decision: 'allow' | 'deny' | 'review'
  hash: string
  previousHash: string
}
export class AuditLogger {
  constructor(config?: { maxEntries?: number })
  /** Private in the package's own types; the package has no other way to read a log back. */
  entries: AuditEntry[]
  log(entry: Pick<AuditEntry, 'agentId' | 'action' | 'decision'>): AuditEntry
  verify(): boolean
  exportJSON(): string
}
export const ConflictResolutionStrategy: { readonly DenyOverrides: 'deny_overrides' }
export interface PolicyRule {
  name: string
  condition: string
  ruleAction: 'allow' | 'deny'
}
export class PolicyEngine {
  constructor(rules?: readonly never[], strategy?: 'deny_overrides')
  loadPolicy(policy: {
    apiVersion: string
    name: string
    scope: 'global'
    rules: PolicyRule[]
    default_action: 'deny'
  }): void
  evaluatePolicy(agent: string, context: Record<string, unknown>): { readonly allowed: boolean }
}
