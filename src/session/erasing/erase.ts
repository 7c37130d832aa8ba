/**
 * Erases messages. A stub replaces each message, and each note that repeats it. Role, page kind, call ids, time and
 * leaf remain, so other proofs still hold. The scope's ledger records what was erased, why, by whom and when.
 */
import { describe, isArray, isLeft, jsonIn, optionsOf, present, isCount } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import { erasedMessage, messageIn } from '../../message/internal.ts'
import type { Note } from '../../notes/internal.ts'
import type { Redactor } from '../../redact/index.ts'
import { decodeRow, erasedBody } from '../../entry/internal.ts'
import { classify, type PageKind } from '../../pages/index.ts'
import type { Store } from '../../store/index.ts'
import {
  withSignal,
  inSlices,
  ownKeyOf,
  nextTurn,
  sliceRows,
  Slices,
  type ActionReason,
  type RowsToErase,
} from '../../store/internal.ts'
import { fail, need, untilFault, type SignalLike, type Steps, type Task } from '../../task/index.ts'
import { busyOf, sessionSteps, sessionTask, type EraseSessionFault } from '../fault.ts'
import { remindedPosition, stepsIn, type EndedStep } from '../record/journal.ts'
import { messagesBefore, metadataOf, noteOf, rowOf } from '../record/loaded-record.ts'
import { loadRecord, type ReadRecord } from '../record/read.ts'
import { stamp } from '../record/rows.ts'
import { receiptOf, type ErasureReceipt } from './receipt.ts'
import { hasContent, copiesIn, ownTextsOfNotes, subjectOf, type Subject } from '../record/note-copies.ts'
import type { EraseOptions, EraseTarget, SealedSession, Session } from '../session.ts'
import { checkStore, partsOf } from '../record/store-of.ts'
import { queuedIn, withdraw, type PlacedNote, type QueuedInputs } from './withdraw-inputs.ts'

/**
 * Erase messages of a session, open or sealed: their texts, the notes that repeat them (journals,
 * tool starts, summaries of them), discarded answers to an erased user message, and the blocks that
 * nothing else references. Every session that shares the messages shows them erased.
 *
 * Takes the session, or its store and id. Of an open session, earlier calls finish first, and the erasure carries its
 * lease. It keeps in memory what it has read, so open it again. Erasing the same messages again changes nothing, removes
 * copies that an open reader had kept in the file, and returns the receipt.
 *
 * Cost    that of opening the session, and a scan of all rows of the store for equal texts. SQLite
 *         also reads the file once, and rewrites it if it has copies of erased rows
 *
 * @param session the session; or the store that has it, and then its id
 * @param what positions of messages in the record; or messages, inputs, or `{ all: true }`
 * @param options the reason, and who erases. The ledger keeps both forever: don't repeat erased content. And whether
 * to respect another holder's lease
 * @returns the receipt; or `LogHeld` if the session, or one that shares the messages, is held;
 * `NoSuchLog`, `BeyondEnd`, `NoSuchInput`
 * @throws TypeError for anything but an open or sealed session, or a store and an id
 * @example
 * const receipt = await eraseMessages(session, [3, 4], { reason: 'Art. 17 request 812', by: 'ann' })
 */
export function eraseMessages(
  session: Session | SealedSession,
  what: readonly number[] | EraseTarget,
  options?: EraseOptions,
): Task<EraseSessionFault, ErasureReceipt>
export function eraseMessages(
  store: Store,
  id: string,
  what: readonly number[] | EraseTarget,
  options?: EraseOptions,
): Task<EraseSessionFault, ErasureReceipt>
export function eraseMessages(
  of: Session | SealedSession | Store,
  ...rest: readonly unknown[]
): Task<EraseSessionFault, ErasureReceipt> {
  const made = partsOf(of)
  if (made === undefined) {
    checkStore('eraseMessages', of as Store)
    const [id, what, options] = rest as StoreArguments
    return sessionSteps(prepareErase(of as Store, id, what, options), 'eraseMessages')
  }
  const { store, record, open } = made
  if (open === undefined && !record.sealed)
    throw new TypeError(`eraseMessages takes a session that is open or sealed, found one that was opened to read`)
  const [what, options] = rest as SessionArguments
  const erasing = prepareErase(open?.leases.store ?? store, record.id, what, options, record.redactor)
  return open === undefined
    ? sessionSteps(erasing, 'eraseMessages')
    : sessionTask(() => open.writer.alone(() => untilFault(erasing)), 'eraseMessages')
}

