/** Imports a transcript as a session. */
import { describe, isObject, optionsOf, ownFields, type JsonObject } from 'indelible/internal/json'
import { checkStore, sessionSteps, type RowMoment } from 'indelible/internal/session'
import type { Redact } from 'indelible/redact'
import {
  importRecord,
  type ImportFault,
  type ImportOptions,
  type RecordExport,
  type SessionInfo,
} from 'indelible/session'
import type { Store } from 'indelible/store'
import { need, type Task } from 'indelible/internal/task'
import { keepSums } from 'indelible/internal/usage'
import { exportOf } from './write-export.ts'
import { redactTranscript } from './redact.ts'
import { sourceTimeOf } from './source-time.ts'
import type { PlacedNote, Transcript } from '../transcript.ts'

/** How to import a transcript. */
export interface ImportTranscriptOptions extends ImportOptions {
  /** Removes secrets from messages, notes and metadata. An export's root is then not compared. Default: none. */
  readonly redact?: Redact
  /** Metadata of the session, beside that of the transcript. Default: none. */
  readonly metadata?: JsonObject
  /** The time of messages whose source has no times, in milliseconds since 1970, such as that of its file. Default: now. */
  readonly time?: number
}

/**
 * Store a transcript as a session: its messages, page kinds and notes, as `importRecord` does. Each row has the time of its
 * message in the source, so the session is listed by the conversation's own time; without one, the time before it.
 *
 * Cost    O(transcript), in pieces
 *
 * @param transcript the conversation, as returned by `readTranscript`
 * @param options the id, by default the transcript's; a progress callback; the redaction
 * @returns the description of the session; or `LogExists`, `MissingBlock`, `OtherHead`
 * @throws TypeError if `transcript` is not a transcript, or an option is unknown
 */
export const importTranscript = (
  store: Store,
  transcript: Transcript,
  options: ImportTranscriptOptions = {},
): Task<ImportFault, SessionInfo> => {
  checkStore('importTranscript', store)
  if (!isObject(transcript) || !isObject((transcript as Partial<Transcript>).origin))
    throw new TypeError(`importTranscript expects a transcript from readTranscript, found ${describe(transcript)}`)
  const checked = optionsOf('importTranscript', options, optionNames)
  const { redact, metadata, time, id = transcript.origin.id, ...rest } = checked
  if (time !== undefined && !(Number.isSafeInteger(time) && Math.abs(time) <= 8.64e15))
    throw new TypeError(`importTranscript: time: expected milliseconds since 1970, found ${describe(time)}`)
  const timed = withSourceTimes(redact === undefined ? transcript : redactTranscript(transcript, redact), time)
  const record = exportOf(timed)
  const imported = importRecord(
    store,
    metadata === undefined ? record : { ...record, metadata: { ...record.metadata, ...metadata } },
    ownFields({ ...rest, ...(id !== undefined && { id }) }),
  )
  return sessionSteps(async function* () {
    const info = yield* need(imported)
    await keepSums(store, info.id)() // what fails here is computed when it is needed
    return info
  }, 'importTranscript')
}

/** A transcript as a record whose rows have the times of its source; `time` where it has none. */
export const recordOf = (transcript: Transcript, time?: number): RecordExport =>
  exportOf(withSourceTimes(transcript, time))

const optionNames = { id: true, metadata: true, progress: true, signal: true, redact: true, time: true } as const

/** A transcript whose rows have the times of its source, ascending. Exports of Indelible have the times of their rows. */
const withSourceTimes = (transcript: Transcript, time: number | undefined): Transcript => {
  if (transcript.format === 'indelible') return transcript
  const { messages, notes, origin } = transcript
  const [started, ended] = [Date.parse(origin.started ?? ''), Date.parse(origin.ended ?? '')]
  let latest = Number.isNaN(started) ? (Number.isNaN(ended) ? time : ended) : started
  const moments = messages.map((message): RowMoment | undefined => {
    const own = sourceTimeOf(message)
    if (own !== undefined && !(latest !== undefined && latest !== time && own < latest)) latest = own
    return latest === undefined ? undefined : { at: latest }
  })
  const momentOf = ({ position }: PlacedNote): RowMoment | undefined => moments[Math.max(0, position - 1)]
  return {
    ...transcript,
    moments,
    notes: notes.map((placed) => {
      const moment = momentOf(placed)
      return moment === undefined ? placed : Object.assign({ moment }, placed)
    }),
  }
}
