/**
 * A bucket whose every request ends: R2 that hangs must not hold an alarm, nor a first Call after waking. What was asked
 * for may still happen later; whoever works with the archive counts on that.
 */
import type { Bucket, StoredObject } from '../src/archive/bucket.ts'

/** A put of 4 MiB over a bad link; far below the 15 minutes that an alarm may take. */
const answerMsMax = 20_000

export function timedBucket(bucket: Bucket): Bucket {
  return {
    get: async (key, options) => {
      const object = await inTime(bucket.get(key, options))
      return object === null ? null : timedObject(object)
    },
    head: (key) => inTime(bucket.head(key)),
    put: (key, value, options) => inTime(bucket.put(key, value, options)),
    delete: (keys) => inTime(bucket.delete(keys)),
  }
}

function timedObject(object: StoredObject): StoredObject {
  const { etag, size, checksums, body } = object
  return { etag, size, checksums, body, arrayBuffer: () => inTime(object.arrayBuffer()) }
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error('the archive did not answer in time'))
    }, answerMsMax)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
