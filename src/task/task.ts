/**
 * Tasks: something that can fail and has not begun. Await one for its value, or call it for an `Either`.
 *
 *     const session = await createSession(store)            // the session, or a thrown FaultError
 *     const answer = await createSession(store)()           // Either<Fault, Session>
 *     pipe(createSession(store), TE.chain((session) => session.append(user('hello'))))
 */
import type { Either, Left, Right } from 'fp-ts/lib/Either.js'
import { isLeft } from '../json/index.ts'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { FaultError } from './fault.ts'
import { watch } from './watch.ts'

/**
 * An fp-ts `TaskEither` that can be awaited.
 *
 * Calling it runs it, each time anew, and gives an `Either`: neither the world nor a callback makes a call throw or
 * reject. A mistake in the program, such as `null` for options, is a TypeError in either way of use. Awaiting it runs it
 * once, however often it is awaited: it gives the value, or throws a {@link FaultError}. An await that failed stays
 * failed; call the task to try again.
 *
 * Functions that take a function or a promise take a task for the function that it is: `expect(task).rejects` and
 * `assert.rejects(task)` call it. What `pipe(task, TE.chain(f))` gives is a plain `TaskEither`, which `await` does not
 * run: write `await orThrow(pipe(task, TE.chain(f)))`. An `async` function that returns a task awaits it.
 */
export interface Task<F, A> extends TaskEither<F, A>, PromiseLike<A> {
  /** Await it, and handle a failure, as a promise's `catch` does: `session.append(m).catch(report)` runs it. */
  readonly catch: <B = never>(rejected?: ((error: unknown) => B | PromiseLike<B>) | null) => Promise<A | B>
  /** Await it, and do something either way, as a promise's `finally` does. */
  readonly finally: (settled?: (() => void) | null) => Promise<A>
}

/** Makes tasks whose faults are among `All`. @typeParam All the faults that it has sentences for */
export type TaskOf<All> = <E extends Either<All, unknown>>(run: () => Promise<E>, change?: string) => TaskFor<E>

/** The task that gives this `Either`. */
export type TaskFor<E> = Task<E extends Left<infer F> ? F : never, E extends Right<infer A> ? A : never>

/**
 * A maker of tasks, for faults that `sentence` has words for: the message of the {@link FaultError} that an await throws.
 *
 * `run` must answer with an `Either` and never reject. A task that changes something names it (`change`, such as
 * `session.append`): one that is collected without ever having run is told of, once, outside of production.
 */
export const taskOf =
  <All>(sentence: (fault: All) => string): TaskOf<All> =>
  <E extends Either<All, unknown>>(run: () => Promise<E>, change?: string): TaskFor<E> => {
    let awaited: Promise<unknown> | undefined
    let began: (() => void) | undefined
    const call = (): Promise<Either<All, unknown>> => {
      began?.()
      return run()
    }
    const value = async (): Promise<unknown> => {
      const answer = await call()
      if (isLeft(answer)) throw new FaultError(answer.left, sentence(answer.left))
      return answer.right
    }
    const promise = (): Promise<unknown> => (awaited ??= value())
    const then: PromiseLike<unknown>['then'] = (fulfilled, rejected) => promise().then(fulfilled, rejected)
    const task = Object.defineProperties(call, {
      // oxlint-disable-next-line unicorn/no-thenable -- that a task can be awaited is the point
      then: { value: then },
      catch: { value: (rejected?: Rejected) => promise().catch(rejected) },
      finally: { value: (settled?: (() => void) | null) => promise().finally(settled) },
    })
    if (change !== undefined) began = watch(task, change)
    return task as TaskFor<E> // what `run` gives, called or awaited
  }

type Rejected = ((error: unknown) => unknown) | null
