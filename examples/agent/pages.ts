/** Stands for the internet, so that the example runs without one: whatever page is asked for, this server answers. */
import { createServer } from 'node:http'

export interface Pages {
  readonly fetch: (page: string) => Promise<string>
  readonly stop: () => Promise<void>
}

export async function startPages(): Promise<Pages> {
  const server = createServer((request, response) => {
    response.end(`the page ${request.url ?? ''}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const { port } = address
  return {
    async fetch(page) {
      const { pathname } = new URL(page)
      return (await fetch(`http://127.0.0.1:${String(port)}${pathname}`)).text()
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
