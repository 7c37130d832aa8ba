/** A failure as data. */

/** What is noted of an action that failed, so that every later attempt tells the first cause. It holds no content. */
export interface FailureNote {
  /** The `_tag` of the fault. */
  readonly tag: string
  /** The sentence that the failure says. */
  readonly message: string
  /** HTTP's, of the model's provider. */
  readonly status?: number
}
