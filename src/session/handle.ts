/** The handles of a session: what each of them can do, over one mirror and one writer. */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import { createDraft, finishDraft } from 'immer'
import type { View } from '../history/index.ts'
import { decodeMessage, type Message } from '../message/index.ts'
import { decodeNote, foldPages, noteFaultText, rangeDigest, type Note } from '../notes/index.ts'
import { classify, isPageKind, type PageKind } from '../pages/index.ts'
import { encodeRow } from '../refs/index.ts'
import type { LogInfo, Store } from '../store/index.ts'
import type { SessionFault, SessionTask } from './fault.ts'
import { interruptedIn, openIn, unfinishedIn } from './cut-off.ts'
import { sessionInfo, storedMeta, type SessionInfo } from './metadata.ts'
import { addNote, type Mirror } from './mirror.ts'
import type { AppendOptions, MetadataDraft, Appendable, ReadonlySession, SealedSession, Session, SessionReader } from './session.ts'
import { createWriter, type Answered, type Recorded, type Step, type Writer } from './writer.ts'

/** The session that a mirror is of. `log` is what the store said of it, as a session. */
export const sessionOf = (store: Store, mirror: Mirror, log: LogInfo, about: SessionInfo): Session => {
  const writer = createWriter(store, mirror)
  const described: Described = { info: about, forkedFrom: about.forkedFrom, version: log.version }
  const reader = readerOf(mirror, described)
  const refresh: Session['refresh'] = () => () => writer.refresh()
  const note = (given: Note): SessionTask<Recorded> => () => writeNote(writer, mirror, given)
  const append: Session['append'] = (messages, options = {}) => () => {
    const step = stepOf(mirror, Array.isArray(messages) ? (messages as readonly Appendable[]) : [messages as Appendable], options, store)
    return isLeft(step) ? Promise.resolve(step) : writer.append(step.right)
  }

  return handle<Session>(reader, {
    state: 'open',
    append,
    rebase: (make, options = {}) => async () => {
      for (;;) {
        const view = mirror.history.view()
        const answer = await append(make(view), { ...options, expectedLen: view.length })()
        if (!isLeft(answer) || answer.left._tag !== 'SessionConflict') return answer
      }
    },
    note,
    pin: (position) => note({ type: 'pin', position }),
    unpin: (position) => note({ type: 'unpin', position }),
    retag: (position, kind) => note({ type: 'page', position, kind }),
    summarize: (summary) => async () => {
      const there = await reached(writer, mirror, summary.to)
      const sourceDigest = rangeDigest(mirror.history.view().slice(summary.from, summary.to))
      return isLeft(there) ? there : writeNote(writer, mirror, { type: 'summary', ...summary, sourceDigest })
    },
    update: (recipe) => () => writer.alone(() => updated(store, mirror.id, described, recipe)),
    interrupted: (reason) => interruptedIn(mirror, reason),
    unfinished: () => unfinishedIn(mirror),
    refresh,
    seal: () => async () => {
      const sealed = await sealWith(writer, mirror)
      return isLeft(sealed) ? sealed : right(handle<SealedSession>(reader, { state: 'sealed' }))
    },
    readonly: () => handle<ReadonlySession>(reader, { state: 'readonly', refresh }),
    close: () => async () => {
      await writer.close()
      return right(undefined)
    },
  })
}

/** The same for a log that has ended. */
export const sealedOf = (mirror: Mirror, log: LogInfo, info: SessionInfo): SealedSession =>
  handle<SealedSession>(readerOf(mirror, { info, forkedFrom: info.forkedFrom, version: log.version }), { state: 'sealed' })

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
const handle = <S extends SessionReader>(reading: Reading, rest: Rest<S>): S =>
  Object.freeze(Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(reading), ...Object.getOwnPropertyDescriptors(rest) })) as S

