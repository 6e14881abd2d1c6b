/** Group commit over ports that a test holds in its hands: when what is committed, and who is told what. */
import { describe, expect, it } from 'vitest'
import {
  GroupCommit,
  batchDraftsMax,
  waitingBytesMax,
  waitingDraftsMax,
} from '../../src/chain/group-commit.ts'

type Answer = string

/** Ports that record what happens; `sync` waits until the test lets it. */
class Bench {
  readonly batches: string[][] = []
  readonly syncs: { readonly resolve: () => void; readonly reject: (cause: Error) => void }[] = []
  /** Drafts whose own transaction fails; `all` makes the whole batch fail. */
  readonly failing = new Set<string>()
  bytes = 1
  readonly commits = new GroupCommit<string, Answer>({
    transaction: (work) => {
      const batch: string[] = []
      this.batches.push(batch)
      const result = work()
      if (this.failing.has('all')) throw new Error('rolled back')
      return result
    },
    judge: (draft) => {
      this.batches.at(-1)?.push(draft)
      if (this.failing.has(draft)) throw new Error(draft)
      return `did ${draft}`
    },
    sync: () => new Promise((resolve, reject) => this.syncs.push({ resolve, reject })),
    failed: (cause) => `failed: ${cause instanceof Error ? cause.message : ''}`,
    overloaded: () => 'overloaded',
    bytesOf: () => this.bytes,
  })
  readonly answered: string[] = []

  submit(...drafts: readonly string[]): void {
    for (const draft of drafts) {
      void this.commits.submit(draft).then((answer) => this.answered.push(answer))
    }
  }

  /** Lets the `sync` under way end, and everything that follows from it happen. */
  async durable(cause?: Error): Promise<void> {
    const sync = this.syncs.shift()
    if (sync === undefined) throw new Error('no sync is under way')
    if (cause === undefined) sync.resolve()
    else sync.reject(cause)
    await turn()
  }
}

/** Until everything that is ready has run. */
const turn = (): Promise<void> => new Promise((done) => setTimeout(done, 0))

describe('group commit', () => {
  it('commits the first draft before submit returns, and answers when it is durable', async () => {
    const bench = new Bench()
    bench.submit('a')
    expect(bench.batches).toEqual([['a']])
    await turn()
    expect(bench.answered).toEqual([])
    await bench.durable()
    expect(bench.answered).toEqual(['did a'])
    expect(bench.syncs).toEqual([])
  })

  it('shares the next commit among the drafts that came meanwhile, in order', async () => {
    const bench = new Bench()
    bench.submit('a', 'b', 'c')
    await turn()
    bench.submit('d')
    expect(bench.batches).toEqual([['a']])
    await bench.durable()
    expect(bench.batches).toEqual([['a'], ['b', 'c', 'd']])
    expect(bench.answered).toEqual(['did a'])
    bench.submit('e')
    await bench.durable()
    await bench.durable()
    expect(bench.batches).toEqual([['a'], ['b', 'c', 'd'], ['e']])
    expect(bench.answered).toEqual(['did a', 'did b', 'did c', 'did d', 'did e'])
  })

  it('starts again after it was idle', async () => {
    const bench = new Bench()
    for (const draft of ['a', 'b', 'c']) {
      bench.submit(draft)
      await bench.durable()
    }
    expect(bench.answered).toEqual(['did a', 'did b', 'did c'])
  })

  it('answers a draft that fails alone, and the others as if it had not been', async () => {
    const bench = new Bench()
    bench.failing.add('b')
    bench.submit('a', 'b', 'c')
    await bench.durable()
    await bench.durable()
    expect(bench.answered).toEqual(['did a', 'failed: b', 'did c'])
  })

  it('tells everyone of a batch that was rolled back, and goes on with the next', async () => {
    const bench = new Bench()
    bench.submit('a')
    bench.failing.add('all')
    bench.submit('b', 'c')
    await bench.durable()
    bench.failing.clear()
    bench.submit('d')
    await bench.durable()
    await bench.durable()
    expect(bench.answered).toEqual(['did a', 'failed: rolled back', 'failed: rolled back', 'did d'])
  })

  it('acknowledges nothing of a batch that did not become durable', async () => {
    const bench = new Bench()
    bench.submit('a', 'b', 'c')
    await bench.durable()
    bench.submit('d')
    await bench.durable(new Error('lost'))
    await bench.durable()
    expect(bench.answered).toEqual(['did a', 'failed: lost', 'failed: lost', 'did d'])
  })

  it('takes a bounded batch', async () => {
    const bench = new Bench()
    bench.submit('first', ...Array.from({ length: batchDraftsMax + 1 }, (_, at) => String(at)))
    await bench.durable()
    await bench.durable()
    expect(bench.batches.map(({ length }) => length)).toEqual([1, batchDraftsMax, 1])
  })

  it('refuses what does not fit into the queue, by number and by bytes', async () => {
    const bench = new Bench()
    bench.submit('first', ...Array.from({ length: waitingDraftsMax + 2 }, (_, at) => String(at)))
    await turn()
    expect(bench.answered).toEqual(['overloaded', 'overloaded'])
    while (bench.syncs.length > 0) await bench.durable()
    expect(bench.answered.length).toBe(waitingDraftsMax + 3)

    const heavy = new Bench()
    heavy.bytes = waitingBytesMax / 2
    heavy.submit('first', 'a', 'b', 'c')
    await turn()
    expect(heavy.answered).toEqual(['overloaded'])
    while (heavy.syncs.length > 0) await heavy.durable()
    heavy.submit('d')
    await heavy.durable()
    expect(heavy.answered).toEqual(['overloaded', 'did first', 'did a', 'did b', 'did d'])
  })
})
