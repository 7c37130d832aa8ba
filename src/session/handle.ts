/** The handles of a session: what each of them can do, over one mirror and one writer. */
import type { Either } from 'fp-ts/lib/Either.js'
import { produce } from 'immer'
import type { Immutable, Range, View } from '../history/index.ts'
import { describe, isLeft, left, right } from '../json/index.ts'
import { called, type Task } from '../task/index.ts'
import { decodeMessage, type Message } from '../message/index.ts'
import { decodeNote, foldPages, rangeDigest, type Note } from '../notes/index.ts'
import { noteFaultText } from '../notes/fault.ts'
import { classify, isPageKind, type PageKind } from '../pages/index.ts'
import { encodeRow } from '../entry/index.ts'
import type { LogInfo, Row, Store } from '../store/index.ts'
import { sessionTask, type SessionFaultOf, type UpdateSessionFault, type WriteFault } from './fault.ts'
import { interruptedIn, openIn, unfinishedIn } from './cut-off.ts'
import { sessionInfo, storedMeta, type SessionInfo } from './metadata.ts'
import { createHolding } from './lease.ts'
import { addNote, conversationOf, momentAt, type Mirror } from './mirror.ts'
import { createPace } from './pace.ts'
import { allFrom, lastOf, retraction, type Retract } from './retract.ts'
import type {
  AppendOptions,
  MetadataDraft,
  Appendable,
  NoteOptions,
  Together,
  ReadonlySession,
  SealedSession,
  RetractOptions,
  Session,
  SessionReader,
} from './session.ts'
import { from } from './store-of.ts'
import { createWriter, type Answered, type Recorded, type Step, type Writer } from './writer.ts'

