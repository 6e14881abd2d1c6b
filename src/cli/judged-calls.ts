/**
 * Where recorded calls come from and where they go to be decided: a source of calls, and a judge that answers each. Here
 * the judge that holds a bundle; one that asks a running authorizer answers the same. Reports: try-report.ts.
 */
import {
  type AgentRecord,
  type DecisionMeans,
  type Evaluation,
  type PolicySet,
  type Trust,
  decide,
} from '../policy/index.ts'
import type { JsonObject } from '../record/index.ts'
import { type CallName, nameCall } from './call-names.ts'
import type { OpenInput } from './input-files.ts'
import { findCalls } from './recorded-calls.ts'
import { readRows } from './recorded-rows.ts'

/** Where something stands in the file. */
export interface RecordedPlace {
  /** 1-based; `undefined` in a document of several lines. */
  readonly line: number | undefined
  /** JSON path in that line, or in the document. */
  readonly path: string
}

export interface RecordedCall extends RecordedPlace, CallName {
  readonly kind: 'call'
  readonly resource: string | null
  readonly mutatesState: boolean
  readonly parameters: JsonObject
}

export type RecordedItem =
  | RecordedCall
  /** Something that could not be read: a line, or what has the shape of a call. */
  | (RecordedPlace & { readonly kind: 'unread'; readonly why: string })
  /** A call that stood in the file before, by the id that its API gave it. */
  | (RecordedPlace & { readonly kind: 'repeat' })
  /** A row without a call: a message, a log entry. */
  | (RecordedPlace & { readonly kind: 'none' })
  /** So much of the file was read. */
  | { readonly kind: 'progress'; readonly doneBytes: number }

/** Everything in a file, in order; nothing is left out unsaid. */
export async function* recordedItems(
  input: OpenInput,
  tool: string | undefined,
): AsyncGenerator<RecordedItem> {
  // A log of requests repeats the whole conversation in each of them.
  const seen = new Set<string>()
  for await (const row of readRows(input)) {
    const { line } = row
    if (row.kind === 'unread') yield { kind: 'unread', line, path: '$', why: row.why }
    else {
      const calls = findCalls(row.value)
      if (calls.length === 0) yield { kind: 'none', line, path: '$' }
      for (const call of calls) {
        const { path } = call
        if (call.kind === 'broken') {
          yield { kind: 'unread', line, path, why: call.why }
          continue
        }
        if (call.callId !== undefined) {
          const key = JSON.stringify([call.callId, call.name, call.parameters])
          if (seen.has(key)) {
            yield { kind: 'repeat', line, path }
            continue
          }
          seen.add(key)
        }
        const { mutatesState, parameters, resource } = call
        yield { kind: 'call', line, path, ...nameCall(call, tool), resource, mutatesState, parameters }
      }
    }
    yield { kind: 'progress', doneBytes: row.doneBytes }
  }
}

/** What was answered, or would have been. */
export interface Judgement {
  /** `-` when the names were refused. */
  readonly toolId: string
  readonly decision: Evaluation['decision']
  readonly code: string
  /** For a person: the reason, in the bundle's words. */
  readonly reason: string
  /** Sorted. */
  readonly matchedRules: readonly string[]
  readonly approval?: { readonly groups: readonly string[]; readonly quorum: number }
  /** Where an authorizer recorded it: the Call and its signed outcome Line. */
  readonly callId?: string
  readonly receipt?: string
}

export interface CallJudge {
  judge(call: RecordedCall): Judgement | Promise<Judgement>
}

/** Decides with a bundle, in this process. */
export function bundleJudge(
  policySet: PolicySet,
  means: DecisionMeans,
  asked: { readonly agent: AgentRecord; readonly sourceTrust: Trust; readonly nowMs: number },
): CallJudge {
  return {
    judge: (call) => {
      const toolCall = {
        tool: call.tool,
        action: call.action,
        resource: call.resource,
        mutates_state: call.mutatesState,
        parameters: call.parameters,
      }
      const { agent, nowMs, sourceTrust } = asked
      const evaluation = decide({ request: { toolCall, sourceTrust }, agent, policySet, nowMs }, means)
      return {
        toolId: evaluation.toolId,
        decision: evaluation.decision,
        code: evaluation.code,
        reason: evaluation.detail,
        matchedRules: evaluation.matchedRules,
        ...(evaluation.approval === undefined ? {} : { approval: evaluation.approval }),
      }
    },
  }
}
