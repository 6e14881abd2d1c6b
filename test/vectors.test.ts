/** The folder of vectors: what makes it makes it again, and SPEC.md shows its files byte for byte. */
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { deriveLineKey, nodeSuite } from '../src/crypto-node/index.ts'
import { actionHash, encodeHex, parseBody, requestDigest } from '../src/record/index.ts'
import type { ToolCall } from '../src/record/index.ts'
import { sha256Hex } from './harness/forge.ts'
import { vectorFolder, vectorPath } from './harness/vector-files.ts'
import { allVectorFiles } from './harness/vectors/files.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const text = (name: string): string => readFileSync(vectorPath(name), 'utf8')

describe('the vectors', () => {
  it('are what `npm run vectors` writes', () => {
    const changed = [...allVectorFiles()]
      .filter(([path, wanted]) => text(path) !== wanted)
      .map(([path]) => path)
    expect(changed).toEqual([])
  })

  it('are filed by sections that SPEC.md has', () => {
    const sections = new Set(
      [...readFileSync(`${root}SPEC.md`, 'utf8').matchAll(/^#{2,3} ([0-9]+(?:\.[0-9]+)?)[. ]/gm)].map(
        (match) => match[1],
      ),
    )
    const named = [...allVectorFiles().values()].map((file) => (JSON.parse(file) as { spec: string }).spec)
    const folders = readdirSync(vectorFolder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(folders.filter((entry) => !sections.has(entry.name))).toEqual([])
    // 7.3.9 is step 9 of section 7.3.
    expect(named.filter((spec) => !sections.has(spec.split('.').slice(0, 2).join('.')))).toEqual([])
  })
})

/** Every `<!-- vector: path -->` with the block behind it. */
function blocks(): readonly { readonly path: string; readonly block: string }[] {
  const spec = readFileSync(`${root}SPEC.md`, 'utf8')
  const found = [...spec.matchAll(/<!-- vector: (\S+) -->\n```[a-z]*\n([\s\S]*?)```/g)].map((match) => ({
    path: match[1] ?? '',
    block: match[2] ?? '',
  }))
  expect(found).toHaveLength(spec.split('<!-- vector:').length - 1)
  return found
}

describe('SPEC.md', () => {
  it('shows its examples byte for byte', () => {
    const shown = blocks()
    expect(shown.length).toBeGreaterThan(8)
    for (const { path, block } of shown) {
      const file = readFileSync(root + path, 'utf8')
      expect({ path, block }).toEqual({ path, block: file.endsWith('\n') ? file : `${file}\n` })
    }
  })

  it('has examples that agree with each other', () => {
    const rows = text('2/example.aarl').trimEnd().split('\n')
    const hashes = rows.map((row, at) => `${String(at)} ${sha256Hex(row)}\n`).join('')
    expect(text('2/example.hashes.txt')).toBe(hashes)
    const outcome = JSON.parse(rows[2] ?? '') as Record<string, unknown>
    expect(JSON.parse(text('2/example.outcome.txt'))).toEqual(outcome)
    const request = readFileSync(vectorPath('2/example.request.json'))
    expect(requestDigest(request, nodeSuite)).toBe(outcome['request_digest'])
    const body = parseBody(request)
    if (!body.ok) throw new Error(body.error.code)
    expect(body.value['action_hash']).toBe(outcome['action_hash'])
    expect(actionHash(body.value['tool_call'] as unknown as ToolCall, nodeSuite)).toBe(outcome['action_hash'])
    expect(sha256Hex(text('2/example.action.json'))).toBe(outcome['action_hash'])
  })

  it('prints the preimage of an approval and the keys of its last example', () => {
    expect(text('11/final.aarl')).toContain(`"binding_hash":"${sha256Hex(text('11/final.binding.json'))}"`)
    const printed = [0, 1].map((epoch) => {
      const key = deriveLineKey(new Uint8Array(32).fill(7), 'prod', 'harbour', epoch)
      const signer = nodeSuite.signer(key)
      return [
        `info       ["prod","harbour","${String(epoch)}"]`,
        `line key   ${encodeHex(key)}`,
        `public_key ${encodeHex(signer.publicKey)}`,
        `key_id     ${signer.keyId}\n`,
      ].join('\n')
    })
    expect(text('11/final.keys.txt')).toBe(printed.join('\n'))
  })
})
