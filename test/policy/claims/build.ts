/** Bundles and requests for tests, in Node and in workerd alike. */
import {
  type AgentRecord,
  type Bundle,
  type DecisionInput,
  type Engine,
  type Evaluation,
  type ReadBundle,
  type Trust,
  caseAgent,
  caseNowMs,
  decide,
  describeFinding,
  readBundle,
} from '../../../src/policy/index.ts'
import { type JsonObject, type JsonValue, nobleSuite } from '../../../src/record/index.ts'

const encoder = new TextEncoder()

/** Files from texts and JSON values. */
export function toFiles(contents: { readonly [file: string]: string | JsonValue }): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>()
  for (const [file, content] of Object.entries(contents)) {
    files.set(file, encoder.encode(typeof content === 'string' ? content : JSON.stringify(content)))
  }
  return files
}

/** A catalogue with one action of each kind that the tests need. */
export const tools: JsonObject = {
  shop: {
    browse: { risk: 'low', mutates_state: false, args: { query: { at: '/query', type: 'string' } } },
    order: {
      risk: 'medium',
      mutates_state: true,
      args: {
        amount: { at: '/amount', type: 'integer' },
        tags: { at: '/tags', type: 'set<string>' },
        text: { at: '/text', type: 'string' },
        total: { at: '/payments/*/amount', type: 'integer', aggregate: 'sum' },
        when: { at: '/when', type: 'datetime' },
        from: { at: '/from', type: 'ipaddr' },
        price: { at: '/price', type: 'decimal' },
        card: { at: '/card', type: 'string', record: 'digest' },
      },
    },
    wipe: { risk: 'critical', mutates_state: true },
    send: {
      risk: 'high',
      mutates_state: true,
      resource: { from: 'shop:{to}' },
      args: { to: { at: '/to', type: 'string', required: true }, 'net.url': { at: '/url' } },
    },
    read_file: {
      risk: 'low',
      mutates_state: false,
      capability: 'fs.read',
      args: { 'fs.path': { at: '/path', required: true } },
    },
  },
}

export const settings: JsonObject = {
  approver_groups: { ops: { quorum: 1 }, finance: { quorum: 2 } },
  default_group: 'ops',
}

export function read(
  engine: Engine,
  policies: string,
  extra: { readonly [file: string]: JsonValue } = {},
): ReadBundle {
  const files = toFiles({ 'tools.json': tools, 'settings.json': settings, 'a.cedar': policies, ...extra })
  return readBundle(files, { engine, digester: nobleSuite })
}

/** A bundle that must be without errors. */
export function bundleOf(
  engine: Engine,
  policies: string,
  extra: { readonly [file: string]: JsonValue } = {},
): Bundle {
  const { bundle, findings } = read(engine, policies, extra)
  if (bundle === undefined) throw new Error(findings.map(describeFinding).join('\n'))
  return bundle
}

export interface Asked {
  readonly tool?: string
  readonly action?: string
  readonly parameters?: JsonObject
  readonly resource?: string | null
  readonly mutates?: boolean
  readonly trust?: Trust
  readonly sensitive?: boolean
  readonly agent?: Partial<AgentRecord>
  readonly nowMs?: number
}

export function inputOf(bundle: Pick<Bundle, 'policySet'>, asked: Asked): DecisionInput {
  return {
    policySet: bundle.policySet,
    agent: { ...caseAgent, trustMax: 'trusted_internal_signed', ...asked.agent },
    nowMs: asked.nowMs ?? caseNowMs,
    request: {
      toolCall: {
        tool: asked.tool ?? 'shop',
        action: asked.action ?? 'order',
        resource: asked.resource ?? null,
        mutates_state: asked.mutates ?? false,
        parameters: asked.parameters ?? {},
      },
      sourceTrust: asked.trust ?? 'trusted_internal_signed',
      ...(asked.sensitive === undefined ? {} : { containsSensitiveData: asked.sensitive }),
    },
  }
}

export function ask(engine: Engine, bundle: Pick<Bundle, 'policySet'>, asked: Asked = {}): Evaluation {
  return decide(inputOf(bundle, asked), { engine, digester: nobleSuite })
}

/** Finding codes with their lines: what a test asserts. */
export function codesOf({ findings }: ReadBundle): readonly string[] {
  return findings.map((finding) => `${finding.severity} ${finding.code}`)
}
