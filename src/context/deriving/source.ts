/** Where the messages of a derived context come from. */
import type { Message } from '../../message/index.ts'
import type { ResidencyLevel } from '../../pages/index.ts'

/** The source of one message of a derived context. Ranges go up to, not including, `to`. */
export type ContextSource =
  /** The recorded message itself. `mended`: with a call renamed or a result left out, because the record is damaged there. */
  | { readonly type: 'clone'; readonly position: number; readonly mended?: true }
  /**
   * Less of one recorded message; at `pointer`, the marker that stands for all of a range. `briefs`: the positions of that
   * range that are `structured`, each a line of the marker.
   */
  | {
      readonly type: 'representation'
      readonly level: Exclude<ResidencyLevel, 'full'>
      readonly from: number
      readonly to: number
      readonly briefs?: readonly number[]
    }
  /** What a summary says of a range. `model`: who wrote it; `extract` is the library's own. */
  | { readonly type: 'summary'; readonly from: number; readonly to: number; readonly model: string }
  /** A result that was never recorded: `unanswered` in the middle of the record, `interrupted` at its very end. */
  | {
      readonly type: 'synthetic'
      readonly callId: string
      readonly position: number
      readonly reason: 'unanswered' | 'interrupted'
    }

/** A message of a context, with its source. */
export interface SourcedMessage {
  readonly message: Message
  readonly source: ContextSource
}
