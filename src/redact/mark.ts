/** The mark that replaces a secret. */

/** A redacted secret. */
export interface Redacted {
  /** The name of its rule. */
  readonly rule: string
  /** Its length as written, in UTF-16 units. */
  readonly length: number
}

/** The mark for a secret. Without quotes or backslashes, so it is valid inside a JSON string. */
export const markOf = ({ rule, length }: Redacted): string => `[redacted ${rule}, ${length} characters]`
