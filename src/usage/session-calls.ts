/** The calls of a stored session: those of its imported file, then those of its receipts. */
import { isArray, isObject, ownField, ownFields, present, type JsonObject } from '../json/index.ts'
import type { ReceiptNote } from '../notes/internal.ts'
import type { SessionInfo } from '../session/index.ts'
import type { StoredRow } from '../store/index.ts'
import type { Evidence, UsageCall } from './call.ts'
import { hasFailed, receiptIn } from './receipt.ts'

/**
 * Calls in few characters, as an imported session's metadata has them: of each call the position of its answer (-1 without one),
 * milliseconds since the answer before, milliseconds from the request to the answer (-1 if not known), the index of its model, the
 * tokens (neither read nor written, read, written, of these for an hour, answer), what changed before it (plus 10 if that is reported,
 * 20 if it is proved), 1 if its answer may hold more tokens than were counted, plus 2 if it is a sum of several, plus 4 if its file has
 * the hashes of what was sent, and the number of the first message that changed. Zeros at the end are left out.
 */
export interface PackedCalls {
  readonly models: readonly string[]
  /** When the first answer ended, in milliseconds since 1970; absent if no call has a time. */
  readonly from?: number
  /** The numbers with spaces between them, the calls with `;`: a list of sessions reads a text much faster than lists of numbers. */
  readonly calls: string
  /** Whether they are a sub-agent's. */
  readonly isAgent?: true
}

const changes = ['', 'compaction', 'rewind', 'messages', 'effort', 'tools', 'system', 'model'] as const

/** A change that the lines of a file show. */
export type LineChange = Exclude<(typeof changes)[number], ''>

const sentences: { readonly [cause in LineChange]: string } = {
  compaction: 'the program compacted the conversation',
  rewind: 'the conversation went back to an earlier message',
  messages: 'an earlier message changed',
  effort: 'the level of thinking changed',
  tools: 'the tools changed',
  system: 'the system text changed',
  model: 'the model changed',
}

/**
 * Evidence that the lines of a file show. A compaction is `reported` in any case.
 *
 * @param message the number of the message that changed
 */
export const lineEvidence = (
  cause: LineChange,
  known: Evidence['known'] = 'likely',
  message: number = 0,
): Evidence => ({
  cause,
  because: `${message > 0 && cause === 'messages' ? `message ${message} of the request changed` : sentences[cause]}${known === 'reported' && cause !== 'compaction' ? ', as the provider reports' : ''}`,
  known: known === 'likely' && cause === 'compaction' ? 'reported' : known,
  ...(message > 0 && { message }),
})

/** What is added to the number of a change is ten times the index. */
const certainties = ['likely', 'reported', 'proved'] as const

/** Pack the calls of a file. */
export const packCalls = (calls: readonly UsageCall[]): PackedCalls => {
  const models: string[] = []
  let [from, last]: (number | undefined)[] = []
  const packed = calls.map(({ model, usage, at, began, position = -1, evidence, ...call }) => {
    if (!models.includes(model)) models.push(model)
    const { input, output, cacheRead = 0, cacheWrite = 0, cacheWriteHour = 0 } = usage ?? { input: 0, output: 0 }
    from ??= at
    const since = at === undefined ? 0 : at - (last ?? at)
    last = at ?? last
    const row: number[] = [
      ...[position, since, at === undefined || began === undefined ? -1 : at - began, models.indexOf(model)],
      ...[input - cacheRead - cacheWrite, cacheRead, cacheWrite, cacheWriteHour, output],
      ...[changeNumber(evidence), flagsOf(call), evidence?.message ?? 0],
    ]
    while (row.at(-1) === 0) row.pop()
    return row.join(' ')
  })
  return {
    models,
    ...(from !== undefined && { from }),
    calls: packed.join(';'),
    ...(calls.some(({ isAgent }) => isAgent === true) && { isAgent: true }),
  }
}

const changeNumber = (evidence: Evidence | undefined): number =>
  evidence === undefined ? 0 : changes.indexOf(evidence.cause) + 10 * certainties.indexOf(evidence.known)

