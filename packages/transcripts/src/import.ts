/** Imports a transcript as a session. */
import { describe, isObject, optionsOf, ownFields } from 'indelible/json/kit'
import { checkStore } from 'indelible/session/kit'
import type { Redact } from 'indelible/redact'
import { importRecord, type ImportFault, type ImportOptions, type SessionInfo } from 'indelible/session'
import type { Store } from 'indelible/store'
import type { Task } from 'indelible/task/kit'
import { exportOf } from './export.ts'
import { redactTranscript } from './redact.ts'
import type { Transcript } from './transcript.ts'

/** How to import a transcript. */
export interface ImportTranscriptOptions extends ImportOptions {
  /** Removes secrets from messages, notes and metadata. An export's root is then not compared. Default: none. */
  readonly redact?: Redact
}

/**
 * Store a transcript as a session: its messages, page kinds and notes, as `importRecord` does.
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
  const { redact, id = transcript.origin.id, ...rest } = optionsOf('importTranscript', options, optionNames)
  const record = exportOf(redact === undefined ? transcript : redactTranscript(transcript, redact))
  return importRecord(store, record, ownFields({ ...rest, ...(id !== undefined && { id }) }))
}

const optionNames = { id: true, progress: true, redact: true } as const
