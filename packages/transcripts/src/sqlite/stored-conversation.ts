/** In a file of its own, so that the package's declarations name no type of `node:sqlite`, which a user's compiler may lack. */

/** One conversation of a database. */
export interface StoredConversation {
  /** Its id in the database. */
  readonly id: string
  /** Its title, if it has one. */
  readonly title?: string
  /** The time of its last change, in the database's own form. It changes with the conversation. */
  readonly updated: string
  /** Set if it is in tables that a later version of the program writes. */
  readonly isLater?: boolean
}
