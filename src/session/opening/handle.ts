/** Builds the handles of a session over one mirror and one writer. */
import type { View } from '../../history/index.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { checkArgument, isObject, isLeft, left, optionsOf, right, type OptionNames } from '../../json/index.ts'
import {
  appendOptions,
  leaseOptions,
  leaseRespect,
  noteOptions,
  rebaseOptions,
  retractOptions,
  rewindOptions,
} from '../record/options.ts'
import type { Message } from '../../message/index.ts'
import { foldPages, type Note } from '../../notes/kit.ts'
import type { PageKind } from '../../pages/index.ts'
import { sliceBounds } from '../../sequence/index.ts'
import type { LogInfo, Store, StoreFault } from '../../store/index.ts'
import { ownKeyOf } from '../../store/kit.ts'
import { untilFault, type CallbackThrew, type TaskFor } from '../../task/index.ts'
import { Appending } from '../writing/append.ts'
import { interruptedResultsIn, lookAtLease, openCallsIn, unfinishedCallsIn } from '../record/cut-off.ts'
import { SessionMetadata } from './describe-session.ts'
import { prepareErase } from '../erasing/erase.ts'
import { sessionSteps, sessionTask, type SessionFault } from '../fault.ts'
import { openStepsIn } from '../record/journal.ts'
import { createHolding } from '../writing/lease.ts'
import type { SessionInfo } from '../record/metadata.ts'
import { conversationOf, momentAt, rowsIn, timeOf, type Mirror } from '../record/mirror.ts'
import type { ReadonlySession, SealedSession, Session, SessionReader } from '../session.ts'
import { rememberStore } from '../record/store-of.ts'
import { Writer } from '../writing/writer.ts'

/** The open handle for a mirror. `log` is the store's description of the log, `about` the session's. */
export const sessionOf = (store: Store, mirror: Mirror, log: LogInfo, about: SessionInfo): Session => {
  const { id } = mirror
  const holding = createHolding(store, id, (number) => {
    mirror.endedLeases = Math.max(mirror.endedLeases, number)
  })
  const writer = new Writer(holding.store, mirror, ownKeyOf(log) ?? null)
  const appending = new Appending(store, mirror, writer)
  mirror.erasable = about.erasable === true
  const described = new SessionMetadata(holding.store, log, about, mirror.redactor)
  const reader = readerOf(mirror, described)
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await writer.close()
    await described.idle()
    await holding.release()
  }
  const refresh: Session['refresh'] = () =>
    sessionTask(async () => {
      const missed = await writer.refresh()
      const looked = isLeft(missed) ? missed : await lookAtLease(store, mirror)
      return isLeft(looked) ? looked : missed
    }, 'session.refresh')
  return handle<Session>(store, mirror, reader, {
    state: 'open',
    append: (given, options) =>
      writingMethod('session.append', options, appendOptions, (checked) => appending.append(given, checked)),
    rebase: (make, options) => {
      checkArgument('session.rebase', typeof make === 'function', 'a function', make)
      return writingMethod('session.rebase', options, rebaseOptions, (checked) => appending.rebase(make, checked))
    },
    pop: (options) => writingMethod('session.pop', options, retractOptions, (checked) => appending.pop(checked)),
    rewind: (to, options) => {
      checkArgument('session.rewind', typeof to === 'number', 'a position', to)
      return writingMethod('session.rewind', options, rewindOptions, (checked) => appending.rewind(to, checked))
    },
    note: (given, options) =>
      writingMethod('session.note', options, noteOptions, (checked) => appending.note(given, checked)),
    summarize: (summary, options) => {
      checkArgument('session.summarize', isObject(summary), 'a summary: { from, to, text }', summary)
      return writingMethod('session.summarize', options, leaseRespect, (checked) =>
        appending.summarize(summary, checked),
      )
    },
    erase: (what, options) => {
      const erase = prepareErase('session.erase', holding.store, id, what, options)
      return sessionTask(() => writer.alone(() => untilFault(erase)), 'session.erase')
    },
    update: (recipe, options) => {
      checkArgument('session.update', typeof recipe === 'function', 'a recipe', recipe)
      return writingMethod('session.update', options, leaseRespect, async (checked) =>
        closing === undefined ? described.update(recipe, checked) : left({ _tag: 'SessionClosed', id }),
      )
    },
    lease: (options) => holding.take(optionsOf('session.lease', options, leaseOptions), () => writer.refresh()),
    interrupted: (reason) => interruptedResultsIn(mirror, reason),
    unfinished: () => unfinishedCallsIn(mirror),
    openSteps: () => openStepsIn(mirror),
    held: holding.held,
    refresh,
    seal: (options) =>
      writingMethod('session.seal', options, leaseRespect, async (checked) => {
        const sealed = await appending.seal(checked)
        return isLeft(sealed) ? sealed : right(handle<SealedSession>(store, mirror, reader, sealedRest(store, id)))
      }),
    readonly: () => handle<ReadonlySession>(store, mirror, reader, { state: 'readonly', refresh }),
    close: () => sessionTask(async () => right(await (closing ??= close())), 'session.close'),
  })
}

