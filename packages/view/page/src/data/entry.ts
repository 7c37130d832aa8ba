/** A message as the page has it. */
import type { Message } from 'indelible/message'
import type { PageKind } from 'indelible/pages'
import type { ViewedRow } from '../../../src/protocol.ts'

/** A message of the record, and what is known of its row. */
export interface Entry {
  /** Its position among the messages. */
  readonly position: number
  /** Its row. */
  readonly row: number
  /** When it was said: of an imported message, what its file says; if that is not known, when it was appended. */
  readonly at: number | undefined
  /** Whether it is imported and when it was said is not known. */
  readonly isUntold: boolean
  /** When it was appended. */
  readonly appended: number | undefined
  /** The kind that it was appended with. */
  readonly page: PageKind
  readonly tagged: boolean
  readonly message: Message
  /** Why its text is not the recorded one. */
  readonly state: ViewedRow['state'] | 'damaged'
  /** What is wrong with it, where something is. */
  readonly damage?: string
}
