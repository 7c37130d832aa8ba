/** What tasks infer, and what does not compile. */
import type { Either } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import {
  createSession,
  orThrow,
  settle,
  user,
  type Message,
  type Sequence,
  type Session,
  type Settled,
  type Store,
  type Task,
} from 'indelible'
import { readRange, type MessageRange, type WriteFault } from 'indelible/session'
import type { LogFault } from 'indelible/store'
import { describe, expectTypeOf, it } from 'vitest'

declare const store: Store
declare const task: Task<'fault', number>

describe('the Task type', () => {
  it('is awaited for its value, called for an Either, and a TaskEither', () => {
    expectTypeOf<Awaited<typeof task>>().toEqualTypeOf<number>()
    expectTypeOf(task()).toEqualTypeOf<Promise<Either<'fault', number>>>()
    expectTypeOf(task).toExtend<TE.TaskEither<'fault', number>>()
    expectTypeOf<Awaited<ReturnType<typeof createSession>>>().toEqualTypeOf<Session>()
  })
  it('pipes', () => {
    const piped = pipe(
      createSession(store),
      TE.chainFirst((session) => session.append(user('x'))),
    )
    expectTypeOf(piped).toEqualTypeOf<TE.TaskEither<WriteFault, Session>>()
    expectTypeOf(orThrow(piped)).toEqualTypeOf<Promise<Session>>()
    expectTypeOf(orThrow(settle([user('x')] as readonly Message[] & Sequence<Message>))).toExtend<
      Settled<Sequence<Message>>
    >()
    // @ts-expect-error what a pipe gives is no task: awaiting it gives a function
    expectTypeOf<Awaited<typeof piped>>().toEqualTypeOf<Session>()
  })
  it('pipes steps with different faults through chainW', () => {
    const piped = pipe(
      createSession(store),
      TE.chain((session) => session.append(user('x'))),
      TE.chainW(() => readRange(store, 's')),
    )
    expectTypeOf(piped).toEqualTypeOf<TE.TaskEither<WriteFault | LogFault, MessageRange>>()
  })
  it('is not made of a plain TaskEither', () => {
    // @ts-expect-error it can't be awaited
    const wrong: Task<'fault', number> = TE.right(1)
    void wrong
  })
})
