/** Checks the metadata of a log. */
import type { Either } from 'fp-ts/lib/Either.js'
import { type JsonObject, left, NotJson, right, snapshot } from '../../json/index.ts'
import type { StoreFaultOf } from '../fault.ts'

/**
 * Copy and freeze the metadata of a log.
 *
 * @returns the copy; or `InvalidMeta` with the path, if it is not a plain JSON object
 */
export const checkMeta = (meta: unknown): Either<StoreFaultOf<'InvalidMeta'>, JsonObject> => {
  try {
    const copy = snapshot(meta)
    if (typeof copy !== 'object' || copy === null || Array.isArray(copy))
      return left({ _tag: 'InvalidMeta', path: [], reason: 'is not an object' })
    return right(copy as JsonObject) // a snapshot contains only JSON
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    return left({ _tag: 'InvalidMeta', path: error.path, reason: error.reason })
  }
}