/** The session that a mirror is of. `log` is what the store said of it, as a session. */
export const sessionOf = (store: Store, mirror: Mirror, log: LogInfo, about: SessionInfo): Session => {
  const holding = createHolding(store, mirror.id)
  const writer = createWriter(holding.store, mirror)
  mirror.erasable = about.erasable === true
  const described: Described = { info: about, forkedFrom: about.forkedFrom, version: log.version }
  const reader = readerOf(mirror, described)
  const refresh: Session['refresh'] = () => sessionTask(() => writer.refresh())
  const asking: Pick<ReadonlySession, 'leaseOf' | 'requestStop'> = {
    leaseOf: () => store.leaseOf(mirror.id),
    requestStop: () => store.requestStop(mirror.id),
  }
  const note = (given: Note, change = 'session.note', options: NoteOptions = {}): Task<WriteFault, Recorded> =>
    sessionTask(() => writeNote(writer, mirror, given, options), change)
  const append: Session['append'] = (given, options = {}) =>
    sessionTask(async () => {
      const { messages, notes } = togetherOf(given)
      const step = stepOf(mirror, messages, options, store)
      if (isLeft(step)) return step
      const whole = (len: number): Either<SessionFaultOf<'InvalidNote'>, Step> =>
        notes.length === 0 ? right(step.right) : withNotes(mirror, step.right, notes, len)
      const { operation, expectedHead, expectedLen } = options
      if (expectedHead !== undefined)
        return writer.exactly(() => whole(mirror.history.len), { messages: messages.length, operation, expectedHead })
      const now = whole(expectedLen ?? writer.len())
      if (isLeft(now)) return now
      return writer.append(now.right)
    }, 'session.append')
  const pace = createPace(() => mirror.foreign)

  const retract = (
    which: Retract,
    { operation, expectedHead }: RetractOptions,
    change: string,
    instead?: () => Either<InvalidAppend, Step>,
  ): Task<WriteFault, Recorded> =>
    sessionTask(async () => {
      const step = instead?.()
      if (step !== undefined && isLeft(step)) return step
      return writer.exactly(
        () => {
          const at = expectedHead === undefined ? undefined : momentAt(mirror, expectedHead.size).conversation
          return retraction(mirror, at ?? conversationOf(mirror), which, step?.right)
        },
        { messages: step?.right.rows.length ?? 0, operation, expectedHead },
      )
    }, change)

  return handle<Session>(store, reader, {
    state: 'open',
    append,
    rebase: (make, options = {}) =>
      sessionTask(async () => {
        await pace.begin()
        const began = pace.now()
        for (let tries = 1; ; tries++) {
          // At the head, not the length: a retraction that was not seen changes what should be said.
          const [conversation, expectedHead] = [conversationOf(mirror), mirror.head]
          const made = called('make', () => make(conversation))
          if (isLeft(made)) return made
          const step = stepOf(mirror, listOf(made.right), options, store)
          if (isLeft(step)) return step
          const { rows, operation } = step.right
          const sent = pace.now()
          const answer = await writer.exactly(() => step, { messages: rows.length, operation, expectedHead })
          if (!isLeft(answer)) pace.done(began, sent)
          if (!isLeft(answer) || answer.left._tag !== 'SessionConflict') return answer
          await pace.refused(tries)
        }
      }, 'session.rebase'),
    pop: (options = {}) =>
      sessionTask(async () => {
        let popped: { readonly message: Immutable<Message> | undefined; readonly position: number | undefined } = none
        const last: Retract = (conversation, len) => {
          const message = conversation.at(-1)
          popped = message === undefined ? none : { message, position: conversation.positionAt(-1) }
          return lastOf(conversation, len)
        }
        const answer = await retract(last, options, 'session.pop')()
        return isLeft(answer) ? answer : right(Object.freeze({ ...answer.right, ...popped }))
      }, 'session.pop'),
    rewind: (to, options = {}) => retract(allFrom(to), options, 'session.rewind'),
    replaceTail: (from, messages, options = {}) =>
      retract(allFrom(from), options, 'session.replaceTail', () => {
        const { page } = options
        return stepOf(mirror, listOf(messages), page === undefined ? {} : { page }, store)
      }),
    clear: (options = {}) => retract(allFrom(0), options, 'session.clear'),
    note: (given, options) => note(given, 'session.note', options),
    pin: (position) => note({ type: 'pin', position }, 'session.pin'),
    unpin: (position) => note({ type: 'unpin', position }, 'session.unpin'),
    retag: (position, kind) => note({ type: 'page', position, kind }, 'session.retag'),
    summarize: (summary) =>
      sessionTask(async () => {
        const there = await reached(writer, mirror, summary.to)
        const sourceDigest = rangeDigest(saidIn(mirror, summary))
        return isLeft(there) ? there : writeNote(writer, mirror, { type: 'summary', ...summary, sourceDigest }, {})
      }, 'session.summarize'),
    update: (recipe) =>
      sessionTask(() => writer.alone(() => updated(store, mirror.id, described, recipe)), 'session.update'),
    lease: (options) => holding.take(options, () => writer.refresh()),
    interrupted: (reason) => interruptedIn(mirror, reason),
    unfinished: () => unfinishedIn(mirror),
    refresh,
    ...asking,
    seal: () =>
      sessionTask(async () => {
        const sealed = await sealWith(writer, mirror)
        return isLeft(sealed) ? sealed : right(handle<SealedSession>(store, reader, { state: 'sealed' }))
      }, 'session.seal'),
    readonly: () => handle<ReadonlySession>(store, reader, { state: 'readonly', refresh, ...asking }),
    close: () =>
      sessionTask(async () => {
        await writer.close()
        await holding.release()
        return right(undefined)
      }, 'session.close'),
  })
}

const none = Object.freeze({ message: undefined, position: undefined })

const listOf = (messages: Appendable | readonly Appendable[]): readonly Appendable[] =>
  Array.isArray(messages) ? (messages as readonly Appendable[]) : [messages as Appendable]

const togetherOf = (
  given: Parameters<Session['append']>[0],
): { readonly messages: readonly Appendable[]; readonly notes: readonly Note[] } => {
  const isTogether = !Array.isArray(given) && !('role' in given) && ('messages' in given || 'notes' in given)
  if (!isTogether) return { messages: listOf(given as Appendable | readonly Appendable[]), notes: [] }
  const { messages = [], notes = [] } = given as Together
  return { messages, notes }
}

/** The same for a log that has ended. */
export const sealedOf = (store: Store, mirror: Mirror, log: LogInfo, info: SessionInfo): SealedSession =>
  handle<SealedSession>(store, readerOf(mirror, { info, forkedFrom: info.forkedFrom, version: log.version }), {
    state: 'sealed',
  })

interface Described {
  info: SessionInfo
  readonly forkedFrom: SessionInfo['forkedFrom']
  /** Of the metadata. */
  version: number
}

