/** The fault of an invalid note. */
import { formatPath, type Path } from '../json/index.ts'
import { sentencesOf, type Sentences } from '../task/index.ts'

/** A value is not a note: `path` locates the wrong value, `expected` describes a correct one. */
export type NoteFault = { readonly _tag: 'NotANote'; readonly path: Path; readonly expected: string }

export const noteSentences: Sentences<NoteFault> = {
  NotANote: (fault) => `not a note: ${formatPath(fault.path) || 'it'} should be ${fault.expected}`,
}

/**
 * A note fault as a sentence.
 *
 * @returns where the note is wrong, and what was expected
 */
export const noteFaultText: (fault: NoteFault) => string = sentencesOf(noteSentences)
