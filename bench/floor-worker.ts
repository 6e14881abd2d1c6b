/**
 * The floors under one authorize, in a Worker and an object of their own: an empty Hono answer, a call of an object that
 * does nothing, and a call with one durable insert. What is measured above them is ours.
 */
import { DurableObject } from 'cloudflare:workers'
import { Hono } from 'hono'

interface Environment {
  readonly FLOOR: {
    getByName(name: string): { nothing(): Promise<string>; insert(text: string): Promise<number> }
  }
}

export class Floor extends DurableObject {
  readonly #sql: SqlStorage

  constructor(context: DurableObjectState, environment: Environment) {
    super(context, environment)
    this.#sql = context.storage.sql
    this.#sql.exec('CREATE TABLE IF NOT EXISTS head (id INTEGER PRIMARY KEY, at INTEGER) STRICT')
    this.#sql.exec('CREATE TABLE IF NOT EXISTS line (at INTEGER PRIMARY KEY, text TEXT) STRICT')
    this.#sql.exec('INSERT OR IGNORE INTO head VALUES (0, 0)')
  }

  nothing(): string {
    return 'nothing'
  }

  /** As an append: one select, one insert, one update, in one transaction. */
  insert(text: string): number {
    return this.ctx.storage.transactionSync(() => {
      const at = Number(this.#sql.exec('SELECT at FROM head').one()['at']) + 1
      this.#sql.exec('INSERT INTO line VALUES (?, ?)', at, text)
      this.#sql.exec('UPDATE head SET at = ?', at)
      return at
    })
  }
}

const app = new Hono<{ Bindings: Environment }>()
app.post('/empty', async (c) => {
  await c.req.arrayBuffer()
  return c.json({ decision: 'none' })
})
app.post('/object', async (c) => {
  await c.req.arrayBuffer()
  return c.json({ decision: await c.env.FLOOR.getByName('floor').nothing() })
})
app.post('/insert', async (c) =>
  c.json({ at: await c.env.FLOOR.getByName('floor').insert(await c.req.text()) }),
)

// A Worker's entry point is its default export.
export default app
