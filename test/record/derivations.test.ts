/** Derivations of the vectors (SPEC.md §6), in both suites. */
import { describe, expect, it } from 'vitest'
import { deriveLineKey, deriveTagKey, nodeSuite } from '../../src/crypto-node/index.ts'
import {
  type ApprovalBinding,
  type ToolCall,
  actionHash,
  actionPreimage,
  bindingHash,
  bindingPreimage,
  canonicalText,
  encodeHex,
  nobleSuite,
  parseBody,
  requestDigest,
  utf8,
} from '../../src/record/index.ts'
import { readCases } from '../harness/vector-files.ts'
import type {
  ActionCase,
  BindingCase,
  ContentCase,
  KeyCase,
  TagKeyCase,
} from '../harness/vectors/derivations.ts'

const suites = [nodeSuite, nobleSuite]
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'))

describe('action_hash', () => {
  it.each(readCases<ActionCase>('6/action-hash'))('$name ($spec)', ({ tool_call, preimage, action_hash }) => {
    const read = parseBody(utf8(tool_call))
    expect(read.ok).toBe(preimage !== undefined)
    if (!read.ok) return
    const call = read.value as unknown as ToolCall
    expect(textOf(actionPreimage(call))).toBe(preimage)
    for (const suite of suites) expect(actionHash(call, suite)).toBe(action_hash)
    // Exactly five members: another one beside them changes nothing.
    expect(actionHash({ ...call, request_id: 'r' } as ToolCall, nodeSuite)).toBe(action_hash)
  })
})

describe('binding_hash', () => {
  it.each(readCases<BindingCase>('6/binding-hash'))(
    '$name ($spec)',
    ({ binding, preimage, binding_hash }) => {
      const bound = binding as unknown as ApprovalBinding
      expect(textOf(bindingPreimage(bound))).toBe(preimage)
      for (const suite of suites) expect(bindingHash(bound, suite)).toBe(binding_hash)
    },
  )

  it('changes with every member', () => {
    const [first] = readCases<BindingCase>('6/binding-hash')
    const bound = first?.binding as unknown as ApprovalBinding
    const names = Object.keys(bound)
    expect(names).toHaveLength(13)
    for (const name of names) {
      const value = bound[name as keyof ApprovalBinding]
      const changed = typeof value === 'number' ? value + 1 : typeof value === 'string' ? `${value}x` : ['x']
      expect(bindingHash({ ...bound, [name]: changed }, nodeSuite)).not.toBe(first?.binding_hash)
    }
  })
})

describe('a content address', () => {
  it.each(readCases<ContentCase>('6/content-address'))('$name ($spec)', ({ base64, request_digest }) => {
    const bytes = Uint8Array.from(Buffer.from(base64, 'base64'))
    for (const suite of suites) expect(requestDigest(bytes, suite)).toBe(request_digest)
  })
})

describe('a Line key', () => {
  const cases = readCases<KeyCase>('6/line-key')

  it.each(cases)('$name ($spec)', (vector) => {
    const { seed, deployment, tenant, key_epoch, info, line_key, public_key, key_id } = vector
    expect(canonicalText([deployment, tenant, key_epoch])).toBe(info)
    const key = deriveLineKey(bytesOf(seed), deployment, tenant, Number(key_epoch))
    expect(encodeHex(key)).toBe(line_key)
    for (const suite of suites) {
      const signer = suite.signer(key)
      expect([encodeHex(signer.publicKey), signer.keyId]).toEqual([public_key, key_id])
    }
  })

  it('is another for every name, epoch and seed', () => {
    expect(new Set(cases.map((vector) => vector.line_key)).size).toBe(cases.length)
  })
})

describe('the key of tags', () => {
  it.each(readCases<TagKeyCase>('6/tag-key'))('$name', ({ seed, deployment, tag_key }) => {
    expect(encodeHex(deriveTagKey(bytesOf(seed), deployment))).toBe(tag_key)
  })
})
