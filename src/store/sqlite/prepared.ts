/** A statement that is prepared when it is first needed: a file that is only read may lack what writing needs. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

export type Prepared = () => StatementSync

export const prepared = (db: DatabaseSync, text: string): Prepared => {
  let statement: StatementSync | undefined
  return () => (statement ??= db.prepare(text))
}
