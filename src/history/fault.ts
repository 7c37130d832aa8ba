/** What can be wrong with saved state or a delta, as data. */
import { callbackFaultText, type CallbackThrew } from '../task/index.ts'
import { absurd, formatPath, type Path } from '../json/index.ts'

/** Why saved state or a delta was refused. The history is as it was. */
export type HistoryFault =
  /** A function that was given threw: `decode`, or the history's `classify`. Nothing was appended or restored. */
  | CallbackThrew
  /** Saved state that is not what `restoreHistory` takes. */
  | { readonly _tag: 'NotSavedHistory'; readonly path: Path; readonly expected: string }
  /** A saved message that the decoder refused; `cause` is what it said. */
  | { readonly _tag: 'UndecodableMessage'; readonly position: number; readonly cause: unknown }
  /** A message that is not plain JSON data. */
  | { readonly _tag: 'UnrecordableMessage'; readonly position: number; readonly path: Path; readonly reason: string }
  /** A sidecar with more kinds than there are messages; `position` is that of the first kind too many. */
  | { readonly _tag: 'TooManyPages'; readonly position: number; readonly messages: number; readonly pages: number }
  /** The position of the message or page kind. */
  | { readonly _tag: 'UnknownPage'; readonly position: number; readonly found: string }
  /** A delta that is not one. */
  | { readonly _tag: 'NotADelta'; readonly path: Path; readonly expected: string }
  /** A delta that starts beyond the end: the messages from `position` up to `expectedLen` are missing. */
  | { readonly _tag: 'DeltaGap'; readonly position: number; readonly expectedLen: number }
  /**
   * A delta for a place that is taken by something else; `position` is the first that differs. Where the messages are
   * equal, `appliedBy` is the id of the delta that they came with.
   */
  | { readonly _tag: 'DeltaMismatch'; readonly position: number; readonly len: number; readonly appliedBy?: string }

/**
 * A history fault as a sentence for people: what happened, where, and what to do next.
 *
 * @param decoderText the sentence for what a decoder said. Default: its message if it is an Error, else its JSON
 */
export const historyFaultText = (
  fault: HistoryFault,
  decoderText: (cause: unknown) => string | undefined = () => undefined,
): string => {
  switch (fault._tag) {
    case 'NotSavedHistory':
      return `${formatPath(fault.path, 'saved')} should be ${fault.expected}; nothing was restored`
    case 'UndecodableMessage':
      return `the saved message at position ${fault.position} could not be decoded: ${decoderText(fault.cause) ?? causeText(fault.cause)}; nothing was restored`
    case 'UnrecordableMessage':
      return `the message at position ${fault.position} can't be recorded: ${formatPath(fault.path) || 'it'} ${fault.reason}; nothing was appended`
    case 'TooManyPages':
      return `there are ${fault.pages} page kinds for ${fault.messages} messages: those from position ${fault.position} on belong to no message; restore with the messages they were saved with`
    case 'UnknownPage':
      return `${fault.found} at position ${fault.position} is not a page kind; it may come from a newer version`
    case 'NotADelta':
      return `${formatPath(fault.path, 'delta')} should be ${fault.expected}; nothing was appended`
    case 'DeltaGap':
      return `the delta starts at position ${fault.expectedLen}, but the history ends before position ${fault.position}: apply the deltas between them first`
    case 'DeltaMismatch':
      if (fault.appliedBy !== undefined)
        return `position ${fault.position} already holds an equal message of the delta ${JSON.stringify(fault.appliedBy)}, which has another id: apply a delta again under its own id, or append after the current end (${fault.len}); nothing was appended`
      return fault.position < fault.len
        ? `the history already has another message at position ${fault.position} than the delta; two writers may have continued it: fork it there, or rebase the delta on its current end (${fault.len})`
        : `the history ends at ${fault.len}, in the middle of the delta: only its first messages were appended before`
    case 'CallbackThrew':
      return callbackFaultText(fault)
    default:
      return absurd(fault)
  }
}

const causeText = (cause: unknown): string => {
  if (cause instanceof Error) return cause.message
  return typeof cause === 'string' ? cause : (JSON.stringify(cause) ?? String(cause))
}
