/** Signature vectors of others for the Worker's tests, which have no file system: vitest hands them over. */
import { readFileSync } from 'node:fs'
import { sharedFolder, sharedPath } from './shared.ts'

export interface SharedSignatures {
  readonly speccheck: readonly {
    readonly message: string
    readonly pub_key: string
    readonly signature: string
  }[]
  readonly rfc8032: readonly {
    readonly secret_key: string
    readonly public_key: string
    readonly message: string
    readonly signature: string
  }[]
}

declare module 'vitest' {
  interface ProvidedContext {
    sharedSignatures: SharedSignatures
  }
}

/** Empty where there is no ../shared: no test that reads it is collected there. */
export function sharedSignatures(): SharedSignatures {
  if (sharedFolder() === undefined) return { speccheck: [], rfc8032: [] }
  const read = (name: string): unknown =>
    JSON.parse(readFileSync(sharedPath('vectors', 'ed25519', name), 'utf8'))
  return {
    speccheck: read('speccheck_cases.json') as SharedSignatures['speccheck'],
    rfc8032: (read('rfc8032_ed25519.json') as { vectors: SharedSignatures['rfc8032'] }).vectors,
  }
}
