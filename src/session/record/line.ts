/** The line of the writers that meet at a session: whoever was refused waits in it, and appends when its turn comes. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from '../../json/index.ts'
import type { LogFault } from '../../store/index.ts'

/** The place of one writer. */
export interface Line {
  /** Whether it has its turn. */
  readonly isIn: boolean
  /** Resolves when all who came before are done. At once, if it has its turn. */
  readonly enter: () => Promise<Either<LogFault, void>>
  /** Ends its turn. */
  readonly leave: () => void
}

/** @param take the store's `turn` */
export const createLine = (take: () => Promise<Either<LogFault, () => void>>): Line => {
  let end: (() => void) | undefined
  return {
    get isIn() {
      return end !== undefined
    },
    enter: async () => {
      if (end !== undefined) return right(undefined)
      const taken = await take()
      if (isLeft(taken)) return taken
      end = taken.right
      return right(undefined)
    },
    leave: () => end?.(),
  }
}
