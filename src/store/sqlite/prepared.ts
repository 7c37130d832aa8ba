/** A statement that is prepared on first use: a read-only file may lack what its writing statements need. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

export type Prepared = () => StatementSync

export const prepareOnce = (db: DatabaseSync, text: string): Prepared => {
  let statement: StatementSync | undefined
  return () => (statement ??= db.prepare(text))
}

/** Like `prepareOnce`, with all integers as bigints: some, as those of a damaged file, are too large for a number. */
export const prepareInBigints = (db: DatabaseSync, text: string): Prepared => {
  let statement: StatementSync | undefined
  return () => {
    if (statement !== undefined) return statement
    statement = db.prepare(text)
    statement.setReadBigInts(true)
    return statement
  }
}

/** Like `prepareOnce`, for several statements by name. */
export const prepareAllOnce = <Name extends string>(
  db: DatabaseSync,
  texts: Readonly<Record<Name, string>>,
): Readonly<Record<Name, Prepared>> =>
  Object.fromEntries(Object.entries<string>(texts).map(([name, text]) => [name, prepareOnce(db, text)])) as Readonly<
    Record<Name, Prepared>
  > // one for each name
