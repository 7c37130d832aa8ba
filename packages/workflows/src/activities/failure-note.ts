/** A failure as data. */

/** The stored failure of an action, so that every later attempt reports the first cause. It holds no content. */
export interface FailureNote {
  /** The `_tag` of the fault. */
  readonly tag: string
  /** The message of the failure. */
  readonly message: string
  /** The HTTP status of the model's provider. */
  readonly status?: number
}
