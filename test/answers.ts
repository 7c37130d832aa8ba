/** What tasks give, in tests. */
import { isLeft } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { faultMessage, type Fault } from 'indelible'

/** The answer of a task, which must not be a fault. */
export const ok = async <T>(task: TaskEither<Fault, T>): Promise<T> => {
  const answer = await task()
  if (isLeft(answer)) throw new Error(`${answer.left._tag}: ${faultMessage(answer.left)}`, { cause: answer.left })
  return answer.right
}

/** The fault of a task, which must have this tag. */
export const fault = async <Tag extends Fault['_tag']>(
  tag: Tag,
  task: TaskEither<Fault, unknown>,
): Promise<Extract<Fault, { _tag: Tag }>> => {
  const answer = await task()
  if (!isLeft(answer)) throw new Error(`expected ${tag}, but it went well`)
  if (answer.left._tag !== tag)
    throw new Error(`expected ${tag}, found ${answer.left._tag}: ${faultMessage(answer.left)}`)
  return answer.left as Extract<Fault, { _tag: Tag }> // its tag was compared
}
