/** The mark that stands in place of a secret. */

/** A secret that was taken out. */
export interface Redacted {
  /** The name of the rule that found it. */
  readonly rule: string
  /** Its length in characters (UTF-16 code units), as it was written. */
  readonly length: number
}

/** The mark in place of a secret. It has no quotes and no backslash, so it may stand in a JSON string. */
export const markOf = ({ rule, length }: Redacted): string => `[redacted ${rule}, ${length} characters]`
