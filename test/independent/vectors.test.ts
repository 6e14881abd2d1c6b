/** verify.py, written from SPEC.md alone, gives what the vectors of its sections state. Chains: differential.test.ts. */
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { sha256Hex } from '../harness/forge.ts'
import { type Run, runSecondVerifier } from './second-verifier.ts'

/** A run, and what must be on stdout; of a Chain its first line. */
interface Stated {
  readonly run: Run
  readonly first: string
}

const action = (value: string): string =>
  `{"action":"a","mutates_state":false,"parameters":{"v":${value}},"resource":null,"tool":"t"}`

const folders: readonly (readonly [string, (vector: string) => readonly Stated[]])[] = [
  [
    '3/rows',
    (vector) => {
      const { row, expect: code } = JSON.parse(vector) as { row: string; expect: string }
      // Rows that are canonical lack the first members of a Line. What follows keeps them from being the last row.
      const reason = code === 'canonical' ? 'member_invalid' : code
      return [
        {
          run: { args: ['rows'], files: { rows: Buffer.from(`${row}\nx`) } },
          first: `Tampered ${reason} at line 1`,
        },
      ]
    },
  ],
  [
    '3/numbers',
    (vector) => {
      const { cases } = JSON.parse(vector) as { cases: { literal: string; text?: string }[] }
      return cases.map(({ literal, text }) => ({
        run: hashRun('--action-hash', action(literal)),
        first: text === undefined ? '' : sha256Hex(action(text)),
      }))
    },
  ],
  [
    '5/ed25519',
    (vector) => {
      const { public_key, signature, message, accept } = JSON.parse(vector) as {
        public_key: string
        signature: string
        message: string
        accept: boolean
      }
      const files = { message: Buffer.from(message, 'hex') }
      return [
        {
          run: { args: ['--ed25519', public_key, signature, 'message'], files },
          first: accept ? 'accept' : 'refuse',
        },
      ]
    },
  ],
  [
    '6/action-hash',
    (vector) => {
      const { tool_call, action_hash } = JSON.parse(vector) as { tool_call: string; action_hash?: string }
      return [{ run: hashRun('--action-hash', tool_call), first: action_hash ?? '' }]
    },
  ],
  [
    '6/binding-hash',
    (vector) => {
      const { preimage, binding_hash } = JSON.parse(vector) as { preimage: string; binding_hash: string }
      return [{ run: hashRun('--binding-hash', preimage), first: binding_hash }]
    },
  ],
  [
    '7/receipts',
    (vector) => {
      const given = JSON.parse(vector) as Record<
        'receipt' | 'tool_call' | 'trust_store' | 'chain_id' | 'expect',
        string
      > & {
        now: number
        agent_id?: string
      }
      const agent = given.agent_id === undefined ? [] : ['--agent', given.agent_id]
      const about = [
        '--now',
        String(given.now),
        '--chain-id',
        given.chain_id,
        '--trust-store',
        'store',
        ...agent,
      ]
      const files = {
        receipt: Buffer.from(given.receipt),
        action: Buffer.from(given.tool_call),
        store: Buffer.from(given.trust_store),
      }
      return [
        {
          run: { args: ['--receipt', 'receipt', '--action', 'action', ...about], files },
          first: given.expect,
        },
      ]
    },
  ],
  [
    '7/trust-stores',
    (vector) => {
      const { text, expect: keys } = JSON.parse(vector) as { text: string; expect: unknown }
      const files = { store: Buffer.from(text), empty: Buffer.alloc(0) }
      const run = { args: ['--trust-store', 'store', 'empty'], files }
      return [{ run, first: keys === 'refused' ? '' : 'Indeterminate empty_chain at line 0' }]
    },
  ],
]

test.each(folders)(
  'vectors of %s',
  async (folder, read) => {
    const path = fileURLToPath(new URL(`../vectors/${folder}/`, import.meta.url))
    const names = readdirSync(path).sort()
    const stated = names.flatMap((name) =>
      read(readFileSync(path + name, 'utf8')).map((one) => ({ name, ...one })),
    )
    expect(stated.length).toBeGreaterThan(0)
    const answers = await runSecondVerifier(stated.map(({ run }) => run))
    const said = stated.map(({ name }, at) => [name, answers[at]?.stdout.split('\n')[0]])
    expect(said).toEqual(stated.map(({ name, first }) => [name, first]))
  },
  30_000,
)

function hashRun(flag: string, text: string): Run {
  return { args: [flag, 'text'], files: { text: Buffer.from(text) } }
}
