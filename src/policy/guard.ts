/**
 * Limits in front of the wasm (policy.md §5, docs/decisions/0006). Measured on cedar-wasm 4.13.0: its text parser
 * overflows its stack and takes the instance with it, its JSON reader refuses at 128 levels and stays alive. So text
 * is measured before it is parsed (authoring only), and what runs is JSON whose canonical form has at most 64
 * levels. Not for what a policy means.
 */
import { type JsonObject, type JsonValue, isJsonObject } from '../record/index.ts'
import type { PolicyPiece } from './scan.ts'

/** Why a policy is not let through. */
export interface GuardProblem {
  readonly code: string
  readonly message: string
  readonly fix: string
}

export const policyLimits = {
  /** Files of a bundle. */
  filesMax: 500,
  /** Bytes of one file; also of the bundle object, so that it fits the hard cap of a request body. */
  fileBytesMax: 1_048_576,
  /** 2,000 policies are 9 MB of wasm memory and 7 ms a decision. */
  policiesMax: 2_000,
  /** Characters of one policy's text. */
  policyCharsMax: 65_536,
  /** Brackets open at once in a policy's text; 100 were measured to trap. */
  nestingMax: 64,
  /** Operators on top of each other in a policy's text; 400 were measured to trap, 64 × 8 with brackets. */
  depthMax: 64,
  /** Levels of a policy's JSON: 64 of the canonical form, less the bundle object, `policies` and the policy's id. */
  jsonDepthMax: 62,
  /** Values of one policy's JSON. */
  nodesMax: 20_000,
  /** Elements of a set or record literal. */
  literalElementsMax: 1_000,
  /** Wildcards of one `like` pattern: with strings of 2,048 bytes that is 131,072 steps at most. */
  wildcardsMax: 64,
  /** Wildcards of all patterns of a set: at 2,048 steps each that is 8 million steps a decision. */
  setWildcardsMax: 4_096,
  /** Characters of a string literal. */
  stringCharsMax: 8_192,
} as const

/** Judges one policy's text before Cedar parses it. */
export function guardPolicyText(piece: PolicyPiece): GuardProblem | undefined {
  if (piece.text.length > policyLimits.policyCharsMax) {
    return problem('policy_too_large', 'is over 65,536 characters', 'split it')
  }
  if (piece.nesting > policyLimits.nestingMax) {
    return problem(
      'nested_too_deep',
      `has ${String(piece.nesting)} brackets open at once; at most 64 are parsed`,
      'take brackets out, or split the policy',
    )
  }
  if (piece.depth > policyLimits.depthMax + piece.nesting) {
    return problem(
      'chain_too_long',
      `stacks ${String(piece.depth - piece.nesting)} operators on one another; at most 64 are parsed`,
      chainFix,
    )
  }
  return undefined
}

const chainFix =
  'split a chain of || over several policies or use a set with contains, and one of && over several `when` clauses'

/** Judges one policy's JSON before it is hashed or runs. */
export function guardPolicyJson(policy: JsonObject): GuardProblem | undefined {
  let nodes = 0
  // Each entry is a value and its depth; the limit below bounds the stack.
  const waiting: [JsonValue, number][] = [[policy, 1]]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [value, depth] = next
    nodes += 1
    if (nodes > policyLimits.nodesMax) {
      return problem('policy_too_large', 'has more than 20,000 values once parsed', 'split it')
    }
    if (typeof value === 'number' && !Number.isSafeInteger(value)) {
      return problem(
        'integer_out_of_range',
        'has an integer literal outside ±(2^53-1), which its JSON form cannot hold',
        'compare with a smaller bound, or bind the argument as a decimal',
      )
    }
    if (typeof value === 'string' && value.length > policyLimits.stringCharsMax) {
      return problem('string_too_long', 'has a string literal over 8,192 characters', 'shorten it')
    }
    if (typeof value !== 'object' || value === null) continue
    if (depth > policyLimits.jsonDepthMax) {
      return problem(
        'nested_too_deep',
        'stacks about 29 operators on one another or more: its canonical form would have over 64 levels',
        chainFix,
      )
    }
    if (Array.isArray(value)) {
      const items = value as readonly JsonValue[]
      if (items.length > policyLimits.literalElementsMax) {
        return problem('literal_too_large', 'has a literal of more than 1,000 elements', 'split the set')
      }
      for (const item of items) waiting.push([item, depth + 1])
      continue
    }
    if (!isJsonObject(value)) continue
    const wildcards = countWildcards(value)
    if (wildcards > policyLimits.wildcardsMax) {
      return problem('pattern_too_long', 'has a `like` pattern of more than 64 wildcards', 'use fewer *')
    }
    const members = Object.values(value)
    if (members.length > policyLimits.literalElementsMax) {
      return problem('literal_too_large', 'has a record of more than 1,000 members', 'split the record')
    }
    for (const member of members) waiting.push([member, depth + 1])
  }
  return undefined
}

/** Wildcards of all `like` patterns in a policy that {@link guardPolicyJson} let through. */
export function wildcardsOf(policy: JsonObject): number {
  let count = 0
  const waiting: JsonValue[] = [policy]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue
    if (isJsonObject(value)) count += countWildcards(value)
    for (const member of Object.values(value)) waiting.push(member)
  }
  return count
}

function countWildcards(value: JsonObject): number {
  const pattern = value['pattern']
  return Array.isArray(pattern) ? pattern.filter((element) => element === 'Wildcard').length : 0
}

function problem(code: string, message: string, fix: string): GuardProblem {
  return { code, message, fix }
}
