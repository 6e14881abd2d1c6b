/**
 * Development secrets that name themselves so: the same on every machine, published here, and worthless for that reason.
 * `npm run dev` writes them to `.dev.vars`, where wrangler looks for them too; a deployment has its own.
 */
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { encodeBase32 } from '../../src/protocol/base32.ts'
import type { LocalSecrets } from './authorizer.ts'

/** The name that stands in every `open` Line, so that a development Chain never passes for another one. */
const deployment = 'development'

export const developmentSecrets: LocalSecrets = {
  seed: `0:${hash('AEGIS_SEED for development only: published, never deploy').toString('hex')}`,
  operatorSecret: encodeBase32(hash('AEGIS_OPERATOR_SECRET for development only: published, never deploy')),
  deployment,
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Reads `.dev.vars`, or writes it first with the development secrets. */
export async function readDevVars(file: string): Promise<LocalSecrets> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch {
    text = devVarsText(developmentSecrets)
    await writeFile(file, text)
  }
  const read = (name: string): string => {
    const value = new RegExp(`^${name}="?([^"\\n]*)"?$`, 'm').exec(text)?.[1]
    if (value === undefined) throw new Error(`${file} does not set ${name}`)
    return value
  }
  return {
    seed: read('AEGIS_SEED'),
    operatorSecret: read('AEGIS_OPERATOR_SECRET'),
    deployment: read('AEGIS_DEPLOYMENT'),
  }
}

function devVarsText(secrets: LocalSecrets): string {
  return [
    '# DEVELOPMENT ONLY. These values are published with the source: whoever has it can sign with them.',
    '# Written by `npm run dev`. A deployment sets its own with `wrangler secret put`.',
    `AEGIS_DEPLOYMENT="${secrets.deployment}"`,
    `AEGIS_SEED="${secrets.seed}"`,
    `AEGIS_OPERATOR_SECRET="${secrets.operatorSecret}"`,
    '',
  ].join('\n')
}
