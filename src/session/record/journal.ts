/**
 * The journal: the finished parts of steps that are not recorded yet, folded from the runs' notes.
 * A step ends when a note closes it, when a recorded message names it, or when it is retracted.
 */
import { ownField, ownFields } from '../../json/index.ts'
import {
  developer,
  text,
  textOf,
  toolCallsOf,
  type Message,
  type Part,
  type ToolCallPart,
  type ToolResultPart,
} from '../../message/index.ts'
import {
  answerIncomplete,
  callsOf,
  cutAnswer,
  interruptedTool,
  messageIn,
  indelibleMetaOf,
  neverStarted,
  resultMessages,
  toolResultPart,
  waitedForApproval,
  withOwnCallId,
} from '../../message/internal.ts'
import { retractedBy, type JournalBlock, type JournalNote, type Note } from '../../notes/internal.ts'
import type { History } from '../../history/index.ts'

/** A step of a run that is not recorded. Its run is working on it, has died, or waits for an approval. */
export interface OpenStep {
  /** The id of the step, which becomes the id of its delta. */
  readonly step: string
  /** The fencing number of the run's lease, if it had one. */
  readonly lease: number | undefined
  /** The complete answer, as it will be recorded; undefined while the model was still generating it. */
  readonly answer: Message | undefined
  /** The model's output so far: whole parts, and partial text. */
  readonly said: readonly (Part | string)[]
  /** Whether all results go into one message. */
  readonly together: boolean
  /** The ids of the calls that were started. */
  readonly started: ReadonlySet<string>
  /** The known results, by call id. */
  readonly results: ReadonlyMap<string, ToolResultPart>
  /** The ids of the calls waiting for an approval or a result. */
  readonly waiting: ReadonlySet<string>
  /** The ids of those whose tools others run: they wait for a result. */
  readonly external: ReadonlySet<string>
  /** Whether calls of it have waited, also if they were decided since. */
  readonly waited: boolean
}

/** The number of folded notes and messages, and the steps that are open after them. */
export interface JournalFold {
  notes: number
  messages: number
  readonly open: Map<string, Draft>
}

/** A step while its notes are being folded. */
interface Draft {
  readonly step: string
  lease: number | undefined
  answer: JournalNote['answer']
  together: boolean
  readonly blocks: Map<number, { text: string; part: JournalBlock['part'] }>
  readonly started: Set<string>
  readonly results: Map<string, ToolResultPart>
  waiting: Set<string>
  external: Set<string>
  waited: boolean
}

/** The parts of a record in memory that the fold reads. */
interface Log {
  journal: JournalFold | undefined
  readonly history: History<Message>
  readonly notes: History<Note>
  /** The log position of each note. */
  readonly noteRows: readonly number[]
}

/** The open steps, in the order in which they started. Cost: O(notes and messages since the last call). */
export const openStepsIn = (log: Log): readonly OpenStep[] => {
  const { notes, noteRows, history } = log
  if (notes.len === 0) return Object.freeze([])
  // No message before the first note names a step.
  const journal = (log.journal ??= { notes: 0, messages: noteRows[0] ?? 0, open: new Map() })
  const [noted, messages] = [notes.view(), history.view()]
  for (; journal.notes < noted.length; journal.notes++) {
    const index = journal.notes
    takeNote(journal.open, noted.at(index) as Note, (noteRows[index] as number) - index)
  }
  if (journal.open.size === 0) journal.messages = messages.length // without open steps, no message needs to be read
  for (; journal.messages < messages.length; journal.messages++) {
    const step = stepIdOf(messages.at(journal.messages) as Message)
    if (step !== undefined) journal.open.delete(step)
  }
  return Object.freeze([...journal.open.values()].map(openStep))
}

const takeNote = (open: Map<string, Draft>, note: Note, len: number): void => {
  if (retractedBy(note, len)?.to === len) open.clear() // retracting a turn also discards its open steps
  if (note.type !== 'journal') return
  const { step, closed } = ownFields(note)
  if (closed === true) return void open.delete(step)
  const draft = open.get(step) ?? newDraft(step)
  open.set(step, draft)
  addToDraft(draft, note)
}