type SessionArguments = readonly [what: readonly number[] | EraseTarget, options?: EraseOptions]
type StoreArguments = readonly [id: string, ...SessionArguments]

/** Checks and copies the arguments. @returns the erasure, to be run in its turn */
const prepareErase = (
  store: Store,
  id: string,
  what: readonly number[] | EraseTarget,
  options: EraseOptions | undefined,
  redactor?: Redactor,
): (() => Steps<EraseSessionFault, ErasureReceipt>) => {
  const {
    respectLease = false,
    reason,
    by,
    signal,
    digests,
    cleanLater = false,
  } = optionsOf('eraseMessages', options, optionNames)
  const request = {
    ...requestFrom(what),
    respectLease,
    signal,
    digests: digests && new Map(digests),
    cleanLater,
  }
  const clean = (text: string | undefined): string | undefined =>
    typeof text === 'string' && redactor !== undefined ? redactor.text(text) : text
  return () => erase(store, id, request, present({ reason: clean(reason), by: clean(by) }))
}

/** Checks and copies the positions, or the object that selects rows. Throws TypeError. */
const requestFrom = (
  what: readonly number[] | EraseTarget,
): Pick<ErasureRequest, 'positions' | 'inputs' | 'all' | 'files'> => {
  if (isArray(what))
    return { positions: sortedPositions(what as readonly number[]), inputs: [], all: false, files: false }
  const { messages, inputs, all, files } = optionsOf('eraseMessages', what as EraseTarget, subjectNames)
  for (const list of [messages, inputs])
    if (list !== undefined && !isArray(list))
      throw new TypeError(`eraseMessages takes lists of messages and inputs, found ${describe(list)}`)
  const other = inputs?.find((input) => typeof input !== 'string')
  if (other !== undefined) throw new TypeError(`eraseMessages takes the ids of inputs, found ${describe(other)}`)
  if (all !== undefined && all !== true)
    throw new TypeError(`eraseMessages takes \`all: true\`, or no \`all\`, found ${describe(all)}`)
  if (files !== undefined && files !== true)
    throw new TypeError(`eraseMessages takes \`files: true\`, or no \`files\`, found ${describe(files)}`)
  if (messages === undefined && inputs === undefined && all === undefined && files === undefined)
    throw new TypeError(`eraseMessages needs positions, or one of \`messages\`, \`inputs\`, \`all\` and \`files\``)
  return {
    positions: sortedPositions(messages ?? []),
    inputs: [...new Set(inputs)],
    all: all ?? false,
    files: files ?? false,
  }
}

const sortedPositions = (positions: readonly number[]): readonly number[] =>
  [...new Set(positions)].toSorted((a, b) => a - b)

/** The rows that a caller wants erased. */
interface ErasureRequest {
  readonly positions: readonly number[]
  readonly inputs: readonly string[]
  readonly all: boolean
  readonly files: boolean
  readonly respectLease: boolean
  readonly signal: SignalLike | undefined
  readonly digests: EraseOptions['digests']
  readonly cleanLater: boolean
}

/** Attempts while the session grows, or while sessions that share its messages are removed. */
const attempts = 50