/** What a handle has, without its brand. */
type Reading = { readonly [Key in keyof SessionReader]: SessionReader[Key] }
type Rest<S> = { readonly [Key in Exclude<keyof S, keyof SessionReader>]: S[Key] }

/** The one place where a session is made: what comes from here has the brand. */
const handle = <S extends SessionReader>(store: Store, reading: Reading, rest: Rest<S>): S =>
  from(
    store,
    Object.freeze(
      Object.defineProperties(
        {},
        { ...Object.getOwnPropertyDescriptors(reading), ...Object.getOwnPropertyDescriptors(rest) },
      ),
    ) as S,
  )

const readerOf = (mirror: Mirror, described: Described): Reading => {
  let folded:
    { readonly view: View<Message>; readonly notes: View<Note>; readonly pages: readonly PageKind[] } | undefined
  return {
    id: mirror.id,
    get len() {
      return mirror.history.len
    },
    view: mirror.history.view,
    conversation: () => conversationOf(mirror),
    at: ({ size }) => (size > mirror.head.size ? undefined : momentAt(mirror, size)),
    notes: mirror.notes.view,
    pages: () => {
      const [view, notes] = [mirror.history.view(), mirror.notes.view()]
      if (folded === undefined || folded.view !== view || folded.notes !== notes)
        folded = { view, notes, pages: effective(view, notes) }
      return folded.pages
    },
    head: () => mirror.head,
    info: () => Object.freeze({ ...described.info, len: mirror.history.len, head: mirror.head }),
    metadata: () => described.info.metadata,
    openCalls: () => openIn(mirror),
  }
}

const effective = (view: View<Message>, notes: View<Note>): readonly PageKind[] => {
  const pages = [...view.pages]
  for (const [position, kind] of foldPages(notes)) if (kind !== undefined) pages[position] = kind
  return Object.freeze(pages)
}

type InvalidAppend = SessionFaultOf<'InvalidMessage' | 'InvalidPage'>

/** The step that messages make, copied and checked now: what the caller does with his afterwards changes nothing. */
export const stepOf = (
  mirror: Mirror,
  given: readonly Appendable[],
  { page, operation, expectedLen, respectLease }: AppendOptions,
  { hash }: Store,
): Either<InvalidAppend, Step> => {
  const entries: { readonly message: Message; readonly page: PageKind }[] = []
  const rows: Step['rows'][number][] = []
  const blocks: Uint8Array[] = []
  for (const [index, message] of given.entries()) {
    const decoded = decodeMessage(message)
    if (isLeft(decoded)) return left({ _tag: 'InvalidMessage', index, cause: decoded.left })
    const tag = typeof page === 'object' ? page[index] : page
    if (tag !== undefined && !isPageKind(tag)) return left({ _tag: 'InvalidPage', index, found: describe(tag) })
    const classified = classify(decoded.right)
    const kind = tag ?? classified
    const encoded = encodeRow(decoded.right, kind, kind !== classified, hash)
    if (isLeft(encoded)) return left({ _tag: 'InvalidMessage', index, cause: encoded.left })
    entries.push({ message: decoded.right, page: kind })
    rows.push(encoded.right.row)
    blocks.push(...encoded.right.blocks)
  }
  const apply = (): void => {
    for (const { message, page } of entries) mirror.history.append(message, page)
  }
  return right({ rows, blocks, operation, expectedLen, apply, ...(respectLease === true && { respectLease }) })
}

/** A step with notes behind its messages, which begin at `base`. */
const withNotes = (
  mirror: Mirror,
  step: Step,
  given: readonly Note[],
  base: number,
): Either<SessionFaultOf<'InvalidNote'>, Step> => {
  const messages = step.rows.length
  const notes: Note[] = []
  for (const one of given) {
    const decoded = noteIn(one)
    if (isLeft(decoded)) return decoded
    const reason =
      decoded.right.type === 'summary'
        ? againstNote(decoded.right, mirror)
        : againstReach(decoded.right, base + messages)
    if (reason !== undefined) return left({ _tag: 'InvalidNote', reason })
    notes.push(decoded.right)
  }
  return right({
    ...step,
    rows: [...step.rows, ...notes.map(noteRow)],
    apply: (position) => {
      step.apply(position)
      for (const [index, note] of notes.entries()) addNote(mirror, position + messages + index, note)
    },
  })
}

