/**
 * The published entry `aegis-edge/sdk/service-binding`: the client for a Worker that has the authorizer's Worker as a
 * service binding. Only the way is another: no name is looked up and nothing leaves the machine. All checks are the same.
 */
import { Aegis, type AegisOptions } from './aegis.ts'
import type { UnverifiedReads } from './options.ts'

/** A binding of `[[services]]` in wrangler.toml; the platform's `Fetcher` fits. */
export interface ServiceBinding {
  fetch(url: string, init: RequestInit): Promise<Response>
}

export type BindingOptions<Reads extends UnverifiedReads | undefined> = Omit<
  AegisOptions<Reads>,
  'url' | 'fetch'
>

/**
 * @param binding e.g. `env.AEGIS`.
 * @throws AegisOptionError for options that cannot work.
 * @example
 * const aegis = aegisOverBinding(env.AEGIS, { key: env.AEGIS_API_KEY, verify: { keys: [env.AEGIS_PUBLIC_KEY] } })
 */
export function aegisOverBinding<Reads extends UnverifiedReads | undefined = undefined>(
  binding: ServiceBinding,
  options: BindingOptions<Reads>,
): Aegis<Reads> {
  return new Aegis<Reads>({
    ...options,
    // The binding decides where this goes; the name is for logs.
    url: 'https://aegis.internal',
    fetch: (url, init) => binding.fetch(url, init),
  })
}