async function* erase(
  store: Store,
  id: string,
  request: ErasureRequest,
  because: ActionReason,
): Steps<EraseSessionFault, ErasureReceipt> {
  for (let attempt = 1; ; attempt++) {
    const done = await untilFault(() => eraseOnce(store, id, request, because))
    if (!isLeft(done) || !isOutdated(done.left, id) || attempt === attempts) return yield* need(done)
  }
}

async function* eraseOnce(
  store: Store,
  id: string,
  request: ErasureRequest,
  because: ActionReason,
): Steps<EraseSessionFault, ErasureReceipt> {
  const untilErased = withSignal(store, request.signal) // once rows are erased, the rest is done
  const opened = yield* need(loadRecord(untilErased, id))
  const { len } = opened.record.history
  const beyond = request.positions.find((at) => !(isCount(at) && at < len))
  if (beyond !== undefined) return yield* fail({ _tag: 'BeyondEnd', id, at: beyond, size: len })
  const { logs, rows, subject, noted, sharing, queued, ofMetadata } = yield* planOf(untilErased, opened, request)
  if (ofMetadata) {
    yield* keepMetadata(untilErased, opened, request)
    return yield* eraseOnce(store, id, request, because)
  }
  const done = await untilErased.erase({ logs, ...because, cleanLater: request.cleanLater })()
  const erased = isLeft(done) ? yield* fail(busyOf(done.left)) : done.right
  for (const inputs of queued) {
    const positions = yield* withdraw(store, inputs, opened.info.erasable === true)
    if (positions.length > 0)
      yield* erase(
        store,
        inputs.log,
        { ...request, positions, inputs: [], all: false, files: false, signal: undefined },
        because,
      )
  }
  return yield* receiptOf(store, opened, {
    positions: [...subject.positions],
    inputs: [...subject.inputs],
    rows,
    texts: [...subject.texts, ...subject.inner, ...noted],
    sharing,
    erased,
  })
}

/** Appends the whole metadata, so that earlier notes, of which it would be made, can be erased. */
async function* keepMetadata(
  store: Store,
  { record, log, info }: ReadRecord,
  { respectLease }: Pick<ErasureRequest, 'respectLease'>,
): Steps<EraseSessionFault, void> {
  const note: Note = { type: 'metadata', value: metadataOf(record) }
  const rows = yield* need(stamp([{ kind: 'note', body: JSON.stringify(note) }], store, info.erasable === true))
  const { id, head: expected } = record
  const kept = await store.append(id, { expected, rows, ownKey: ownKeyOf(log) ?? null, respectLease })()
  if (isLeft(kept)) yield* fail(busyOf(kept.left) as EraseSessionFault) // no operation and no blocks, so none of their faults
}

/** Whether another writer appended to the session, or removed one that shares its messages, since the plan was made. */
const isOutdated = (fault: EraseSessionFault, id: string): boolean =>
  fault._tag === 'Conflict' || (fault._tag === 'NoSuchLog' && fault.id !== id)

/** The rows to erase, in every log that has them. */
interface Plan {
  readonly logs: readonly RowsToErase[]
  /** The rows of the session itself; with `all`, also those erased before. */
  readonly rows: readonly number[]
  readonly subject: Subject
  /** With `all`, the texts of the notes. */
  readonly noted: readonly string[]
  readonly sharing: readonly string[]
  /** The queued inputs among the rows. */
  readonly queued: readonly QueuedInputs[]
  /** Whether the metadata is made of notes to erase, and has to be kept whole first. */
  readonly ofMetadata: boolean
}

