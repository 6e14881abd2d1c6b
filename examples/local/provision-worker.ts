/**
 * Calls the methods of a tenant's object from outside, for development, tests and benchmarks only: what the routes of an
 * operator and an admin will do over HTTP. It is a second Worker beside the real one, bound to the same object, reachable
 * only from the process that started it; it is not part of what is deployed.
 *
 * POST {"tenant": NAME, "method": NAME, "args": […]}; bytes travel as {"$bytes": BASE64}.
 */
interface Environment {
  readonly TENANT_CHAIN: {
    getByName(tenant: string): Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>
  }
}

interface Order {
  readonly tenant: string
  readonly method: string
  readonly args: readonly unknown[]
}

// A Worker's entry point is its default export.
export default {
  async fetch(request: Request, env: Environment): Promise<Response> {
    const { tenant, method, args } = JSON.parse(await request.text(), reviveBytes) as Order
    const answer = await env.TENANT_CHAIN.getByName(tenant)[method]?.(...args)
    return new Response(JSON.stringify(answer, replaceBytes))
  },
}

function reviveBytes(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('$bytes' in value)) return value
  return Uint8Array.from(atob(String(value.$bytes)), (character) => character.charCodeAt(0))
}

function replaceBytes(_name: string, value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value
  let text = ''
  for (const byte of value) text += String.fromCharCode(byte)
  return { $bytes: btoa(text) }
}
