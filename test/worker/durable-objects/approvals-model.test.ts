/**
 * Property (issue 7): whatever is done in whatever order, crashes and retries included, there is never more authority
 * than people gave, and all of it is in the Chain. In workerd, over the object's SQLite; some of it over the object itself.
 */
import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../harness/random.ts'
import { someNoon } from '../../harness/memory-tenant.ts'
import { Driver } from './approvals-model/driver.ts'
import { ObjectSubject, StoreSubject } from './approvals-model/subject.ts'
import { ObjectUnderTest, provision } from './object.ts'

/** Another one each day: the title says it, and a failure the seed of its sequence, which goes here to repeat it. */
const first = Math.floor(Date.now() / 86_400_000) * 10_000

const sequences = 2_000
const steps = 25

async function sequence(driver: Driver, seed: number, count: number): Promise<void> {
  try {
    for (let step = 0; step < count; step += 1) await driver.step()
    await driver.finish()
  } catch (cause) {
    throw new Error(`seed ${String(seed)}\n${driver.told}\n${String(cause)}`, { cause })
  }
}

describe('approvals held against a model', () => {
  it(`agree in ${String(sequences)} sequences from seed ${String(first)}`, { timeout: 300_000 }, async () => {
    const counts = new Map<string, number>()
    await new ObjectUnderTest('model').inside(async ({ storage }) => {
      for (let seed = first; seed < first + sequences; seed += 1) {
        await storage.deleteAll()
        const subject = new StoreSubject('model', storage, someNoon)
        const driver = new Driver(subject, randomFrom(seed), counts)
        await driver.setUp()
        await sequence(driver, seed, steps)
      }
      await storage.deleteAll()
    })
    // Each thing that can happen did, and often.
    const rare = everyAnswer.filter((answer) => (counts.get(answer) ?? 0) < 20)
    expect([rare, Object.fromEntries(counts)]).toEqual([[], expect.anything()])
    expect([...counts.keys()].filter((answer) => !everyAnswer.includes(answer))).toEqual([])
  })

  it(
    `agree over the object itself, lost now and then, from seed ${String(first)}`,
    { timeout: 120_000 },
    async () => {
      const counts = new Map<string, number>()
      for (let seed = first; seed < first + 12; seed += 1) {
        const object = await provision(`model-${String(seed)}`, { agents: ['bot', 'other'] })
        const subject = new ObjectSubject(object)
        const driver = new Driver(subject, randomFrom(seed), counts)
        await driver.setUp(true)
        await sequence(driver, seed, 40)
      }
      expect(counts.get('allowed')).toBeGreaterThan(0)
      expect(counts.get('crashed behind it')).toBeGreaterThan(0)
    },
  )
})

const everyAnswer = [
  'allowed',
  'pending_approval',
  'policy_denied',
  'quorum_unreachable',
  'approval_insufficient',
  'already_consumed',
  'not_approved',
  'hash_mismatch',
  'expired',
  'not_found',
  'tenant_frozen',
  'agent_frozen',
  'tool_frozen',
  'stale',
  'repeated',
  'conflict',
  'pending',
  'approved',
  'denied',
  'cancelled',
  'withdrawn',
  'lost approved',
  'lost denied',
  'lost expired',
  'lost cancelled',
  'lost consumed',
  'lost lapsed',
  'lost withdrawn',
  'lost pending',
  'role_not_allowed',
  'owner_excluded',
  'not_in_group',
  'approval_changed',
  'done',
  'crashed in it',
  'crashed behind it',
]
