/**
 * Mentions: which rows name which blocks. Each row has the number of blocks that it names, so a lost mention is found,
 * and added again from the row's text. The bytes of a block are destroyed only after this: a lost mention must not
 * destroy another log's text.
 */
import type { Database } from './database.ts'

/** The number of rows in one statement. */
const piece = 1000

/** The rows with fewer mentions than blocks, of a table with the columns of rows. */
const lostIn = (s: string, rows: string): string =>
  `select r.*, (select count(*) from ${s}.mention m where m.scope = r.scope and m.segment = r.segment and m.position = r.position) as mentions
   from ${rows} r where r.blocks > (select count(*) from ${s}.mention m where m.scope = r.scope and m.segment = r.segment and m.position = r.position)`

/** Adds the mentions that rows have lost. A row names a block by a JSON text that is its id. */
const addIn = (s: string, lost: string): string =>
  `insert into ${s}.mention (scope, segment, position, block)
   select r.scope, r.segment, r.position, b.id from ${lost} r
   join ${s}.block b on b.scope = r.scope and strpos(r.body, '"' || encode(b.id, 'hex') || '"') > 0 on conflict do nothing`

/** Statements for a check of all scopes, and for its repair. */
export const findLost = (s: string): string =>
  `select r.scope, r.segment || ' at ' || r.position as name from (${lostIn(s, `${s}.row`)}) r`
export const addLost = (s: string): string => addIn(s, `(${lostIn(s, `${s}.row`)})`)

export class Mentions {
  readonly #db: Database
  /** The scopes that were compared; true: no mention is missing. */
  readonly #compared = new Map<string, boolean>()

  constructor(db: Database) {
    this.#db = db
  }

  /**
   * Compare the rows of a scope that name blocks with their mentions, in pieces, and add lost mentions. Once for each
   * handle.
   *
   * @returns false if a mention is still missing, so that no block of the scope may be destroyed
   */
  async restore(scope: string): Promise<boolean> {
    const known = this.#compared.get(scope)
    if (known !== undefined) return known
    const s = this.#db.schema
    let isWhole = true
    for (let [segment, position] = [-1, -1]; ;) {
      const [found] = await this.#db.write(
        `with named as materialized (
           select scope, segment, position, blocks, body from ${s}.row
           where scope = $1::text and blocks is not null and (segment, position) > ($2::bigint, $3::bigint)
           order by segment, position limit ${piece}
         ), lost as (${lostIn(s, 'named')}), added as (${addIn(s, 'lost')} returning block)
         select (select count(*) from named) as rows, (select coalesce(sum(blocks - mentions), 0) from lost) as missing,
           (select count(*) from added) as added, t.segment, t.position
         from (select segment, position from named order by segment desc, position desc limit 1) t`,
        [scope, segment, position],
      )
      isWhole &&= Number(found?.['missing'] ?? 0) === Number(found?.['added'] ?? 0)
      if (found === undefined || Number(found['rows']) < piece) break
      ;[segment, position] = [Number(found['segment']), Number(found['position'])]
    }
    this.#compared.set(scope, isWhole)
    return isWhole
  }
}
