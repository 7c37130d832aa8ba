/** A statement that is prepared when it is first needed: a file that is only read may lack what writing needs. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

export type Prepared = () => StatementSync

export const prepareOnce = (db: DatabaseSync, text: string): Prepared => {
  let statement: StatementSync | undefined
  return () => (statement ??= db.prepare(text))
}

/** The same for several statements, by name. */
export const preparedAll = <Name extends string>(
  db: DatabaseSync,
  texts: Readonly<Record<Name, string>>,
): Readonly<Record<Name, Prepared>> =>
  Object.fromEntries(Object.entries<string>(texts).map(([name, text]) => [name, prepareOnce(db, text)])) as Readonly<
    Record<Name, Prepared>
  > // one for each name
