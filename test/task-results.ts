/** What tasks give, in tests. */
import { isLeft } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { faultMessage, type Fault } from 'indelible'
import { mustBeFrozen } from '../packages/testing/src/check.ts'

interface Tagged {
  readonly _tag: string
}

/** The answer of a task, which must not be a fault. An object is frozen. */
export const ok = async <T>(task: TaskEither<Tagged, T>): Promise<T> => {
  const answer = await task()
  if (isLeft(answer))
    throw new Error(`${answer.left._tag}: ${faultMessage(answer.left as Fault)}`, { cause: answer.left })
  return mustBeFrozen(answer.right)
}

/** The fault of a task, which must have this tag. */
export const fault = async <F extends Tagged, Tag extends F['_tag']>(
  tag: Tag,
  task: TaskEither<F, unknown>,
): Promise<Extract<F, { readonly _tag: Tag }>> => {
  const answer = await task()
  if (!isLeft(answer)) throw new Error(`expected ${tag}, but it went well`)
  if (answer.left._tag !== tag)
    throw new Error(`expected ${tag}, found ${answer.left._tag}: ${faultMessage(answer.left as Fault)}`)
  return answer.left as Extract<F, { readonly _tag: Tag }> // its tag was compared
}
