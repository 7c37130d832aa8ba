/**
 * Terms for logs that a version without them wrote: lists have to look at each of these. The handle that finds such logs
 * when it opens the store gives some of them their terms at each write of its own, until none is left. Reads write nothing.
 */
import type { Hash } from '../../proof/index.ts'
import { Damaged } from '../damaged.ts'
import type { Database } from './database.ts'
import { logColumns, readable, type Log } from './log.ts'
import { termsOf } from './terms.ts'

/** How many logs get terms at a time. */
const piece = 500

/** Whether there are logs without terms. */
export const lacksTerms = async (db: Database, schema: string): Promise<boolean> =>
  (await db.read(`select 1 as there from ${schema}.log where terms is null limit 1`)).length > 0

export class Filler {
  readonly #db: Database
  readonly #schema: string
  readonly #hash: Hash
  /** The scopes that are being looked at, or were. */
  readonly #begun = new Set<string>()

  constructor(db: Database, schema: string, hash: Hash) {
    this.#db = db
    this.#schema = schema
    this.#hash = hash
  }

  /** Somebody has written to a scope. */
  wrote(scope: string): void {
    if (this.#begun.has(scope)) return
    this.#begun.add(scope)
    void this.#db.track(() => this.#piece(scope))
  }

  async #piece(scope: string): Promise<void> {
    try {
      const found = await this.#db.read(
        `select ${logColumns} from ${this.#schema}.log where scope = $1::text and terms is null order by key limit ${piece}`,
        [scope],
      )
      const logs = found.map(readable).filter((log): log is Log => !(log instanceof Damaged))
      if (logs.length > 0)
        await this.#db.write(
          `update ${this.#schema}.log l set terms = g.terms::bigint[]
           from unnest($2::bigint[], $3::bigint[], $4::text[]) as g (key, changes, terms)
           where l.scope = $1::text and l.key = g.key and l.changes = g.changes and l.terms is null`,
          [
            scope,
            logs.map(({ key }) => key),
            logs.map(({ version }) => version),
            logs.map(({ meta }) => `{${termsOf(scope, meta, this.#hash).join(',')}}`),
          ],
        )
      if (logs.length === piece) this.#begun.delete(scope) // more at the next write
    } catch {
      this.#begun.delete(scope) // tried again: until then, lists look at these logs as before
    }
  }
}