async function* planOf(store: Store, { record }: ReadRecord, request: ErasureRequest): Steps<EraseSessionFault, Plan> {
  const { id, head, noteRows } = record
  const view = record.history.view()
  const messages: readonly Message[] = [...view]
  const notes = [...record.notes.view()]
  const placed = notes.map((note, index): PlacedNote => {
    const position = noteRows[index] as number // a row for each note
    return { note, position, len: position - index }
  })
  const inputs = inputsOf(notes, request)
  const other = request.inputs.find((input) => !inputs.has(input))
  if (other !== undefined) return yield* fail({ _tag: 'NoSuchInput', id, input: other })
  const positions = request.all
    ? messages.map((_, at) => at)
    : withReminders(messages, [...request.positions, ...[...inputs.values()].flatMap(({ at }) => at)])
  const steps = stepsIn(placed, messages)
  const answered = new Set(positions)
  const ended = request.all ? steps.ended : steps.ended.filter((step) => isErasedWith(step, messages, answered))
  const contents = new Map([...inputs].map(([input, { content }]) => [input, content]))
  const subject = await inSlices(subjectOf(view, positions, { ended, inputs: contents, files: request.files }))
  const rows: RowsToErase['rows'][number][] = []
  const slices = new Slices()
  for (const at of positions) {
    const [message, page] = [messages[at] as Message, view.pages.at(at) as PageKind]
    const stub = erasedBody(erasedMessage(message), { page, tagged: page !== classify(message) })
    rows.push({ position: rowOf(record, at), stub, ...present({ digests: request.digests?.get(at) }) })
    await slices.next()
  }
  const found = request.all
    ? placed.filter(({ note }) => hasContent(note))
    : await inSlices(copiesIn(placed, subject, steps.open))
  const latest = placed.findLast(({ note }) => note.type === 'metadata') // the metadata now stays, as in the store's description
  const isWhole = latest !== undefined && isKept(latest.note)
  const repeats = found.filter((copy) => copy !== latest || !isWhole)
  const ofMetadata = !isWhole && found.some(({ note }) => note.type === 'metadata')
  for (const copy of repeats) if (!record.erased.has(copy.position)) rows.push(stubOf(copy))
  const logs: RowsToErase[] = [{ id, expected: head, rows, respectLease: request.respectLease }]
  const queued: QueuedInputs[] = [{ log: id, head, ids: queuedIn(placed, repeats) }]
  const first = rows.reduce((least, { position }) => Math.min(least, position), Infinity)
  const sharing = (yield* need(store.sharing(id))).filter((session) => session.rows > first)
  for (const session of sharing) {
    const shared = messages.slice(0, messagesBefore(record, session.rows))
    const own = yield* rowsBehind(store, session.id, session.rows, shared, answered)
    const steps = stepsIn(own.notes, own.messages).ended.filter((step) => isErasedWith(step, own.messages, answered))
    const there = { ...subject, steps: new Set([...subject.steps, ...steps.map(({ step: { step } }) => step)]) }
    const copies = await inSlices(copiesIn(own.notes, there, new Set()))
    logs.push({ id: session.id, expected: own.head, rows: [...copies.map(stubOf), ...own.reminders] })
    const isShared = ({ position }: PlacedNote): boolean => position < session.rows
    const ids = queuedIn([...placed.filter(isShared), ...own.notes], [...repeats.filter(isShared), ...copies])
    queued.push({ log: session.id, head: own.head, ids })
  }
  const before = request.all ? record.erased.keys() : []
  return {
    logs,
    rows: [...rows.map(({ position }) => position), ...before],
    subject,
    noted: request.all ? ownTextsOfNotes(notes) : [],
    sharing: sharing.map((session) => session.id),
    queued: queued.filter(({ ids }) => ids.length > 0),
    ofMetadata,
  }
}

/** Whether a note has the whole metadata, and nothing of before. */
const isKept = (note: Note): boolean =>
  note.type === 'metadata' && note.value !== undefined && note.before === undefined

/** The positions, and those of the reminders that quote a message at one of them. */
const withReminders = (messages: readonly Message[], positions: readonly number[]): readonly number[] => {
  const wanted = new Set(positions)
  return sortedPositions([
    ...positions,
    ...messages.flatMap((message, at) => (wanted.has(remindedPosition(message) ?? -1) ? [at] : [])),
  ])
}