const readerOf = (mirror: Mirror, described: Described): Reading => {
  let folded: { readonly view: View<Message>; readonly notes: View<Note>; readonly pages: readonly PageKind[] } | undefined
  return {
    id: mirror.id,
    get len() {
      return mirror.history.len
    },
    view: mirror.history.view,
    notes: mirror.notes.view,
    pages: () => {
      const [view, notes] = [mirror.history.view(), mirror.notes.view()]
      if (folded === undefined || folded.view !== view || folded.notes !== notes) folded = { view, notes, pages: effective(view, notes) }
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

/** The step that messages make, copied and checked now: what the caller does with his afterwards changes nothing. */
const stepOf = (mirror: Mirror, given: readonly Appendable[], { page, operation, expectedLen }: AppendOptions, { hash }: Store): Either<SessionFault, Step> => {
  const entries: { readonly message: Message; readonly page: PageKind }[] = []
  const rows: Step['rows'][number][] = []
  const blocks: Uint8Array[] = []
  for (const [index, message] of given.entries()) {
    const decoded = decodeMessage(message)
    if (isLeft(decoded)) return left({ _tag: 'InvalidMessage', index, cause: decoded.left })
    const tag = typeof page === 'object' ? page[index] : page
    if (tag !== undefined && !isPageKind(tag)) throw new TypeError(`${JSON.stringify(tag)} is not a page kind`)
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
  return right({ rows, blocks, operation, expectedLen, apply })
}

const writeNote = async (writer: Writer, mirror: Mirror, given: Note): Promise<Answered<Recorded>> => {
  const decoded = decodeNote(given)
  if (isLeft(decoded)) return left({ _tag: 'InvalidNote', reason: noteFaultText(decoded.left) })
  const note = decoded.right
  if (note.type === 'seal') return left({ _tag: 'InvalidNote', reason: 'a session is sealed by seal()' })
  const there = await reached(writer, mirror, reachOf(note))
  if (isLeft(there)) return there
  const reason = againstNote(note, mirror)
  if (reason !== undefined) return left({ _tag: 'InvalidNote', reason })
  return writer.note({ rows: [{ kind: 'note', body: JSON.stringify(note) }], apply: (position) => addNote(mirror, position, note) }, false)
}

/** Waits for what is on its way, if that is spoken of. */
const reached = async (writer: Writer, mirror: Mirror, len: number): Promise<Answered<undefined>> =>
  len > mirror.history.len ? writer.alone(async () => right(undefined)) : right(undefined)

const sealWith = (writer: Writer, mirror: Mirror): Promise<Answered<Recorded>> => {
  const note: Note = { type: 'seal' }
  return writer.note({ rows: [{ kind: 'note', body: JSON.stringify(note) }], apply: (position) => addNote(mirror, position, note) }, true)
}

/** How long the record must be for a note to make sense. */
const reachOf = (note: Note): number => {
  if (note.type === 'page' || note.type === 'pin' || note.type === 'unpin') return note.position + 1
  if (note.type === 'summary') return note.to
  return note.type === 'receipt' ? note.len : 0
}

const againstNote = (note: Note, mirror: Mirror): string | undefined => {
  const { len } = mirror.history
  const reach = reachOf(note)
  if (reach > len) return `it speaks of ${reach} messages, and there are ${len}`
  if (note.type === 'summary' && rangeDigest(mirror.history.view().slice(note.from, note.to)) !== note.sourceDigest)
    return `its sourceDigest is not that of the messages from ${note.from} to ${note.to}`
  return undefined
}

const updated = async (store: Store, id: string, described: Described, recipe: (metadata: MetadataDraft) => void): Promise<Answered<SessionInfo['metadata']>> => {
  const draft = createDraft(described.info.metadata)
  recipe(draft as MetadataDraft) // JSON, made writable by Immer
  const meta = storedMeta(finishDraft(draft), described.forkedFrom)
  if (isLeft(meta)) return meta
  const answer = await store.update(id, { expected: described.version, meta: meta.right })()
  const conflict = isLeft(answer) && answer.left._tag === 'MetaConflict' ? answer.left : undefined
  if (isLeft(answer) && conflict === undefined) return answer
  const log = conflict === undefined ? answer : await store.info(id)()
  if (isLeft(log)) return log
  const info = sessionInfo(log.right)
  if (isLeft(info)) return info
  described.info = info.right
  described.version = log.right.version
  return conflict === undefined ? right(info.right.metadata) : left({ _tag: 'MetadataConflict', id, metadata: info.right.metadata })
}
