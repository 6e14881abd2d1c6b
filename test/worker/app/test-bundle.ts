/** A small bundle that reaches every kind of decision, built and validated by the real policy floor. */
// @ts-expect-error -- the package does not export its wasm; a path into node_modules is how workerd gets the module.
import cedarModule from '../../../node_modules/@cedar-policy/cedar-wasm/web/cedar_wasm_bg.wasm'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import { type WasmModule, createEngine, describeFinding, readBundle } from '../../../src/policy/index.ts'
import { type PolicySetHash, utf8 } from '../../../src/record/index.ts'

const engine = createEngine({ module: cedarModule as WasmModule })

const tools = {
  github: {
    merge_pr: {
      risk: 'high',
      mutates_state: true,
      args: { base_branch: { at: '/base_branch', type: 'string', required: true } },
    },
    read: { risk: 'low', mutates_state: false },
    comment: {
      risk: 'medium',
      mutates_state: true,
      resource: { from: '/issue' },
      args: { issue: { at: '/issue', type: 'string', required: true } },
    },
  },
  bank: { pay: { risk: 'critical', mutates_state: true } },
  vault: { open: { risk: 'low', mutates_state: false, default: 'deny' } },
}

const policies = `// Permits what the tests ask for.
@id("reads") permit(principal, action in Action::"reading", resource);
@id("merges") permit(principal, action == Action::"github.merge_pr", resource) when { context.args.base_branch == "develop" };
@id("asks") @decision("require_approval") @approvers("leads") @reason("main is protected")
permit(principal, action == Action::"github.merge_pr", resource) when { context.args.base_branch == "main" };
@id("comments") permit(principal, action == Action::"github.comment", resource);
@id("pays") permit(principal, action == Action::"bank.pay", resource);
@id("no-malice") forbid(principal, action, resource) when { context.trust == 1 };
`

const settings = {
  agent_rate_per_s: 5_000,
  agent_burst: 20_000,
  tenant_rate_per_s: 5_000,
  tenant_burst: 20_000,
  refused_calls_per_minute: 6_000,
  pending_per_agent: 1_000,
  approver_groups: { leads: { quorum: 1 } },
  default_group: 'leads',
}

export interface TestBundle {
  readonly bytes: Uint8Array
  readonly policySetHash: PolicySetHash
}

export interface BundleGiven {
  readonly settings?: Readonly<Record<string, unknown>>
  /** More policies, in Cedar's text. */
  readonly policies?: string
}

export function testBundle(given: BundleGiven = {}): TestBundle {
  const files = new Map([
    ['tools.json', utf8(JSON.stringify(tools))],
    ['settings.json', utf8(JSON.stringify({ ...settings, ...given.settings }))],
    ['policies.cedar', utf8(policies + (given.policies ?? ''))],
  ])
  const { bundle, findings } = readBundle(files, { engine, digester: nodeSuite })
  if (bundle === undefined) throw new Error(findings.map(describeFinding).join('\n'))
  return { bytes: bundle.objectBytes, policySetHash: bundle.policySet.policySetHash }
}