const noteRow = (note: Note): Row => ({ kind: 'note', body: JSON.stringify(note) })

/** A copy of a note that somebody else may write. */
const noteIn = (given: Note): Either<SessionFaultOf<'InvalidNote'>, Note> => {
  const decoded = decodeNote(given)
  if (isLeft(decoded)) return left({ _tag: 'InvalidNote', reason: noteFaultText(decoded.left) })
  return decoded.right.type === 'seal'
    ? left({ _tag: 'InvalidNote', reason: 'seal() writes the note that seals a session' })
    : decoded
}

const writeNote = async (
  writer: Writer,
  mirror: Mirror,
  given: Note,
  { operation, expectedLen, expectedHead }: NoteOptions,
): Promise<Answered<Recorded>> => {
  const decoded = noteIn(given)
  if (isLeft(decoded)) return decoded
  const note = decoded.right
  const there = await reached(writer, mirror, reachOf(note))
  if (isLeft(there)) return there
  const reason = againstNote(note, mirror)
  if (reason !== undefined) return left({ _tag: 'InvalidNote', reason })
  const rows = [noteRow(note)]
  const apply = (position: number): void => addNote(mirror, position, note)
  if (expectedHead === undefined) return writer.note({ rows, operation, expectedLen, apply }, false)
  return writer.exactly(() => right({ rows, blocks: [], apply }), { messages: 0, operation, expectedHead })
}

/** Waits for what is on its way, if that is spoken of. */
const reached = async (writer: Writer, mirror: Mirror, len: number): Promise<Answered<undefined>> =>
  len > mirror.history.len ? writer.alone(async () => right(undefined)) : right(undefined)

const sealWith = (writer: Writer, mirror: Mirror): Promise<Answered<Recorded>> => {
  const note: Note = { type: 'seal' }
  const apply = (position: number): void => addNote(mirror, position, note)
  return writer.note({ rows: [noteRow(note)], operation: undefined, expectedLen: undefined, apply }, true)
}

/** How long the record must be for a note to make sense. */
const reachOf = (note: Note): number => {
  if (note.type === 'page' || note.type === 'pin' || note.type === 'unpin') return note.position + 1
  if (note.type === 'summary') return note.to
  return note.type === 'receipt' ? note.len : note.type === 'retraction' ? note.to : 0
}

const againstReach = (note: Note, len: number): string | undefined =>
  reachOf(note) > len ? `the note needs ${reachOf(note)} messages, and the session has ${len}` : undefined

const againstNote = (note: Note, mirror: Mirror): string | undefined => {
  const beyond = againstReach(note, mirror.history.len)
  if (beyond !== undefined) return beyond
  if (note.type !== 'summary') return undefined
  const said = saidIn(mirror, note)
  if (said.length === 0) return `the messages from ${note.from} to ${note.to} were all retracted`
  if (rangeDigest(said) !== note.sourceDigest)
    return `the sourceDigest of the summary is not that of the messages from ${note.from} to ${note.to}`
  return undefined
}

/** What the conversation has between two positions of the record. */
const saidIn = (mirror: Mirror, { from, to }: Range): View<Message> => {
  const conversation = conversationOf(mirror)
  return conversation.slice(conversation.before(from), conversation.before(to))
}

const updated = async (
  store: Store,
  id: string,
  described: Described,
  recipe: (metadata: MetadataDraft) => void,
): Promise<Either<UpdateSessionFault, SessionInfo['metadata']>> => {
  const changed = called('update', () => produce(described.info.metadata, recipe as (draft: object) => void)) // JSON, made writable by Immer
  if (isLeft(changed)) return changed
  const meta = storedMeta(changed.right, described.forkedFrom, described.info.erasable)
  if (isLeft(meta)) return meta
  const answer = await store.update(id, { expected: described.version, meta: meta.right })()
  if (isLeft(answer) && answer.left._tag !== 'MetaConflict') return left(answer.left)
  const log = isLeft(answer) ? await store.info(id)() : answer
  if (isLeft(log)) return log
  const info = sessionInfo(log.right)
  if (isLeft(info)) return info
  described.info = info.right
  described.version = log.right.version
  return isLeft(answer)
    ? left({ _tag: 'MetadataConflict', id, metadata: info.right.metadata })
    : right(info.right.metadata)
}
