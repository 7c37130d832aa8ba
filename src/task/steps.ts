/**
 * Operations in steps that can fail. The first fault ends them, like a `return`.
 *
 *     untilFault(async function* () {
 *       const log = yield* need(store.info(id)) // the value; a fault ends the function here
 *       if (log.entries === 0) return yield* fail({ _tag: 'NotASession', id }) // a fault of its own
 *       return log.head
 *     })
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../either/index.ts'
import type { Task, TaskOf } from './task.ts'

/** Steps that end with a value, or earlier with a fault. */
export type Steps<F, A> = AsyncGenerator<F, A, unknown>

/** A pending or finished step. */
type Step<F, A> = Either<F, A> | Promise<Either<F, A>>

/**
 * The value of a task or an `Either`. The value must not be a promise. A fault ends the steps;
 * their `finally` blocks still run.
 */
export function need<F, A>(task: () => Promise<Either<F, A>>): Steps<F, A>
export function need<F, A>(step: Step<F, A>): Steps<F, A>
export async function* need<F, A>(step: Step<F, A> | (() => Promise<Either<F, A>>)): Steps<F, A> {
  const answer = await (typeof step === 'function' ? step() : step)
  return isLeft(answer) ? yield* fail(answer.left) : answer.right
}

export async function* fail<const F>(fault: F): Steps<F, never> {
  yield fault
  throw new Error('steps continued after a fault')
}

/** Run steps. The code before the first `yield` runs immediately. */
export const untilFault = async <F, A>(work: () => Steps<F, A>): Promise<Either<F, A>> => {
  const going = work()
  const { done, value } = await going.next()
  if (done === true) return right(value)
  await going.return(undefined as A) // no one reads the value
  return left(value)
}

/** Makes tasks from steps. */
export type TaskOfSteps<All> = <F extends All, A>(work: () => Steps<F, A>, call: string) => Task<F, A>

/** Returns a function that makes tasks from steps. `task` has a sentence for each fault. */
export const taskOfSteps =
  <All>(task: TaskOf<All>): TaskOfSteps<All> =>
  <F extends All, A>(work: () => Steps<F, A>, call: string) =>
    task(() => untilFault(work), call) as Task<F, A> // the result of the steps
