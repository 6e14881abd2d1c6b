/**
 * What a deployment must say before it serves (authorize.md §1): its name, its seed, its operator's secret. Read once;
 * there is no default for any of them. Not for tenants' settings: those come with their bundles.
 */
import { type TagHmac, parseApiKey } from '../protocol/index.ts'

/** The text bindings; each may be absent. */
export interface ConfigBindings {
  readonly AEGIS_DEPLOYMENT?: string
  /** `n:hex[,n:hex…]` */
  readonly AEGIS_SEED?: string
  /** The 52 characters behind `aegis_operator_`. */
  readonly AEGIS_OPERATOR_SECRET?: string
}

/** From the seeds' text and the deployment's name to the HMACs of API keys, newest seed first. */
export type ReadTagHmacs = (seeds: string, deployment: string) => readonly TagHmac[] | undefined

export type Config =
  | {
      readonly kind: 'configured'
      readonly deployment: string
      /** A tag counts when any of them made it: keys outlive the seed that was newest when they were issued. */
      readonly tagHmacs: readonly TagHmac[]
      readonly operatorSecret: Uint8Array
    }
  /** `missing` names bindings, for the log only. */
  | { readonly kind: 'not_configured'; readonly missing: readonly (keyof ConfigBindings)[] }

const deploymentName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** A binding that is malformed counts as missing: nothing is ever served with half of it. */
export function readConfig(bindings: ConfigBindings, readTagHmacs: ReadTagHmacs): Config {
  const { AEGIS_DEPLOYMENT: name, AEGIS_SEED: seeds, AEGIS_OPERATOR_SECRET: secret } = bindings
  const deployment = name !== undefined && deploymentName.test(name) ? name : undefined
  const tagHmacs = seeds === undefined ? undefined : readTagHmacs(seeds, deployment ?? '')
  const operatorKey = secret === undefined ? undefined : parseApiKey(`aegis_operator_${secret}`)
  const operatorSecret = operatorKey?.kind === 'operator' ? operatorKey.secret : undefined
  if (deployment !== undefined && tagHmacs !== undefined && operatorSecret !== undefined) {
    return { kind: 'configured', deployment, tagHmacs, operatorSecret }
  }
  const missing: (keyof ConfigBindings)[] = []
  if (deployment === undefined) missing.push('AEGIS_DEPLOYMENT')
  if (tagHmacs === undefined) missing.push('AEGIS_SEED')
  if (operatorSecret === undefined) missing.push('AEGIS_OPERATOR_SECRET')
  return { kind: 'not_configured', missing }
}