const addToDraft = (draft: Draft, note: JournalNote): void => {
  const {
    said: blocks = [],
    answer,
    started = [],
    results = [],
    waiting,
    external = [],
    lease,
    together,
  } = ownFields(note)
  draft.lease = lease ?? draft.lease
  draft.together ||= together === true
  for (const block of blocks) {
    const { index, text: piece = '', part, after = 0 } = ownFields(block)
    const before = draft.blocks.get(index)?.text ?? ''
    const whole =
      part === undefined || after === 0
        ? part
        : { ...part, text: before.slice(0, after) + String(ownField(part, 'text') ?? '') }
    draft.blocks.set(index, { text: before + piece, part: whole })
  }
  if (answer !== undefined) draft.answer = answer
  for (const id of started) {
    draft.started.add(id)
    draft.waiting.delete(id)
  }
  for (const result of results) {
    const [part] = partsOf([result])
    if (part?.type === 'tool_result') draft.results.set(part.callId, part)
  }
  if (waiting === undefined) return
  draft.waiting = new Set(waiting)
  draft.external = new Set(external)
  draft.waited ||= waiting.length > 0
}

/** A note, and the number of messages before it. */
export interface NotePlace {
  readonly note: Note
  readonly len: number
}

/** A step that has ended: its answer was recorded, or it was discarded (an abandoned attempt, a retracted turn). */
export interface EndedStep {
  readonly step: OpenStep
  /** The number of messages before its first note. */
  readonly len: number
  /** The positions of answers that contain parts of it. Empty if it was discarded. */
  readonly answers: readonly number[]
}

/**
 * The steps of a log's notes: the open ones, and those that ended and that no message names.
 *
 * Cost    O(notes)
 *
 * @param notes the notes, in order
 * @param messages the messages of the log; of those before the first note, only the number matters
 */
export const stepsIn = (
  notes: Iterable<NotePlace>,
  messages: readonly Partial<Message>[],
): { readonly open: ReadonlySet<string>; readonly ended: readonly EndedStep[] } => {
  const open = new Map<string, Draft>()
  const all = new Map<string, { readonly draft: Draft; readonly from: number; to: number }>()
  for (const { note, len } of notes) {
    takeNote(open, note, len)
    if (note.type !== 'journal') continue
    const entry = all.get(note.step) ?? { draft: newDraft(note.step), from: len, to: len }
    all.set(note.step, entry)
    entry.to = len
    addToDraft(entry.draft, note)
  }
  const named = new Set(messages.flatMap((message) => stepIdOf(message) ?? []))
  const ended = [...all.values()]
    .filter(({ draft: { step } }) => !open.has(step) && !named.has(step))
    .map(({ draft, from, to }): EndedStep => {
      const step = openStep(draft)
      const answers = messages.slice(from, to).flatMap((message, at) => (isOf(message, step) ? [from + at] : []))
      return { step, len: from, answers }
    })
  return { open: new Set([...open.keys()].filter((step) => !named.has(step))), ended }
}

/** Whether an answer contains a text or a call of a step. An erased answer counts, because it might. */
const isOf = ({ role, content = [] }: Partial<Message>, { answer, said: result }: OpenStep): boolean =>
  role === 'assistant' &&
  (content.some(({ type }) => type === 'erased') ||
    (answer?.content ?? result).some((item) => {
      const text = typeof item === 'string' ? item : item.type === 'text' ? item.text : ''
      return content.some((part) =>
        typeof item !== 'string' && item.type === 'tool_call'
          ? part.type === 'tool_call' && part.id === item.id
          : text !== '' && part.type === 'text' && part.text.includes(text),
      )
    }))

const newDraft = (step: string): Draft => ({
  step,
  lease: undefined,
  answer: undefined,
  together: false,
  blocks: new Map(),
  started: new Set(),
  results: new Map(),
  waiting: new Set(),
  external: new Set(),
  waited: false,
})

const openStep = (draft: Draft): OpenStep => {
  const { step, lease, answer, together, blocks, started, results, waiting, external, waited } = draft
  const content = [...blocks]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([, block]): readonly (Part | string)[] =>
      block.part === undefined ? [block.text] : partsOf([block.part]),
    )
  return Object.freeze({
    step,
    lease,
    answer: answer === undefined ? undefined : answerOf({ content: content, ...answer }),
    said: Object.freeze(content),
    together,
    started: new Set(started),
    results: new Map(results),
    waiting: new Set(waiting),
    external: new Set(external),
    waited,
  })
}

/** Why no run can have written this note: its answer is not an assistant message, or a result is not a tool result. */
export const journalFault = ({ answer, results = [] }: JournalNote): string | undefined => {
  if (answer !== undefined && answerOf({ content: [], ...answer }) === undefined)
    return '`answer` of a journal note is not an assistant message'
  const wrong = results.findIndex((result) => !partsOf([result]).some(({ type }) => type === 'tool_result'))
  return wrong === -1 ? undefined : `results[${wrong}] of a journal note is not a tool_result part`
}

