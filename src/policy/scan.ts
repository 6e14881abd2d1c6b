/**
 * Cedar text to single policies with their lines, and the measure of its nesting, without parsing it (policy.md §5).
 * Knows strings, comments, brackets and operators: enough to stop a text that would overflow the parser's stack
 * before the wasm sees it. What a policy means is for Cedar alone: each piece is parsed by it on its own, and what
 * is hashed and run is what it parsed.
 */
import { lineAt } from './finding.ts'

export interface PolicyPiece {
  readonly text: string
  /** 1-based line of its first token. */
  readonly line: number
  /** Most brackets open at once. */
  readonly nesting: number
  /** An upper bound of how deep its expressions become once parsed. */
  readonly depth: number
  /** A `?principal` or `?resource`: a template. */
  readonly hasSlot: boolean
}

/**
 * What is known of one level of brackets: of the element at hand (up to the next comma), how long its chains of
 * operators became, by how tightly they bind, and how deep the brackets within it are. A chain restarts where a
 * looser operator stands; member access (`.`, `(`, `[`) binds tightest. An element is as deep as its deepest operand
 * and all of its chains on top of it.
 */
interface Level {
  readonly chain: number[]
  readonly longest: number[]
  inner: number
  /** The deepest of the elements before. */
  deepest: number
}

const levelsOfBinding = 8
const levelsMax = 256
const If = 0
const Or = 1
const And = 2
const Relation = 3
const Add = 4
const Multiply = 5
const Unary = 6
const Member = 7

function newLevel(): Level {
  const zeros = (): number[] => Array.from({ length: levelsOfBinding }, () => 0)
  return { chain: zeros(), longest: zeros(), inner: 0, deepest: 0 }
}

function depthOf(level: Level): number {
  let depth = level.inner
  for (const length of level.longest) depth += length
  return Math.max(depth, level.deepest)
}

function nextElement(level: Level): void {
  level.deepest = depthOf(level)
  level.inner = 0
  level.chain.fill(0)
  level.longest.fill(0)
}

/** Splits at each `;` outside strings, comments and brackets. Text behind the last one is a piece too. */
export function splitPolicies(text: string): readonly PolicyPiece[] {
  const pieces: PolicyPiece[] = []
  let start: number | undefined
  let stack: Level[] = [newLevel()]
  let uncounted = 0
  let nesting = 0
  let hasSlot = false
  /** The previous token ended a value, so that `(`, `[` and `-` behind it are an operator. */
  let afterValue = false
  const top = (): Level => stack[stack.length - 1] as Level
  const operator = (binding: number): void => {
    const { chain, longest } = top()
    const length = (chain[binding] ?? 0) + 1
    chain[binding] = length
    longest[binding] = Math.max(longest[binding] ?? 0, length)
    // An `if` reaches to the end of its brackets: it is never restarted.
    for (let tighter = binding + 1; tighter < levelsOfBinding; tighter += 1) chain[tighter] = 0
    afterValue = binding === Member
  }
  const close = (): void => {
    const depth = depthOf(stack.pop() as Level) + 1
    top().inner = Math.max(top().inner, depth)
  }
  const end = (at: number): void => {
    while (stack.length > 1) close()
    if (start !== undefined) {
      const depth = depthOf(top())
      pieces.push({ text: text.slice(start, at), line: lineAt(text, start), nesting, depth, hasSlot })
    }
    start = undefined
    stack = [newLevel()]
    uncounted = 0
    nesting = 0
    hasSlot = false
    afterValue = false
  }
  let at = 0
  while (at < text.length) {
    const char = text[at] as string
    if (char === ' ' || char === '\n' || char === '\r' || char === '\t') {
      at += 1
      continue
    }
    if (char === '/' && text[at + 1] === '/') {
      while (at < text.length && text[at] !== '\n') at += 1
      continue
    }
    start ??= at
    if (char === '"') {
      at += 1
      while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
      at += 1
      afterValue = true
      continue
    }
    if (/[A-Za-z0-9_]/.test(char)) {
      const word = /^[A-Za-z0-9_]+/.exec(text.slice(at, at + 256))?.[0] ?? char
      at += word.length
      if (word === 'if') operator(If)
      else if (word === 'has' || word === 'like' || word === 'in' || word === 'is') operator(Relation)
      afterValue = !keywords.has(word)
      continue
    }
    const two = text.slice(at, at + 2)
    if (two === '||' || two === '&&' || two === '==' || two === '!=' || two === '<=' || two === '>=') {
      operator(two === '||' ? Or : two === '&&' ? And : Relation)
      at += 2
      continue
    }
    switch (char) {
      case '(':
      case '[':
      case '{':
        if (afterValue && char !== '{') operator(Member)
        // Far past the limit only the count goes on: a megabyte of brackets must not become a million levels.
        if (stack.length > levelsMax) uncounted += 1
        else stack.push(newLevel())
        nesting = Math.max(nesting, stack.length - 1)
        afterValue = false
        break
      case ')':
      case ']':
      case '}':
        if (uncounted > 0) uncounted -= 1
        else if (stack.length > 1) close()
        // Behind a `when { … }` nothing continues; behind a bracketed value a member access may.
        afterValue = true
        break
      case ',':
        nextElement(top())
        afterValue = false
        break
      case ';':
        if (stack.length === 1) {
          end(at + 1)
          at += 1
          continue
        }
        break
      case '.':
        operator(Member)
        break
      case '<':
      case '>':
        operator(Relation)
        break
      case '+':
        operator(Add)
        break
      case '-':
        operator(afterValue ? Add : Unary)
        break
      case '*':
        operator(Multiply)
        break
      case '!':
        operator(Unary)
        break
      case '?':
        hasSlot = true
        break
      default:
        break
    }
    at += 1
  }
  end(text.length)
  return pieces
}

const keywords = new Set(['if', 'then', 'else', 'has', 'like', 'in', 'is', 'when', 'unless'])

/** The offset of a whole word outside comments in a piece, for pointing at it; strings count, `["x"]` is an access. */
export function findWord(text: string, word: string): number | undefined {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const pattern = new RegExp(`(?<![A-Za-z0-9_])${escaped}(?![A-Za-z0-9_])`, 'g')
  for (const matched of text.matchAll(pattern)) {
    const lineStart = text.lastIndexOf('\n', matched.index) + 1
    if (!text.slice(lineStart, matched.index).includes('//')) return matched.index
  }
  return undefined
}
