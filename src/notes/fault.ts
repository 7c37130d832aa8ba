/** What can be wrong with a note, as data. */
import { formatPath, type Path } from '../json/index.ts'

/** Why a value is no note: where, and what is expected there. */
export type NoteFault = { readonly _tag: 'NotANote'; readonly path: Path; readonly expected: string }

/** A note fault as a sentence for people. */
export const noteFaultText = (fault: NoteFault): string =>
  `not a note: ${formatPath(fault.path) || 'it'} should be ${fault.expected}`
