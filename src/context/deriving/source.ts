/** Where the messages of a derived context come from. */
import type { Message } from '../../message/index.ts'
import type { ResidencyLevel } from '../../pages/index.ts'

/** The source of one message of a derived context. Ranges go up to, not including, `to`. */
export type ContextSource =
  /** The recorded message. `mended`: a call was renamed or a result omitted, because the record is damaged there. */
  | { readonly type: 'clone'; readonly position: number; readonly mended?: true }
  /**
   * A shortened recorded message; at `pointer`, the marker of a whole range. `briefs`: the
   * positions of the range that have a line in the marker (`structured`).
   */
  | {
      readonly type: 'representation'
      readonly level: Exclude<ResidencyLevel, 'full'>
      readonly from: number
      readonly to: number
      readonly briefs?: readonly number[]
    }
  /** A summary of a range. `model`: its author; `extract` is the library's own. */
  | { readonly type: 'summary'; readonly from: number; readonly to: number; readonly model: string }
  /** A result that was never recorded: `unanswered` in the middle of the record, `interrupted` at its end. */
  | {
      readonly type: 'synthetic'
      readonly callId: string
      readonly position: number
      readonly reason: 'unanswered' | 'interrupted'
    }

export interface SourcedMessage {
  readonly message: Message
  readonly source: ContextSource
}
