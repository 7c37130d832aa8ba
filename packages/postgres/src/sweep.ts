/**
 * Deletes the rows of removed logs, in several transactions. A crash in between leaves a removed
 * segment with its remaining rows, and the next removal continues with it. A segment whose log
 * exists is never deleted, whatever its state.
 */
import type { Database } from './database.ts'
import { deleteDocuments } from './documents.ts'
import { retryUntil } from './fault.ts'
import type { Mentions } from './mentions.ts'

/** The number of rows that one transaction deletes. */
const piece = 1000

export class Sweeper {
  readonly #db: Database
  readonly #mentions: Mentions
  #tidied = false

  constructor(db: Database, mentions: Mentions) {
    this.#db = db
    this.#mentions = mentions
  }

  /** Finish the work of crashed removals, once, after a removal. Reads never delete. */
  async tidy(): Promise<void> {
    if (this.#tidied) return
    this.#tidied = true
    for (const { scope, key } of await this.#db.read(
      `select scope, key from ${this.#db.schema}.segment where state = 1`,
    ))
      await this.sweep(scope as string, Number(key))
  }

  /** Delete the rows of a removed log that no fork shares, and its segment if none remain. */
  async sweep(scope: string, key: number): Promise<void> {
    const isWhole = await this.#mentions.restore(scope)
    for (let next: number | undefined = key; next !== undefined;) {
      const segment: number = next
      next = await retryUntil(this.#db.place.timeout, () => this.#piece(scope, segment, isWhole))
    }
  }

  /** Runs one transaction. Returns the segment to continue with, if any. */
  #piece(scope: string, key: number, isWhole: boolean): Promise<number | undefined> {
    const { schema } = this.#db.place
    return this.#db.transaction(async (query) => {
      // One at a time in a scope: two that drop the last two mentions of a block must see each other. This
      // is an update, not just a lock, so that with snapshot isolation the second one fails and is retried.
      await query(`update ${schema}.scope set last = last where name = $1::text`, [scope])
      const [found] = await query(
        `select s.parent, s.base, s.state,
           (select max(f.base) from ${schema}.segment f where f.scope = $1::text and f.parent = $2::bigint) as shared,
           (select max(r.position) from ${schema}.row r where r.scope = $1::text and r.segment = $2::bigint) as last
         from ${schema}.segment s where s.scope = $1::text and s.key = $2::bigint
           and not exists (select 1 from ${schema}.log l where l.scope = $1::text and l.key = $2::bigint)`,
        [scope, key],
      )
      if (found === undefined || Number(found['state']) === 0) return undefined
      const forked = found['shared'] !== null
      const from = Math.max(Number(found['base']), Number(found['shared'] ?? 0))
      const last = found['last'] === null ? -1 : Number(found['last'])
      if (last >= from) {
        const start = Math.max(from, last - piece + 1) // from the end, so that the remaining rows have no gap
        await query(
          `with dropped as (
             delete from ${schema}.row where scope = $1::text and segment = $2::bigint and position >= $3::bigint
           ), unspoken as (
             delete from ${schema}.mention where scope = $1::text and segment = $2::bigint and position >= $3::bigint returning block
           )
           delete from ${schema}.block b where $4::boolean and b.scope = $1::text and not b.kept and b.id in (select block from unspoken)
             and not exists (select 1 from ${schema}.mention m where m.scope = $1::text and m.block = b.id and not (m.segment = $2::bigint and m.position >= $3::bigint))`,
          [scope, key, start, isWhole],
        )
        await deleteDocuments(
          query,
          schema,
          `delete from ${schema}.search where scope = $1::text and segment = $2::bigint and position >= $3::bigint`,
          [scope, key, start],
        )
        if (start > from) return key
      }
      if (forked) {
        await query(`update ${schema}.segment set state = 2 where scope = $1::text and key = $2::bigint`, [scope, key])
        return undefined
      }
      await query(`delete from ${schema}.segment where scope = $1::text and key = $2::bigint`, [scope, key])
      await deleteDocuments(
        query,
        schema,
        `delete from ${schema}.search_until where scope = $1::text and segment = $2::bigint`,
        [scope, key],
      )
      const { parent } = found
      if (parent === null) return undefined
      // The parent may now be free, if its log was removed too.
      await query(`update ${schema}.segment set state = 1 where scope = $1::text and key = $2::bigint and state = 2`, [
        scope,
        parent,
      ])
      return Number(parent)
    })
  }
}