const answerOf = (value: unknown): Message | undefined => {
  const message = messageIn(value)
  return message?.role === 'assistant' ? message : undefined
}

/** The valid message parts among the values. Another program may have written the note. */
const partsOf = (values: readonly unknown[]): readonly Part[] =>
  values.flatMap((part) => messageIn({ role: 'assistant', content: [part] })?.content ?? [])

/** Returns the reason why a call has no result. */
type Unanswered = (call: ToolCallPart, step: OpenStep) => string

/** The default for `Unanswered`. */
export const whyUnanswered: Unanswered = ({ id }, { started, waiting, answer }) => {
  if (started.has(id)) return interruptedTool
  if (waiting.has(id)) return waitedForApproval
  return answer === undefined ? answerIncomplete : neverStarted
}

/** The ids of all calls in a record. A cut answer needs other ids. Cost: O(record). */
export const callIdsIn = (messages: Iterable<Message>): Set<string> =>
  new Set([...messages].flatMap((message) => toolCallsOf(message).map(({ id }) => id)))

/**
 * A step as settled messages: the answer or the available part of it, the known results, and error
 * results for the other calls. Empty if there is nothing to record.
 *
 * @param step the step
 * @param callIds the call ids of the record; those of a cut answer are added
 * @param why returns the error text for a call without a result
 * @returns the messages
 */
export const messagesOf = (
  step: OpenStep,
  callIds: Set<string>,
  why: Unanswered = whyUnanswered,
): readonly Message[] => {
  const message = step.answer ?? markedCutAnswer(step.said, callIds)
  if (message === undefined) return []
  const results = callsOf(message).map(
    (call) =>
      step.results.get(call.id) ?? toolResultPart(call.id, [text(why(call, step))], { name: call.name, isError: true }),
  )
  return [message, ...resultMessages(results, step.together)]
}

/** Marks the answer as cut; undefined if only the mark would remain. Without results, its call ids can still change. */
const markedCutAnswer = (content: OpenStep['said'], callIds: Set<string>): Message | undefined => {
  if (cutAnswer(content, false) === undefined) return undefined
  const own = content.map((part) =>
    typeof part !== 'string' && part.type === 'tool_call' ? withOwnCallId(part, callIds) : part,
  )
  return cutAnswer(own, true)
}

/**
 * The message after a cut answer: it states the cut, and makes the model continue. If a request
 * ends with an assistant message, the provider takes that for the start of the next answer.
 */
export const cutAnswerNotice = (reason = 'The run was interrupted here'): Message => ({
  ...developer(`[${reason}. The answer above is incomplete.]`),
  meta: { indelible: { interrupted: true } },
})

/** What a reminder quotes of a message. */
const quoted = /^.{0,200}/su

/**
 * A message for the model: an earlier message of the user has no answer yet. It quotes the beginning, because a context
 * may show neither the messages between them nor that one in full. `remindedPosition` finds it when that message is erased.
 */
export const unansweredReminder = (message: Message | undefined, at: number): Message => {
  const text = message === undefined ? '' : textOf(message)
  const [quote = ''] = quoted.exec(text) ?? []
  const which = text === '' ? '' : text === quote ? ` "${quote}",` : ` that begins "${quote}",`
  return {
    ...developer(`[The user's message${which} at position ${at}, has no answer yet. Answer it now.]`),
    meta: { indelible: { interrupted: true, asks: at } },
  }
}

/** The position of the message that a reminder is about; undefined if the message is no reminder. */
export const remindedPosition = (message: Partial<Message>): number | undefined => {
  const at = message.role === 'developer' ? ownField(indelibleMetaOf(message), 'asks') : undefined
  return typeof at === 'number' ? at : undefined
}

/** The messages of a step. The first one names the step, which marks it as recorded. */
export const nameStep = ({ step }: OpenStep, [first, ...rest]: readonly Message[]): readonly Message[] => {
  if (first === undefined) return []
  return [{ ...first, meta: { ...ownField(first, 'meta'), indelible: { ...indelibleMetaOf(first), step } } }, ...rest]
}

/** The step that a message names. */
export const stepIdOf = (message: Partial<Message>): string | undefined => {
  const step = ownField(message, 'meta') === undefined ? undefined : ownField(indelibleMetaOf(message), 'step')
  return typeof step === 'string' ? step : undefined
}
