/** Signature checks on threads: every check is answered once, rightly, also when a thread dies. */
import { describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { lineBytesMax } from '../../src/record/index.ts'
import { SignaturePool } from '../../src/cli/signature-pool.ts'
import { SignatureSlots, newSlotMemory, slotStates } from '../../src/cli/signature-slots.ts'
import type { SignatureCheck } from '../../src/verify/index.ts'
import { randomFrom } from '../harness/random.ts'
import { buildCommand } from './command.ts'

const aegis = buildCommand()
const signer = nodeSuite.signer(new Uint8Array(32).fill(7))

/** Messages of any length a Line may have; every fifth signature is wrong. */
function makeChecks(count: number): {
  readonly checks: readonly SignatureCheck[]
  readonly want: readonly boolean[]
} {
  const random = randomFrom(11)
  const want = Array.from({ length: count }, (_, id) => id % 5 !== 3)
  const checks = want.map((holds, id) => {
    const long = id % 37 === 0
    const message = new Uint8Array(long ? lineBytesMax - random.below(9) : random.below(3_000)).fill(id)
    const signature = new Uint8Array(signer.sign(message))
    if (!holds) signature[random.below(32)] = (signature[5] ?? 0) ^ 0x40
    return { id, publicKey: signer.publicKey, message, signature }
  })
  return {
    checks,
    want: checks.map((check) => nodeSuite.verify(check.publicKey, check.message, check.signature)),
  }
}

const { checks, want } = makeChecks(1_500)

async function answersOf(
  threads: number,
  startAfter: number,
  url: URL,
  pause = false,
): Promise<(boolean | undefined)[]> {
  const answers: (boolean | undefined)[] = Array.from({ length: checks.length })
  const answer = (id: number, holds: boolean): void => {
    if (answers[id] !== undefined) throw new Error(`check ${String(id)} was answered twice`)
    answers[id] = holds
  }
  const pool = new SignaturePool({ threads, startAfter, verifier: nodeSuite, settle: answer, workerUrl: url })
  try {
    for (const check of checks) {
      // What is lent is overwritten at once, as a walk does.
      const lent = { ...check, message: check.message.slice(), signature: check.signature.slice() }
      const holds = pool.check(lent)
      lent.message.fill(0)
      lent.signature.fill(0)
      if (holds !== undefined) answer(check.id, holds)
      if (pause && check.id % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await pool.drain()
  } finally {
    await pool.end()
  }
  return answers
}

describe('a pool', () => {
  it('has right and wrong signatures to tell apart', () => {
    expect(new Set(want)).toEqual(new Set([true, false]))
  })

  it.each([
    [1, 0],
    [2, 0],
    [3, 700],
    [6, 1],
  ])('of %d threads that start after %d checks answers each once', async (threads, startAfter) => {
    expect(await answersOf(threads, startAfter, aegis.workerUrl)).toEqual(want)
  })

  it('answers all although its threads die, or never come up', async () => {
    const dying = aegis.file('dying.mjs', "throw new Error('no thread')\n")
    expect(await answersOf(3, 0, new URL(`file://${dying}`), true)).toEqual(want)
    expect(await answersOf(3, 0, new URL('file:///there/is/no/such/module.mjs'), true)).toEqual(want)
  })

  it('answers all although a thread dies at its work', async () => {
    // Takes a slot as a thread does, and ends without having marked it done.
    const source = `import { workerData } from 'node:worker_threads'
const states = new Int32Array(workerData.control)
for (;;) {
  for (let at = 2; at < states.length; at += 2) {
    if (Atomics.compareExchange(states, at, 1, 2) === 1) throw new Error('ended at its work')
  }
  Atomics.wait(states, 0, Atomics.load(states, 0), 50)
}
`
    expect(await answersOf(2, 0, new URL(`file://${aegis.file('half.mjs', source)}`), true)).toEqual(want)
  })
})

describe('a slot', () => {
  it('is taken by one thread only, and is free again when its answers were read', () => {
    const memory = newSlotMemory(2)
    const here = new SignatureSlots(memory)
    const there = new SignatureSlots(memory)
    const [check] = checks
    if (check === undefined) throw new Error('no check')
    here.begin(1)
    expect(here.put(1, check)).toBe(true)
    here.queue(1)
    expect(there.work(0, nodeSuite)).toBe(false)
    expect(there.work(1, nodeSuite)).toBe(true)
    expect(here.work(1, nodeSuite)).toBe(false)
    expect(here.stateOf(1)).toBe(slotStates.done)
    const answers: boolean[] = []
    here.collect(1, (_, holds) => answers.push(holds))
    expect(answers).toEqual([want[0]])
    expect(there.stateOf(1)).toBe(slotStates.free)
  })

  it('refuses what does not fit instead of cutting it', () => {
    const slots = new SignatureSlots(newSlotMemory(1))
    const long = {
      id: 0,
      publicKey: signer.publicKey,
      message: new Uint8Array(lineBytesMax),
      signature: new Uint8Array(64),
    }
    slots.begin(0)
    let fitted = 0
    while (slots.put(0, long)) fitted += 1
    expect(fitted).toBe(2)
  })
})
