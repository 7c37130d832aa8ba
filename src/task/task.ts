/**
 * Tasks: something that can fail and has begun. Await one for its value, or call it for an `Either`.
 *
 *     const session = await createSession(store)            // the session, or a thrown FaultError
 *     const answer = await createSession(store)()           // Either<Fault, Session>
 *     pipe(createSession(store), TE.chain((session) => session.append(user('hello'))))
 */
import type { Either, Left, Right } from 'fp-ts/lib/Either.js'
import { isLeft, left } from '../json/index.ts'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { FaultError, isConsequence } from './fault.ts'

/**
 * An fp-ts `TaskEither` that has begun and can be awaited.
 *
 * It has one outcome. Awaiting it gives the value or throws a {@link FaultError}; calling it gives the `Either` of the
 * same outcome. Do either as often as you like. To try again, call the function that gave the task again. A mistake in
 * the program, such as `null` for options, is a TypeError from that function.
 *
 * A task that fails before you await it, call it, or use `then`, `catch` or `finally` is an unhandled rejection. Its
 * message names the function.
 *
 * What `pipe(task, TE.chain(f))` gives is a plain `TaskEither`, which `await` does not run: write
 * `await orThrow(pipe(task, TE.chain(f)))`. An `async` function that returns a task awaits it.
 */
export interface Task<F, A> extends TaskEither<F, A>, PromiseLike<A> {
  /** Await it, and handle a failure, as a promise's `catch` does. */
  readonly catch: <B = never>(rejected?: ((error: unknown) => B | PromiseLike<B>) | null) => Promise<A | B>
  /** Await it, and do something either way, as a promise's `finally` does. */
  readonly finally: (settled?: (() => void) | null) => Promise<A>
}

/** Makes tasks whose faults are among `All`. @typeParam All the faults that it has sentences for */
export type TaskOf<All> = <E extends Either<All, unknown>>(run: () => Promise<E>, call: string) => TaskFor<E>

/** The task that gives this `Either`. */
export type TaskFor<E> = Task<E extends Left<infer F> ? F : never, E extends Right<infer A> ? A : never>

/**
 * A maker of tasks, for faults that `sentence` has words for: the message of the {@link FaultError} that an await throws.
 *
 * `run` is called at once. It copies and checks its arguments before its first `await`, and throws nothing but a TypeError.
 * Its promise rejects only where it reads a message of a damaged record: the FaultError of that read is the task's fault.
 * `call` is the name of the function, such as `session.append`.
 */
export const taskOf =
  <All>(sentence: (fault: All) => string): TaskOf<All> =>
  <E extends Either<All, unknown>>(run: () => Promise<E>, call: string): TaskFor<E> => {
    const outcome: Promise<Either<All, unknown>> = run().catch(thrownFault<All>)
    let seen = false
    const value = outcome.then((answer) => {
      if (!isLeft(answer)) return answer.right
      if (isConsequence(answer.left)) look()
      throw new FaultError(answer.left, seen ? sentence(answer.left) : `${call}: ${sentence(answer.left)}`)
    })
    const look = (): Promise<unknown> => {
      if (!seen) value.catch(() => undefined) // from now on whoever looks handles a failure
      seen = true
      return value
    }
    const either = (): Promise<Either<All, unknown>> => {
      look()
      return outcome
    }
    const then: PromiseLike<unknown>['then'] = (fulfilled, rejected) => look().then(fulfilled, rejected)
    const task = Object.defineProperties(either, {
      // oxlint-disable-next-line unicorn/no-thenable -- that a task can be awaited is the point
      then: { value: then },
      catch: { value: (rejected?: Rejected) => look().catch(rejected) },
      finally: { value: (settled?: (() => void) | null) => look().finally(settled) },
    })
    return task as TaskFor<E> // what `run` gives, called or awaited
  }

/** The fault of an error that was thrown by reading a record. */
const thrownFault = <All>(error: unknown): Either<All, never> => {
  if (error instanceof FaultError) return left(error.fault as All)
  throw error
}

type Rejected = ((error: unknown) => unknown) | null
