/** Faults of saved state and deltas, as data. */
import { callbackFaultText, type CallbackThrew, type Sentences } from '../task/index.ts'
import { formatPath, type Path } from '../json/index.ts'
import { pageKinds } from '../pages/index.ts'

/** Why saved state or a delta was refused. The history is unchanged. */
export type HistoryFault =
  /** One of your callbacks threw: `decode`, or the history's `check` or `classify`; or (`append`) reading the message threw. Nothing was appended or restored. */
  | CallbackThrew
  /** Saved state whose shape `restoreHistory` does not accept. */
  | { readonly _tag: 'NotSavedHistory'; readonly path: Path; readonly expected: string }
  /** A saved message that the decoder refused; `cause` is the decoder's fault. */
  | { readonly _tag: 'UndecodableMessage'; readonly position: number; readonly cause: unknown }
  /** A message that is not plain JSON data. */
  | { readonly _tag: 'UnrecordableMessage'; readonly position: number; readonly path: Path; readonly reason: string }
  /** More page kinds than messages were saved; `position` is that of the first extra page kind. */
  | { readonly _tag: 'TooManyPages'; readonly position: number; readonly messages: number; readonly pages: number }
  /** An unknown page kind, at the position of its message. */
  | { readonly _tag: 'UnknownPage'; readonly position: number; readonly found: string }
  /** A value that does not have the shape of a delta. */
  | { readonly _tag: 'NotADelta'; readonly path: Path; readonly expected: string }
  /** A delta that starts beyond the end: the messages from `position` up to `expectedLen` are missing. */
  | { readonly _tag: 'DeltaGap'; readonly position: number; readonly expectedLen: number }
  /**
   * A delta for positions that already have other messages; `position` is the first that differs.
   * If the messages are equal, `appliedBy` is the id of the delta that appended them; `equal` is true if no delta did.
   */
  | {
      readonly _tag: 'DeltaMismatch'
      readonly position: number
      readonly len: number
      readonly appliedBy?: string
      readonly equal?: true
    }

/** The history faults with these tags. */
export type HistoryFaultOf<Tag extends HistoryFault['_tag']> = Extract<HistoryFault, { readonly _tag: Tag }>

/** The faults of `restoreHistory`. */
export type RestoreFault = HistoryFaultOf<
  'NotSavedHistory' | 'UndecodableMessage' | 'UnrecordableMessage' | 'TooManyPages' | 'UnknownPage' | 'CallbackThrew'
>

/** The faults of `applyDelta`. */
export type DeltaFault = HistoryFaultOf<
  'NotADelta' | 'DeltaGap' | 'DeltaMismatch' | 'UnrecordableMessage' | 'CallbackThrew'
>

/** The faults of `appendText`. */
export type TextFault = HistoryFaultOf<'UnrecordableMessage' | 'UndecodableMessage' | 'CallbackThrew'>

/**
 * A sentence for each history fault: what happened, where, and what to do next.
 *
 * @param decoderText returns the sentence for a decoder's fault. Default: its message if it is an Error, else its JSON
 */
export const historySentences = (
  decoderText: (cause: unknown) => string | undefined = () => undefined,
): Sentences<HistoryFault> => ({
  NotSavedHistory: (fault) => `${formatPath(fault.path, 'saved')} should be ${fault.expected}; nothing was restored`,
  UndecodableMessage: (fault) =>
    `the saved message at position ${fault.position} could not be decoded: ${decoderText(fault.cause) ?? causeText(fault.cause)}; nothing was restored`,
  UnrecordableMessage: (fault) =>
    `the message at position ${fault.position} can't be recorded: ${formatPath(fault.path) || 'it'} ${fault.reason}; nothing was appended`,
  TooManyPages: (fault) =>
    `there are ${fault.pages} page kinds for ${fault.messages} messages, so position ${fault.position} has a page kind and no message; restore the page kinds with the messages that they were saved with`,
  UnknownPage: (fault) =>
    `${fault.found} at position ${fault.position} is not a page kind; expected one of ${pageKinds.join(', ')}; a newer version may have written it`,
  NotADelta: (fault) => `${formatPath(fault.path, 'delta')} should be ${fault.expected}; nothing was appended`,
  DeltaGap: (fault) =>
    `the delta starts at position ${fault.expectedLen}, but the history ends before position ${fault.position}: apply the deltas between them first`,
  DeltaMismatch: (fault) => {
    if (fault.appliedBy !== undefined)
      return `position ${fault.position} already holds an equal message of the delta ${JSON.stringify(fault.appliedBy)}, which has another id: apply a delta again under its own id, or append after the current end (${fault.len}); nothing was appended`
    if (fault.equal === true)
      return `position ${fault.position} already holds an equal message, but no delta that this history knows appended it: pass { resume: true } if the history was restored and the message is the delta's, or append after the current end (${fault.len}); nothing was appended`
    return fault.position < fault.len
      ? `position ${fault.position} already holds another message than the delta has; two writers may have continued the history: fork it there, or rebase the delta on its current end (${fault.len}); nothing was appended`
      : `the history ends at ${fault.len}, in the middle of the delta: an earlier writer appended only its first messages; append the rest after the current end; nothing was appended`
  },
  CallbackThrew: callbackFaultText,
})

const causeText = (cause: unknown): string => {
  if (cause instanceof Error) return cause.message
  return typeof cause === 'string' ? cause : (JSON.stringify(cause) ?? String(cause))
}