/** The requested inputs: the positions of their messages, and their contents. */
const inputsOf = (
  notes: readonly Note[],
  request: ErasureRequest,
): ReadonlyMap<string, { readonly at: readonly number[]; readonly content: readonly unknown[] }> => {
  const wanted = new Set(request.inputs)
  const found = new Map<string, { readonly at: number[]; readonly content: unknown[] }>()
  for (const note of notes) {
    if (note.type !== 'input' || !(request.all || wanted.has(note.id))) continue
    const entry = found.get(note.id) ?? { at: [], content: [] }
    found.set(note.id, entry)
    if (note.state === 'taken' && note.at !== undefined) entry.at.push(note.at)
    const content = note.message?.['content']
    if (isArray(content)) for (const part of content as readonly unknown[]) entry.content.push(part)
  }
  return found
}

/** Whether to erase a step: its answer is erased or, if the answer was discarded, the message it replied to. */
const isErasedWith = (
  { len, answers }: EndedStep,
  messages: readonly Partial<Message>[],
  positions: ReadonlySet<number>,
): boolean =>
  answers.length > 0 ? answers.some((at) => positions.has(at)) : positions.has(answeredPosition(messages, len))

/** The message that a step replies to: the last user message before it, else the last message; -1 if there is none. */
const answeredPosition = (messages: readonly Partial<Message>[], len: number): number => {
  for (let at = len - 1; at >= 0; at--) if (messages[at]?.role === 'user') return at
  return len - 1
}

/** The row of a note, with its stub. */
const stubOf = ({ note, position }: PlacedNote): RowsToErase['rows'][number] => ({
  position,
  stub: JSON.stringify({ type: 'erased', was: note.type } satisfies Note),
})

/** The rows of a log after those that it shares with another log. */
interface OwnRows {
  readonly head: RowsToErase['expected']
  readonly notes: readonly PlacedNote[]
  /** The reminders that quote an erased message that it shares. */
  readonly reminders: RowsToErase['rows']
  /** Its messages, the shared ones first, without the texts stored in blocks; empty where one can't be read. */
  readonly messages: readonly Partial<Message>[]
}

/**
 * @param shared the messages of the shared rows
 * @param erased the positions of the messages to erase
 */
async function* rowsBehind(
  store: Store,
  id: string,
  from: number,
  shared: readonly Message[],
  erased: ReadonlySet<number>,
): Steps<EraseSessionFault, OwnRows> {
  const { head } = yield* need(store.info(id))
  const notes: PlacedNote[] = []
  const reminders: RowsToErase['rows'][number][] = []
  const messages: Partial<Message>[] = [...shared]
  for (let start = from; start < head.size; start += sliceRows) {
    const rows = await store.read(id, { from: start, to: Math.min(start + sliceRows, head.size) })()
    await nextTurn()
    if (isLeft(rows) && rows.left._tag === 'NoKey') return { head, notes: [], reminders: [], messages } // the receipt lists the session under `unread`
    for (const { kind, position, body } of yield* need(rows)) {
      const note = kind === 'note' ? noteOf(body) : undefined
      if (note === undefined) {
        const row = decodeRow(body)
        const message = isLeft(row) ? undefined : messageIn(jsonIn(row.right.text))
        messages.push(message ?? {})
        const about = message && remindedPosition(message)
        if (isLeft(row) || message === undefined || about === undefined) continue
        if (about < shared.length && erased.has(about))
          reminders.push({ position, stub: erasedBody(erasedMessage(message), row.right) })
      } else if (!isLeft(note)) notes.push({ position, note: note.right, len: messages.length })
    }
  }
  return { head, notes, reminders, messages }
}

const optionNames = {
  reason: true,
  by: true,
  respectLease: true,
  signal: true,
  digests: true,
  cleanLater: true,
} as const

const subjectNames = { messages: true, inputs: true, all: true, files: true } as const
