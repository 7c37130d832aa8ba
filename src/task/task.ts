/**
 * Tasks: operations that can fail and have already started. Await one for its value, or call it for an `Either`.
 *
 *     const session = await createSession(store)            // the session, or a thrown FaultError
 *     const answer = await createSession(store)()           // Either<Fault, Session>
 *     pipe(createSession(store), TE.chain((session) => session.append(user('hello'))))
 */
import type { Either, Left, Right } from 'fp-ts/lib/Either.js'
import { isLeft, left } from '../either/index.ts'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { FaultError, isConsequence } from './fault.ts'

/**
 * An fp-ts `TaskEither` that has already started and can be awaited.
 *
 * It has one outcome. Awaiting it returns the value or throws a {@link FaultError}; calling it returns the same
 * outcome as an `Either`. You can do both any number of times. To try again, call the function that returned
 * the task again. A mistake in the program, such as `null` for options, is a TypeError from that function.
 *
 * A task that fails before you await it, call it, or use `then`, `catch` or `finally` is an
 * unhandled rejection. Its message names the function.
 *
 * `pipe(task, TE.chain(f))` returns a plain `TaskEither`: only its first task has started, and `await` does not run it.
 * Write `await orThrow(pipe(task, TE.chain(f)))`. An `async` function that returns a task awaits it.
 */
export interface Task<F, A> extends TaskEither<F, A>, PromiseLike<A> {
  /** Await it, and handle a failure, like `catch` of a promise. */
  readonly catch: <B = never>(rejected?: ((error: unknown) => B | PromiseLike<B>) | null) => Promise<A | B>
  /** Await it, and run a function in either case, like `finally` of a promise. */
  readonly finally: (settled?: (() => void) | null) => Promise<A>
}

/** Makes tasks whose faults are among `All`. @typeParam All the faults with sentences */
export type TaskOf<All> = <E extends Either<All, unknown>>(run: () => Promise<E>, call: string) => TaskFor<E>

/** The task with this `Either` as its outcome. */
export type TaskFor<E> = Task<E extends Left<infer F> ? F : never, E extends Right<infer A> ? A : never>

/**
 * Returns a function that makes tasks. `sentence` returns the message of the {@link FaultError} that an await throws.
 *
 * `run` is called immediately. It copies and checks its arguments before its first `await`, and throws
 * only TypeErrors. Its promise rejects only if it reads a message of a damaged record: the FaultError
 * of that read becomes the task's fault. `call` is the name of the function, such as `session.append`.
 */
export const taskOf =
  <All>(sentence: (fault: All) => string): TaskOf<All> =>
  <E extends Either<All, unknown>>(run: () => Promise<E>, call: string): TaskFor<E> => {
    const outcome: Promise<Either<All, unknown>> = run().catch(thrownFault<All>)
    let seen = false
    // Rejects if nobody has looked at a failure.
    const unseen = outcome.then((answer) => {
      if (!isLeft(answer) || seen || isConsequence(answer.left)) return
      throw new FaultError(answer.left, `${call}: ${sentence(answer.left)}`)
    })
    const observe = (): void => {
      if (seen) return
      unseen.catch(() => undefined) // a failure is handled by the caller from now on
      seen = true
    }
    // The error is made after the `await` has begun and in a promise of its own, so that its stack has the awaiting functions.
    const value = (): Promise<unknown> => {
      observe()
      return outcome.then((answer) => {
        if (isLeft(answer)) throw new FaultError(answer.left, sentence(answer.left))
        return answer.right
      })
    }
    const either = (): Promise<Either<All, unknown>> => {
      observe()
      return outcome
    }
    const then: PromiseLike<unknown>['then'] = (fulfilled, rejected) => value().then(fulfilled, rejected)
    const task = Object.defineProperties(either, {
      // oxlint-disable-next-line unicorn/no-thenable -- that a task can be awaited is the point
      then: { value: then },
      catch: { value: (rejected?: Rejected) => value().catch(rejected) },
      finally: { value: (settled?: (() => void) | null) => value().finally(settled) },
    })
    return task as TaskFor<E> // the result of `run`, called or awaited
  }

/** Turns a thrown FaultError, such as that of reading a damaged record, into a fault. Throws anything else. */
export const thrownFault = <All>(error: unknown): Either<All, never> => {
  if (error instanceof FaultError) return left(error.fault as All)
  throw error
}

type Rejected = ((error: unknown) => unknown) | null