/** Makes the task of a method with options. Throws TypeError if the options are not an object, or one is unknown. */
const writingMethod = <O extends object, E extends Either<SessionFault | StoreFault | CallbackThrew, unknown>>(
  call: string,
  options: O | undefined,
  known: OptionNames<O>,
  work: (options: O) => Promise<E>,
): TaskFor<E> => {
  const checked = optionsOf(call, options, known)
  return sessionTask(() => work(checked), call)
}

/** The sealed handle for a mirror. */
export const sealedSessionOf = (store: Store, mirror: Mirror, log: LogInfo, info: SessionInfo): SealedSession =>
  handle<SealedSession>(
    store,
    mirror,
    readerOf(mirror, new SessionMetadata(store, log, info)),
    sealedRest(store, mirror.id),
  )

const sealedRest = (store: Store, id: string): Rest<SealedSession> => ({
  state: 'sealed',
  erase: (what, options) => sessionSteps(prepareErase('session.erase', store, id, what, options), 'session.erase'),
})

/** The members that all handles share. `len` is added to each, because it is a getter. */
type Reading = { readonly [Key in Exclude<keyof SessionReader, 'len'>]: SessionReader[Key] }
type Rest<S> = { readonly [Key in Exclude<keyof S, keyof SessionReader>]: S[Key] }

/** The only function that makes a session, so every session has the brand. */
const handle = <S extends SessionReader>(
  store: Store,
  { redactor, erased, history }: Mirror,
  reading: Reading,
  rest: Rest<S>,
): S => {
  const session = {
    ...reading,
    ...rest,
    get len() {
      return history.len
    },
  }
  return rememberStore({ store, redactor, erased: () => erased.size }, Object.freeze(session) as unknown as S)
}

const readerOf = (mirror: Mirror, described: SessionMetadata): Reading => {
  let folded:
    | { readonly view: View<Message>; readonly notes: View<Note>; readonly pages: readonly PageKind[] }
    | undefined
  return {
    id: mirror.id,
    view: mirror.history.view,
    conversation: () => conversationOf(mirror),
    at: ({ size }) => (size > mirror.head.size ? undefined : momentAt(mirror, size)),
    notes: mirror.notes.view,
    rows: (from, to) => {
      const { start, end } = sliceBounds(mirror.head.size, from, to)
      return { [Symbol.iterator]: () => rowsIn(mirror, start, end) }
    },
    timeOf: (position) => timeOf(mirror, position),
    pages: () => {
      const [view, notes] = [mirror.history.view(), mirror.notes.view()]
      if (folded === undefined || folded.view !== view || folded.notes !== notes)
        folded = { view, notes, pages: effectivePages(view, notes) }
      return folded.pages
    },
    head: () => mirror.head,
    info: () => Object.freeze({ ...described.info, len: mirror.history.len, head: mirror.head }),
    metadata: () => described.info.metadata,
    damaged: Object.freeze([...mirror.damaged]),
    openCalls: () => openCallsIn(mirror),
  }
}

const effectivePages = (view: View<Message>, notes: View<Note>): readonly PageKind[] => {
  const pages = [...view.pages]
  for (const [position, kind] of foldPages(notes)) if (kind !== undefined) pages[position] = kind
  return Object.freeze(pages)
}