const flagsOf = ({ isUndercounted, calls, seenIn }: Pick<UsageCall, 'isUndercounted' | 'calls' | 'seenIn'>): number =>
  (isUndercounted === true ? 1 : 0) + (calls === undefined ? 0 : 2) + (seenIn === 'requests' ? 4 : 0)

/** Unpack calls; empty if the value is something else. */
export const unpackCalls = (value: unknown): readonly UsageCall[] => {
  if (!isObject(value)) return []
  const { models, from, isAgent, ...rest } = ownFields<JsonObject>(value as JsonObject)
  if (!isArray(models)) return []
  const calls = rowsIn(rest['calls'])
  const hasPlaces = calls.some((row) => isArray(row) && Number(row[0]) >= 0)
  let at = typeof from === 'number' ? from : undefined
  return calls.flatMap((row: unknown): readonly UsageCall[] => {
    if (!isArray(row) || row.some((number) => !Number.isSafeInteger(number))) return []
    const [position = -1, since = 0, lasted = -1, model = 0, fresh = 0, read = 0, written = 0, hour = 0, output = 0, change = 0, flags = 0, message = 0] = row as number[] // oxfmt-ignore
    if (at !== undefined) at += since
    const cause = changes[change % 10] ?? ''
    return [
      {
        model: String(models[model] ?? ''),
        usage: {
          ...{ input: fresh + read + written, output, cacheRead: read, cacheWrite: written },
          ...(hour > 0 && { cacheWriteHour: hour }),
        },
        ...(at !== undefined && { at }),
        ...(at !== undefined && lasted >= 0 && { began: at - lasted }),
        ...(position >= 0 ? { position } : hasPlaces && { chain: 'aside' }),
        ...(cause !== '' && { evidence: lineEvidence(cause, certainties[Math.floor(change / 10)], message) }),
        ...((flags & 1) === 1 && { isUndercounted: true }),
        ...((flags & 2) === 2 && { calls: 1 }),
        ...(isAgent === true && { isAgent }),
        seenIn: (flags & 4) === 4 ? 'requests' : 'lines',
      },
    ]
  })
}

/** The numbers of each call, in either form: earlier versions stored lists. */
const rowsIn = (calls: unknown): readonly unknown[] =>
  typeof calls === 'string'
    ? calls === ''
      ? []
      : calls.split(';').map((row) => row.split(' ').map(Number))
    : isArray(calls)
      ? calls
      : []

/** The calls of an imported session's file: each of them, or sums by model and day. A fork has none: it has a part of the file. */
const filedCalls = ({ forkedFrom, metadata }: SessionInfo): readonly UsageCall[] => {
  const from = ownField(metadata, 'from')
  if (forkedFrom !== undefined || !isObject(from)) return []
  const calls = ownField(from, 'calls')
  return isObject(calls) ? unpackCalls(calls) : summedCalls(from)
}

/**
 * Sums of calls that a file gives by model and day, or in total.
 *
 * @param origin the origin of a transcript; for an imported session, `from` of its metadata
 */
export const summedCalls = (origin: unknown): readonly UsageCall[] => {
  if (!isObject(origin)) return []
  const { uses, usage, models, ended } = origin
  const listed = isArray(uses) ? uses : [usage]
  const only = isArray(models) && models.length === 1 ? models[0] : undefined
  const end = isArray(uses) || typeof ended !== 'string' ? undefined : ended.slice(0, 10)
  return listed.flatMap((each): readonly UsageCall[] => {
    if (!isObject(each) || typeof each['input'] !== 'number' || typeof each['output'] !== 'number') return []
    const { input, output, calls, long, undercounted } = each
    const [model, day] = [each['model'] ?? only, each['day'] ?? end]
    const cached = ['cacheRead', 'cacheWrite', 'cacheWriteHour'].filter((name) => typeof each[name] === 'number')
    return [
      {
        model: typeof model === 'string' ? model : '',
        usage: { input, output, ...Object.fromEntries(cached.map((name) => [name, each[name]])) },
        calls: typeof calls === 'number' ? calls : 0,
        ...(typeof day === 'string' && { day }),
        ...(long === true && { isLong: true }),
        ...(typeof undercounted === 'number' && { isUndercounted: true }),
      },
    ]
  })
}

