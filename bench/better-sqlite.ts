/** Node's own SQLite where a library wants better-sqlite3, which is not built for every Node. */
import type { DatabaseSync } from 'node:sqlite'
import type { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'

/** What the saver calls of better-sqlite3. */
export const asBetterSqlite = (db: DatabaseSync): ConstructorParameters<typeof SqliteSaver>[0] =>
  ({
    pragma: (text: string) => db.exec(`pragma ${text}`),
    exec: (text: string) => db.exec(text),
    prepare: (text: string) => db.prepare(text),
    transaction:
      (work: (...args: unknown[]) => unknown) =>
      (...args: unknown[]) => {
        db.exec('begin')
        const result = work(...args)
        db.exec('commit')
        return result
      },
  }) as unknown as ConstructorParameters<typeof SqliteSaver>[0]
