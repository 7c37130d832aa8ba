/**
 * Operations whose steps can fail, one after the other: the first fault ends them, as a `return` would.
 *
 *     untilFault(async function* () {
 *       const log = yield* need(store.info(id)) // the value; a fault ends the function here
 *       if (log.entries === 0) return yield* fail({ _tag: 'NotASession', id }) // a fault of its own
 *       return log.head
 *     })
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import type { Task, TaskOf } from './task.ts'

/** Steps that end with a value, or before with a fault. */
export type Steps<F, A> = AsyncGenerator<F, A, unknown>

/** What a step is: something that has begun to be made, or is made already. */
type Step<F, A> = Either<F, A> | Promise<Either<F, A>>

/**
 * The value of a task or an `Either`, which must be no promise. A fault ends the steps: what stands in their `finally` is
 * still done.
 */
export function need<F, A>(task: () => Promise<Either<F, A>>): Steps<F, A>
export function need<F, A>(step: Step<F, A>): Steps<F, A>
export async function* need<F, A>(given: Step<F, A> | (() => Promise<Either<F, A>>)): Steps<F, A> {
  const answer = await (typeof given === 'function' ? given() : given)
  return isLeft(answer) ? yield* fail(answer.left) : answer.right
}

/** Ends the steps with a fault. */
export async function* fail<const F>(fault: F): Steps<F, never> {
  yield fault
  throw new Error('steps went on behind a fault')
}

/** Run steps. Up to the first one they run at once. */
export const untilFault = async <F, A>(work: () => Steps<F, A>): Promise<Either<F, A>> => {
  const going = work()
  const { done, value } = await going.next()
  if (done === true) return right(value)
  await going.return(undefined as A) // nobody reads it
  return left(value)
}

/** Makes tasks of steps. */
export type TaskOfSteps<All> = <F extends All, A>(work: () => Steps<F, A>, call: string) => Task<F, A>

/** A maker of tasks of steps, for faults that `task` has words for. */
export const taskOfSteps =
  <All>(task: TaskOf<All>): TaskOfSteps<All> =>
  <F extends All, A>(work: () => Steps<F, A>, call: string) =>
    task(() => untilFault(work), call) as Task<F, A> // what the steps end with
