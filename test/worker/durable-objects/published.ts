/** What a tenant has made public, read from R2 as an auditor reads it, and judged by src/verify. */
import { runDurableObjectAlarm } from 'cloudflare:test'
import { headPath, segmentPath } from '../../../src/archive/paths.ts'
import { nodeSuite } from '../../../src/crypto-node/index.ts'
import { encodeHex, utf8 } from '../../../src/record/index.ts'
import { type Report, Walk, parseTrustStore } from '../../../src/verify/index.ts'
import { type ObjectUnderTest, testEnv } from './object.ts'

/** Alarms until every closed Session is in R2. */
export async function untilPublished(object: ObjectUnderTest): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    await runDurableObjectAlarm(object.stub)
    const waits = await countRows(object, "due WHERE name = 'publish'")
    if (waits === 0) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('it was not published')
}

export async function countRows(object: ObjectUnderTest, table: string): Promise<number> {
  return object.inside(
    ({ storage: { sql } }) => sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n,
  )
}

export async function readObject(bucket: R2Bucket, key: string): Promise<Uint8Array | undefined> {
  const object = await bucket.get(key)
  return object === null ? undefined : new Uint8Array(await object.arrayBuffer())
}

/** Each published segment, held against the index. */
export async function readSegments(object: ObjectUnderTest): Promise<Uint8Array[]> {
  const index = await object.rpc.segments('aud', -1)
  if (index.kind !== 'index') throw new Error(JSON.stringify(index))
  const files: Uint8Array[] = []
  for (const { sessionIndex, sha256, bytes } of index.segments) {
    const file = await readObject(testEnv.CHAIN, segmentPath(object.tenant, sessionIndex))
    if (file?.length !== bytes || encodeHex(nodeSuite.sha256(file)) !== sha256)
      throw new Error(`segment ${String(sessionIndex)} is not the one of the index`)
    files.push(file)
  }
  return files
}

/** The report on the published Chain under the keys that are made public; the head in R2 must be its last Line. */
export async function verifyPublished(object: ObjectUnderTest): Promise<Report> {
  const files = await readSegments(object)
  const keys = await object.rpc.publicKeys()
  if (keys.kind !== 'keys') throw new Error(keys.kind)
  const pins = parseTrustStore(utf8(JSON.stringify(keys.publicKeys)))
  if (!pins.ok) throw new Error('the public keys are no trust store')
  const walk = new Walk({
    digester: nodeSuite,
    check: ({ publicKey, message, signature }) => nodeSuite.verify(publicKey, message, signature),
    pins: pins.value,
  })
  for (const file of files) {
    walk.push(file)
    walk.endFile()
  }
  const last = new TextDecoder().decode(files.at(-1)).trimEnd().split('\n').at(-1) ?? ''
  const head = new TextDecoder().decode(await readObject(testEnv.CHAIN, headPath(object.tenant)))
  if (head !== `${last}\n`) throw new Error('the head in R2 is not the last published close')
  return walk.end()
}
