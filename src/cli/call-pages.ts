/**
 * `GET /v1/calls` page by page. A page may be empty and still not the last one: the deployment looks through a bounded
 * part of the Chain in a request, and says where to go on. What it says must lead backwards.
 */
import { type Members, ask } from './answer-members.ts'
import { unreadable } from './exit-codes.ts'
import type { HttpClient } from './http-client.ts'

/** Filters and positions under their names in the query. */
export type CallQuery = Readonly<
  Partial<Record<'agent' | 'tool' | 'decision' | 'rule' | 'since' | 'until' | 'after' | 'behind', string>>
>

export interface Position {
  readonly sessionIndex: number
  readonly seq: number
}

const pageMax = 1_000

/** At most `limit` Calls, newest first. */
export async function* listCalls(
  client: HttpClient,
  query: CallQuery,
  limit: number,
): AsyncGenerator<Members> {
  let left = limit
  let { after } = query
  while (left > 0) {
    const given = {
      ...query,
      limit: String(Math.min(left, pageMax)),
      ...(after === undefined ? {} : { after }),
    }
    const page = await ask(client, { path: `/v1/calls?${new URLSearchParams(given).toString()}` })
    for (const call of page.list('calls')) {
      if (left <= 0) return
      left -= 1
      yield call
    }
    const next = page.optionalText('next')
    if (next === undefined) return
    after = requireBackwards(next, after)
  }
}

/** The last Line that there is. */
export async function headOfCalls(client: HttpClient): Promise<Position> {
  const page = await ask(client, { path: '/v1/calls?limit=1' })
  return parsePosition(page.text('head'))
}

/** One Call with its Lines. @throws RequestError where there is none. */
export async function findCall(client: HttpClient, id: string): Promise<Members> {
  let after: string | undefined
  for (;;) {
    const found = await ask(client, {
      path: `/v1/calls/${id}${after === undefined ? '' : `?after=${after}`}`,
    })
    if (found.object['call'] !== undefined) return found
    after = requireBackwards(found.text('next'), after)
  }
}

function requireBackwards(next: string, after: string | undefined): string {
  const to = parsePosition(next)
  const from = after === undefined ? undefined : parsePosition(after)
  const isBack =
    from === undefined ||
    to.sessionIndex < from.sessionIndex ||
    (to.sessionIndex === from.sessionIndex && to.seq < from.seq)
  if (isBack) return next
  throw unreadable("error: the deployment's list of Calls does not go on behind a page")
}

function parsePosition(text: string): Position {
  const parts = /^(\d{1,10}):(\d{1,10})$/.exec(text)
  if (parts === null) throw unreadable("error: the deployment's answer names a position that is none")
  return { sessionIndex: Number(parts[1]), seq: Number(parts[2]) }
}
