/** Connections, redirects, statuses and bodies (authorize.md §6): none is taken for an allow. */
import { describe, expect, it } from 'vitest'
import { httpModes } from './hostile-http-modes.ts'
import { authorizer, outcomeOf } from './mode.ts'

describe('nothing is taken for an allow', () => {
  it.each(Object.entries(httpModes))('%s', async (_name, mode) => {
    const outcome = await outcomeOf(mode)
    expect(outcome).toBeInstanceOf(mode.error)
    expect(outcome).toMatchObject({ code: mode.code })
    expect(String(outcome)).not.toContain(authorizer.key)
  })
})