/**
 * The calls of a session, in order.
 *
 * @param notes all rows of its notes, in order
 */
export const callsIn = (info: SessionInfo, notes: readonly StoredRow[]): readonly UsageCall[] => [
  ...filedCalls(info),
  ...receiptCalls(info, notes),
]

interface ReadReceipt {
  readonly details: JsonObject
  readonly parameters: JsonObject | undefined
}

/** The calls of its receipts, in order. */
export const receiptCalls = (
  { forkedFrom, created }: SessionInfo,
  notes: readonly StoredRow[],
): readonly UsageCall[] => {
  const receipts = new ReceiptCalls()
  const calls: UsageCall[] = []
  for (const [index, row] of notes.entries()) {
    const receipt = receiptIn(row)
    if (receipt === undefined) continue
    calls.push(
      Object.assign(
        receipts.next(index, receipt, row.at),
        forkedFrom !== undefined && row.at < created && { isShared: true },
        row.position - index - 1 >= receipt.len && { position: receipt.len },
      ),
    )
  }
  return calls
}

/** The calls of a session's receipts, one after the other. */
export class ReceiptCalls {
  readonly #read = new Map<number, ReadReceipt>()
  #last: ReadReceipt | undefined

  /**
   * The call of the next receipt.
   *
   * @param index its index among the notes
   * @param at when it was written
   */
  next(index: number, receipt: ReceiptNote, at: number | undefined): UsageCall {
    const own = ownFields<JsonObject>(receipt.details ?? {})
    // A recorder's receipt refers to an earlier one for the values that both share.
    const like = typeof own['like'] === 'number' ? this.#read.get(own['like']) : undefined
    const parameters = receipt.parameters ?? like?.parameters
    const details = ownFields<JsonObject>({ ...present({ status: like?.details['status'] }), ...own })
    const now = { details, parameters }
    this.#read.set(index, now)
    const last = this.#last
    this.#last = now
    const isRecorded = isArray(own['sent'])
    const { duration, tier } = details
    const began = typeof details['at'] === 'number' ? details['at'] : undefined
    const ended = began === undefined ? at : began + (typeof duration === 'number' ? duration : 0)
    const { model, usage } = receipt
    return {
      model: typeof tier === 'string' ? `${model} (${tier})` : model,
      ...present({ usage, began, at: ended, evidence: isRecorded ? evidenceIn(last, now) : undefined }),
      ...(isRecorded && { seenIn: 'requests' }),
      ...(usage !== undefined && details['cut'] === true && { isUndercounted: true }),
      ...(hasFailed(details) && { isFailed: true }),
    }
  }
}

/** The change that the recorder found, or a parameter that changes what the provider caches. */
const evidenceIn = (last: ReadReceipt | undefined, now: ReadReceipt): Evidence | undefined => {
  const { broke } = now.details
  if (isObject(broke)) {
    const { where, because, change } = broke
    const named = change === 'compaction' || change === 'rewind' ? change : where
    const cause = (['tools', 'system', 'compaction', 'rewind'] as const).find((item) => item === named) ?? 'messages'
    return { cause, because: typeof because === 'string' ? because : cause, known: 'proved' }
  }
  const changed = last && changedEffort(last.parameters, now.parameters)
  return changed === undefined ? undefined : { cause: 'effort', because: `\`${changed}\` changed`, known: 'proved' }
}

/** The name of a parameter that changes the cached prefix, if it differs. */
export const changedEffort = (before: JsonObject = {}, after: JsonObject = {}): string | undefined =>
  effortNames.find((name) => JSON.stringify(ownField(before, name)) !== JSON.stringify(ownField(after, name)))

/** Source  platform.claude.com/docs/en/build-with-claude/prompt-caching (2026-09-28) */
const effortNames = ['thinking', 'reasoning', 'reasoning_effort', 'output_config', 'tool_choice'] as const
