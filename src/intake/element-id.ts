// The id of an element that was pushed without one (spec 2.1).
import { randomFillSync } from 'node:crypto'
import { v5 as uuidV5, v7 as uuidV7 } from 'uuid'

/** Namespace of the ids made from an Idempotency-Key, so that both answers to a repeated request name the same. */
const namespace = '0b9c6e6a-54f7-5a2c-8f0e-6d7c1c0a9b57'
const bytesPerId = 16

/** Asking the system for random bytes costs more than the rest of an id, so they are fetched for many at once. */
const pool = Buffer.alloc(256 * bytesPerId)
let used = pool.length

/** A new UUID, or always the same one for a text that says which push it is (rule 11). */
export function makeElementId(repeatable: string | undefined): string {
  return repeatable === undefined ? uuidV7({ random: takeRandom() }) : uuidV5(repeatable, namespace)
}

function takeRandom(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += bytesPerId
  return pool.subarray(used - bytesPerId, used)
}
