/** What infers, and the typestate: what can't be appended to does not compile. */
import { describe, expectTypeOf, it } from 'vitest'
import {
  applyDelta,
  createSession,
  openSession,
  readSession,
  user,
  type History,
  type Task,
  type Message,
  type PageKind,
  type Session,
  type Store,
  type View,
} from 'indelible'
import type {
  CreateSessionFault,
  OpenSessionFault,
  AppendedMessages,
  SessionReader,
  WriteFault,
} from 'indelible/session'
import { historyHandler } from 'indelible/run'
import { pending } from '../../src/session/index.ts'
import type { Head } from '../../src/store/port/row.ts'
import type { Position } from '../../src/history/view.ts'
import type { ReadonlySession, SealedSession } from '../../src/session/session.ts'

type Last<U> = (U extends unknown ? (of: () => U) => void : never) extends (of: infer I) => void
  ? I extends () => infer L
    ? L
    : never
  : never
type UnionList<U, L = Last<U>> = [U] extends [never] ? [] : [...UnionList<Exclude<U, L>>, L]
/** The number of members of a union. */
type UnionSize<U> = UnionList<U>['length']

declare const store: Store
declare const session: Session
declare const reading: ReadonlySession
declare const sealed: SealedSession
declare const declined: Session['append']

describe('inferred session types', () => {
  it('asynchronous methods return tasks with faults', () => {
    expectTypeOf(createSession(store)).toEqualTypeOf<Task<CreateSessionFault, Session>>()
    expectTypeOf(openSession(store, 's')).toEqualTypeOf<Task<OpenSessionFault, Session>>()
    expectTypeOf(session.append(user('x'))).toEqualTypeOf<Task<WriteFault, AppendedMessages>>()
    expectTypeOf(session.seal()).toEqualTypeOf<Task<WriteFault, SealedSession>>()
  })
  it('the history of a session is a history', () => {
    expectTypeOf(session.history()).toEqualTypeOf<History<Message>>()
    expectTypeOf(session.history().append(user('x'))).toEqualTypeOf<Position>()
    expectTypeOf(session.flush()).toEqualTypeOf<Task<WriteFault, Head>>()
    expectTypeOf(applyDelta(session.history(), { id: 'd', expectedLen: 0, append: [user('x')] })).not.toBeAny()
    historyHandler(session.history())
    // @ts-expect-error a readonly session has no history to append to
    void (() => reading.history())
    // @ts-expect-error nor has a sealed one
    void (() => sealed.history())
  })
  it('a session has at most 22 members', () => {
    expectTypeOf<UnionSize<keyof Session>>().toExtend<
      1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22
    >()
  })
  it('a view is appended with its page kinds', () => {
    session.append(session.view())
    session.append({ ...session.view() })
    createSession(store, { from: session.view() })
    createSession(store, { messages: session.conversation() })
    session.rewind(0, { instead: session.view() })
    session.rebase((view) => view)
    // @ts-expect-error a page kind is one of six
    session.append({ messages: [user('x')], pages: ['gossip'] })
  })
  it('reading is synchronous', () => {
    expectTypeOf(session.view()).toEqualTypeOf<View<Message>>()
    expectTypeOf(reading.conversation()).toEqualTypeOf<View<Message>>()
    expectTypeOf(sealed.at(sealed.head())?.conversation).toEqualTypeOf<View<Message> | undefined>()
    expectTypeOf(session.at().pages).toEqualTypeOf<readonly PageKind[]>()
    expectTypeOf(session.append).parameter(0).toExtend<Message | readonly Message[] | object>()
  })
  it('readers accept any kind of session', () => {
    const last = (of: SessionReader): number => of.len
    expectTypeOf(last(session) + last(reading) + last(sealed)).toEqualTypeOf<number>()
  })
  it('recorded messages can be appended again', () => {
    session.append(session.view().toArray())
    session.append(pending(session).messages)
  })
})

describe('sessions: must not compile', () => {
  it('writing to a readonly session', () => {
    // @ts-expect-error a readonly session has no append
    void (() => reading.append(user('x')))
    // @ts-expect-error nor a note
    void (() => reading.note({ type: 'pin', position: 0 }))
    // @ts-expect-error nor a way to retract
    void (() => reading.rewind(0))
    // @ts-expect-error nor metadata to change
    void (() => reading.update(() => {}))
    // @ts-expect-error nor an end
    void (() => reading.seal())
  })
  it('appending to or waiting on a sealed session', () => {
    // @ts-expect-error a sealed session has no append
    void (() => sealed.append(user('x')))
    // @ts-expect-error nor a note
    void (() => sealed.note({ type: 'pin', position: 0 }))
    // @ts-expect-error nor anything to read again
    void (() => sealed.refresh())
  })
  it('passing one session kind for another', () => {
    // @ts-expect-error a sealed session is not one to append to
    const wrong: Session = sealed
    // @ts-expect-error nor is a readonly one
    const wrong2: Session = reading
    void (async () => {
      const answer = await readSession(store, 's')()
      // @ts-expect-error what readSession gives has no append, sealed or not
      return answer._tag === 'Right' && answer.right.append(user('x'))
    })
    void [wrong, wrong2]
  })
  it('forging a session', () => {
    // @ts-expect-error a copy of its members has not its brand
    const copied: Session = { ...session }
    // @ts-expect-error nothing of it can be replaced
    void (() => (session.append = declined))
    void copied
  })
  it('updating metadata with an async recipe, whose draft would be gone', () => {
    // @ts-expect-error a recipe is done when it returns
    void (() => session.update(async (metadata) => void (metadata['title'] = 'x')))
    // @ts-expect-error nor may it return what an assignment gives
    void (() => session.update((metadata) => (metadata['title'] = 'x')))
    void (() => session.update(() => ({ title: 'instead' })))
  })
  it('making a sealed session without seal()', () => {
    // @ts-expect-error a seal is no note to write
    void (() => session.note({ type: 'seal' }))
  })
  it('changing a recorded message', () => {
    // @ts-expect-error a view has no push
    void (() => session.view().push(user('x')))
    // @ts-expect-error metadata is changed by update
    void (() => (session.metadata()['user'] = 'eve'))
  })
})
