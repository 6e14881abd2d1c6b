/**
 * JSON that others wrote as texts of its leaves, each with its path, for a person to judge: texts in quotation marks that
 * they cannot end, names that could pass for more than names quoted too, long texts cut with what is missing said outside.
 */
import { type JsonValue, canonicalText, isJsonObject } from '../record/index.ts'
import { shownText } from './shown-text.ts'

export interface LeafLook {
  /** Whether long values are shown whole. */
  readonly full: boolean
}

/** `/path = "value"`, a text a leaf, in the order in which they were sent. */
export function leavesOf(value: JsonValue, look: LeafLook, path = ''): string[] {
  if (Array.isArray(value) && value.length > 0) {
    return value.flatMap((entry: JsonValue, at) => leavesOf(entry, look, `${path}/${String(at)}`))
  }
  if (isJsonObject(value) && (Object.keys(value).length > 0 || path === '')) {
    return Object.entries(value).flatMap(([name, entry]) =>
      leavesOf(entry, look, `${path}/${nameText(name)}`),
    )
  }
  const text = typeof value === 'string' ? quoted(value, look) : canonicalText(value)
  return [`${path} = ${text}`]
}

/** A name that could be read as more than a name is quoted. */
function nameText(name: string): string {
  return /^[A-Za-z0-9_.-]{1,64}$/.test(name) ? name : quotedText(name)
}

const wholeMax = 512
const headLength = 384
const tailLength = 96

/**
 * A text between quotation marks, which it cannot end itself. Of a long one the beginning and the end, and between them,
 * outside of any quotation marks, how much is missing.
 */
export function quoted(value: string, { full }: LeafLook): string {
  const points = Array.from(value)
  if (full || points.length <= wholeMax) return quotedText(value)
  const head = quotedText(points.slice(0, headLength).join(''))
  const tail = quotedText(points.slice(-tailLength).join(''))
  const hidden = points.length - headLength - tailLength
  return `${head} [${String(hidden)} of ${String(points.length)} characters are not shown here; --full shows them] ${tail}`
}

function quotedText(value: string): string {
  return `"${shownText(value).replaceAll('"', '\\"')}"`
}
