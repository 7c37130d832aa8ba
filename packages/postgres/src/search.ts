/**
 * The search index of a schema: a table with the terms of each row as a `tsvector`, a GIN index on it, and
 * the indexed length of each segment. All are created on first use, and are derived from the other tables.
 *
 * Terms are passed to the server as they are. Its text search configurations have no influence, so
 * every store finds the same rows.
 */
import { isLeft, right } from 'indelible/internal/json'
import type { BlockId } from 'indelible/internal/proof'
import {
  type Answer,
  decodePlace,
  encryptionMark,
  type FoundRow,
  type IndexDriver,
  isEncrypted,
  isEncryptedMeta,
  type PlaceQuery,
  type PlacesFound,
  type RowCursor,
  rowCursor,
  rowCursorIn,
  type RowQuery,
  type RowsFound,
  type RowsIndexed,
  sliceRows,
  type StoredRow,
  storedRow,
  type TermsOf,
  type WantedTerm,
} from 'indelible/internal/store'
import type { Blocks } from './blocks.ts'
import type { Calls } from './calls.ts'
import type { Database, Query, Rows } from './database.ts'
import { documentsOf, isIndexGone, partTerm, quoteTerm, scopeTerm, type Documents } from './documents.ts'
import { rangesOf } from './log.ts'
import { inPieces, sliceOf, unescapeBody } from './rows.ts'

/** The number of rows that one transaction indexes. */
const pieceRows = 200

/** The number of most recent documents that are checked before the GIN index is used. */
const lastDocuments = 2000

/** The maximum number of rows that `findIn` finds. */
const mostInLogs = 10_000

/** The maximum number of terms in a query. The caller checks the others in the rows found. */
const mostTerms = 64

/** If counting unindexed rows takes longer than this many milliseconds, a count of 0 is reused. */
const quickCount = 50

/** The unindexed rows of a segment. */
interface Lag {
  readonly scope: string
  readonly segment: number
  readonly from: number
  readonly to: number
}

export class Search implements IndexDriver {
  readonly #db: Database
  readonly #documents: Documents
  readonly #calls: Calls
  readonly #blocks: Blocks
  #counted: { readonly rows: number; readonly until: number } | undefined

  constructor(db: Database, documents: Documents, calls: Calls, blocks: Blocks) {
    this.#db = db
    this.#documents = documents
    this.#calls = calls
    this.#blocks = blocks
  }

  make(): Answer<void> {
    const s = this.#db.schema
    return this.#calls.run('make the index', async () => {
      if (!(await this.#documents.look()))
        await this.#db.write(
          `${dropTables(s)}
           create table if not exists ${s}.search (
             scope text not null, segment bigint not null, position bigint not null, part smallint not null,
             terms tsvector not null, primary key (scope, segment, position, part)
           );
           create index if not exists search_terms on ${s}.search using gin (terms);
           create table if not exists ${s}.search_until (
             scope text not null, segment bigint not null, until bigint not null,
             stems boolean not null default true, -- an index without this column has none
             primary key (scope, segment)
           )`,
        )
      await this.#documents.look()
      return right(undefined)
    })
  }

  drop(): Answer<void> {
    return this.#calls.run('drop the index', async () => {
      await this.#db.write(dropTables(this.#db.schema))
      this.#documents.found(false)
      return right(undefined)
    })
  }

  find(scope: string, query: RowQuery & { readonly limit: number }): Answer<RowsFound | undefined> {
    return this.#search(query.log, scope, async (ranges) => {
      const before = rowCursorIn(query.after)
      if (isLeft(before)) return before
      const behind = query.count === false ? 0 : await this.#behind()
      return right({ ...(await this.#found(scope, query, before.right, ranges)), behind })
    })
  }

  places(scope: string, query: PlaceQuery): Answer<PlacesFound | undefined> {
    return this.#search(query.log, scope, async (ranges) => {
      const [messages, behind, places] = await Promise.all([
        this.#messages(scope),
        this.#behind(),
        this.#placesOf(scope, query, ranges),
      ])
      return right({ places, messages, behind })
    })
  }

  /** Searches the index, of one log or all. Undefined if there is none, or another process has dropped it. */
  async #search<T>(
    log: string | undefined,
    scope: string,
    work: (ranges: readonly Omit<Lag, 'scope'>[] | undefined) => Answer<T>,
  ): Answer<T | undefined> {
    const found = await this.#calls.run<T | undefined>('search the index', async () => {
      if (!(await this.#isThere())) return right(undefined)
      if (log === undefined) return work(undefined)
      return this.#calls.onLog('search the index', scope, log, (found) => work(rangesOf(found)))
    })
    if (!isLeft(found) || found.left._tag !== 'Io' || !isIndexGone(found.left.cause)) return found
    this.#documents.found(false)
    return right(undefined)
  }

  /** The places of each word, in one text: faster than a row for each. */
  async #placesOf(
    scope: string,
    { words, all = [], since, until, most, segments }: PlaceQuery,
    ranges: readonly Omit<Lag, 'scope'>[] | undefined,
  ): Promise<readonly (readonly number[])[]> {
    const s = this.#db.schema
    // Of a row in several parts, another part may have what a filter asks for. It is checked in the message.
    const filters = all.map((term) => `& (${termText(term)} | '${partTerm}')`).join(' ')
    const queries = words.map(
      (terms) => `(${terms.map(termText).join(' | ')}) & ${quoteTerm(scopeTerm(scope))} ${filters}`,
    )
    const values: unknown[] = [scope, queries, Number.isFinite(most) ? most : Number.MAX_SAFE_INTEGER]
    const times = timesOf(values, since, until)
    const row =
      times === '' ? '' : `join ${s}.row r on r.scope = d.scope and r.segment = d.segment and r.position = d.position`
    const range = ranges === undefined ? '' : `join ${tableOf(values, ranges)} on ${isInRange}`
    const ofSegments = segments === undefined ? '' : `and d.segment = any($${values.push(segments)}::bigint[])`
    const found = await this.#db.readFresh(
      `select w.number, f.places from unnest($2::text[]) with ordinality as w (query, number) cross join lateral (
         with m as materialized (
           select d.segment, d.position from ${s}.search d ${row} ${range}
           where d.scope = $1::text and d.terms @@ w.query::tsquery ${ofSegments} ${times}
         )
         select string_agg(n.segment || ' ' || n.position, ' ' order by n.segment desc, n.position desc) as places
         from (select distinct segment, position from m order by segment desc, position desc limit $3::bigint) n
       ) f`,
      values,
    )
    const places: (readonly number[])[] = words.map(() => [])
    for (const { number, places: text } of found)
      if (text !== null) places[Number(number) - 1] = (text as string).split(' ').map(Number)
    return places
  }

  async #messages(scope: string): Promise<number> {
    const [found] = await this.#db.read(
      `select coalesce(sum(entries), 0) as messages from ${this.#db.schema}.log where scope = $1::text`,
      [scope],
    )
    return Number(found?.['messages'])
  }

  logsAt(scope: string, places: readonly number[]): Answer<readonly (readonly string[])[]> {
    return this.#calls.run('search the index', async () => {
      const cursors: RowCursor[] = []
      for (let at = 0; at < places.length; at += 2)
        cursors.push({ segment: places[at] as number, position: places[at + 1] as number })
      const logs = await this.#logsWith(scope, cursors)
      return right(cursors.map((cursor) => logs.get(rowCursor(cursor)) ?? []))
    })
  }

  segmentsOf(scope: string, logs: readonly string[]): Answer<readonly number[]> {
    return this.#calls.run('search the index', async () => {
      const s = this.#db.schema
      const found = await this.#db.read(
        `select distinct p.segment from ${s}.log l cross join lateral unnest(l.segments) as p (segment)
         where l.scope = $1::text and l.id = any($2::text[]) and (p.segment = l.key
           or not exists (select 1 from ${s}.log o where o.scope = $1::text and o.key = p.segment))`,
        [scope, logs],
      )
      return right(found.map(({ segment }) => Number(segment)))
    })
  }

  findIn(scope: string, logs: readonly string[], term: string): Answer<ReadonlyMap<string, readonly StoredRow[]>> {
    return this.#calls.run('search the index', async () => {
      const s = this.#db.schema
      const found = new Map<string, StoredRow[]>(logs.map((id) => [id, []]))
      if (logs.length === 0 || !(await this.#isThere())) return right(found)
      const text = sliceOf(
        `select l.id, l.key, r.position, r.place, r.body, r.at, r.salt, r.erased from ${s}.log l
         cross join lateral unnest(l.segments, l.bases, array_append(l.bases[2:], l.size)) as p (segment, first, beyond)
         join ${s}.search d on d.scope = $1::text and d.segment = p.segment and d.position >= p.first and d.position < p.beyond and d.part = 0
         join ${s}.row r on r.scope = d.scope and r.segment = d.segment and r.position = d.position
         where l.scope = $1::text and l.id = any($2::text[]) and d.terms @@ $3::tsquery
           and (l.key, r.position) > ($4::bigint, $5::bigint) order by l.key, r.position limit ${sliceRows}`,
        'key, position',
      )
      const read: Query = (query, values = []) => this.#db.readFresh(query, values)
      let count = 0
      for await (const row of inPieces(read, text, [scope, logs, quoteTerm(term)], { key: -1, position: -1 })) {
        found.get(row['id'] as string)?.push(rowOf(row))
        if (++count === mostInLogs) break
      }
      return right(found)
    })
  }

  encrypted(scope: string): Answer<readonly string[]> {
    return this.#calls.run('list encrypted logs', async () => {
      const ids: string[] = []
      const text = `select id, key, meta from ${this.#db.schema}.log
        where scope = $1::text and position($2::text in meta) > 0 and key < $3::bigint order by key desc limit ${sliceRows}`
      const first = { key: Number.MAX_SAFE_INTEGER }
      for await (const { id, meta } of inPieces(this.#db.read, text, [scope, encryptionMark], first, sliceRows))
        if (isEncryptedMeta(meta as string)) ids.push(id as string)
      return right(ids)
    })
  }

  async add(terms: TermsOf, most: number): Answer<RowsIndexed> {
    return this.#calls.run('add to the index', async () => {
      if (!(await this.#documents.look())) return right({ rows: 0, behind: 0 })
      await this.#forgetGone()
      const s = this.#db.schema
      const found = await this.#db.read(
        `select * from (${reach(s)}) r where r."to" > r."from" order by r.segment desc limit 1000`,
      )
      let [rows, encrypted] = [0, 0]
      for (const { scope, segment, from, to } of found) {
        const lag = { scope: scope as string, segment: Number(segment), from: Number(from), to: Number(to) }
        for (let at = lag.from; at < lag.to && rows < most;) {
          const end = Math.min(lag.to, at + Math.min(pieceRows, most - rows))
          const piece = await this.#piece({ ...lag, from: at, to: end }, terms)
          if (piece.hidden !== undefined) rows += piece.to - at
          encrypted += piece.hidden ?? 0
          at = piece.to
        }
        if (rows >= most) break
      }
      this.#counted = undefined
      return right({ rows, ...(encrypted > 0 && { encrypted }), behind: await this.#count() })
    })
  }

  /**
   * Index rows, or the first of them if they are large. Returns the position after the last one, and the number of
   * encrypted ones; undefined if another process has indexed the rows. The rows are locked meanwhile, so that none can be erased.
   */
  async #piece(lag: Lag, terms: TermsOf): Promise<{ readonly to: number; readonly hidden: number | undefined }> {
    const { scope, segment, from } = lag
    const s = this.#db.schema
    return this.#db.transaction(async (query) => {
      const range = 'scope = $1::text and segment = $2::bigint and position >= $3::bigint and position < $4::bigint'
      const slice = sliceOf(`select position, body from ${s}.row where ${range}`, 'position')
      const found = await query(
        `select position, place, body from ${s}.row where ${range}
           and position <= (select max(position) from (${slice}) as slice) order by position for share`,
        [scope, segment, from, lag.to],
      )
      const last = found.at(-1)
      const to = last === undefined ? lag.to : Number(last['position']) + 1
      const rows = found.map((row) => rowOf(row))
      const blocks = new Map<BlockId, Uint8Array>()
      for (let wanted = new Set<BlockId>(); ; wanted = new Set()) {
        const documents = rows.flatMap((row) =>
          documentsOf(
            scope,
            row.position,
            terms(row, (id) => {
              if (!blocks.has(id)) wanted.add(id)
              return blocks.get(id)
            }),
          ),
        )
        const ids = [...wanted]
        const got = ids.length === 0 ? undefined : await this.#blocks.get(scope, ids)
        for (const [id, bytes] of got ?? []) blocks.set(id, bytes)
        if (got !== undefined && got.size > 0) continue // again, with the blocks; missing blocks stay missing
        await query(
          `insert into ${s}.search (scope, segment, position, part, terms)
           select $1::text, $2::bigint, d.position, d.part, d.terms::tsvector from unnest($3::bigint[], $4::smallint[], $5::text[]) as d (position, part, terms)
           on conflict do nothing`,
          [
            scope,
            segment,
            documents.map(({ position }) => position),
            documents.map(({ part }) => part),
            documents.map((document) => document.terms),
          ],
        )
        const moved = await query(
          `insert into ${s}.search_until as u (scope, segment, until)
           select $1::text, $2::bigint, $4::bigint from ${s}.segment s where s.scope = $1::text and s.key = $2::bigint
           on conflict (scope, segment) do update set until = excluded.until where u.until = $3::bigint returning until`,
          [scope, segment, from, to],
        )
        return { to, hidden: moved.length > 0 ? rows.filter(({ body }) => isEncrypted(body)).length : undefined }
      }
    })
  }

  /** Forget the rows of segments that were removed by a process without the index. */
  async #forgetGone(): Promise<void> {
    const s = this.#db.schema
    await this.#db.write(
      `with gone as (
         delete from ${s}.search_until u where not exists (select 1 from ${s}.segment g where g.scope = u.scope and g.key = u.segment)
         returning scope, segment
       ) delete from ${s}.search d using gone where d.scope = gone.scope and d.segment = gone.segment`,
    )
  }

  async #found(
    scope: string,
    { all, none = [], log, since, until, limit }: RowQuery & { readonly limit: number },
    before: RowCursor | undefined,
    ranges: readonly Omit<Lag, 'scope'>[] | undefined,
  ): Promise<Omit<RowsFound, 'behind'>> {
    const s = this.#db.schema
    const [wanted, unwanted] = [[{ term: scopeTerm(scope) }, ...all].map(termText), none.map(termText)]
    const together = `${[...new Set(wanted)].slice(0, mostTerms).join(' & ')}${unwanted
      .slice(0, mostTerms)
      .map((term) => ` & !${term}`)
      .join('')}`
    const inParts = `'${partTerm}' & (${[...new Set(all.map(termText))].slice(0, mostTerms).join(' | ')})`
    const { segment, position } = before ?? { segment: Number.MAX_SAFE_INTEGER, position: 0 }
    const values: unknown[] = [scope, together, inParts, segment, position, limit + 1]
    const times = timesOf(values, since, until)
    const behind = '(d.segment, d.position) < ($4::bigint, $5::bigint)'
    const matches = '(d.terms @@ $2::tsquery or d.terms @@ $3::tsquery)'
    const rowsOf = (documents: string, condition: string): Promise<Rows> =>
      this.#db.readFresh(
        `with d as materialized (${documents})
         select distinct d.segment, d.position, r.place, r.body, r.at, r.salt, r.erased from d
         join ${s}.row r on r.scope = $1::text and r.segment = d.segment and r.position = d.position
         where ${condition} ${times} order by d.segment desc, d.position desc limit $6::bigint`,
        values,
      )
    let found: Rows
    if (ranges !== undefined) {
      found = await rowsOf(
        `select d.segment, d.position from ${tableOf(values, ranges)}
         join ${s}.search d on d.scope = $1::text and ${isInRange} where ${matches}`,
        behind,
      )
    } else {
      // A frequent word is found among the most recent documents, and any other quickly by the GIN
      // index. The planner can only guess which case applies, and a wrong guess scans all documents.
      found = await rowsOf(
        `select d.segment, d.position, d.terms from ${s}.search d where d.scope = $1::text and ${behind}
         order by d.segment desc, d.position desc limit ${lastDocuments}`,
        matches,
      )
      if (found.length <= limit)
        found = await rowsOf(
          `select d.segment, d.position from ${s}.search d where d.scope = $1::text and ${matches}`,
          behind,
        )
    }
    const shown = found.slice(0, limit)
    const places = shown.map((row) => ({ segment: Number(row['segment']), position: Number(row['position']) }))
    const logs = log === undefined ? await this.#logsWith(scope, places) : undefined
    const rows = shown.map((row, index): FoundRow => {
      const cursor = rowCursor(places[index] as RowCursor) // one for each row
      return { logs: logs === undefined ? [log as string] : (logs.get(cursor) ?? []), row: rowOf(row), cursor }
    })
    const end = found.length > limit ? rows.at(-1)?.cursor : undefined
    return { rows, ...(end !== undefined && { next: end }) }
  }

  /** The logs that have a row: that of its segment, and the forks that share it, recursively. */
  async #logsWith(scope: string, places: readonly RowCursor[]): Promise<ReadonlyMap<string, readonly string[]>> {
    if (places.length === 0) return new Map()
    const s = this.#db.schema
    const found = await this.#db.read(
      `with recursive kin (root, position, segment) as (
         select * from unnest($2::bigint[], $3::bigint[], $2::bigint[])
         union all
         select k.root, k.position, g.key from kin k
         join ${s}.segment g on g.scope = $1::text and g.parent = k.segment and g.base > k.position
       )
       select k.root, k.position, l.id from kin k join ${s}.log l on l.scope = $1::text and l.key = k.segment
       order by l.key limit 10000`,
      [scope, places.map(({ segment }) => segment), places.map(({ position }) => position)],
    )
    const logs = new Map<string, string[]>()
    for (const { root, position, id } of found) {
      const key = rowCursor({ segment: Number(root), position: Number(position) })
      const known = logs.get(key)
      if (known === undefined) logs.set(key, [id as string])
      else if (known.length < 16) known.push(id as string)
    }
    return logs
  }

  /** Whether there is an index. A recent positive answer is reused. */
  async #isThere(): Promise<boolean> {
    return this.#documents.isThereNow() === true || this.#documents.look()
  }

  /** The number of unindexed rows. If counting is slow, a count of 0 is reused for 20 times as long. */
  async #behind(): Promise<number> {
    const now = performance.now()
    if (this.#counted !== undefined && now < this.#counted.until) return this.#counted.rows
    const rows = await this.#count()
    const spent = performance.now() - now
    this.#counted = { rows, until: spent > quickCount && rows === 0 ? now + spent * 20 : 0 }
    return rows
  }

  async #count(): Promise<number> {
    const [row] = await this.#db.read(
      `select coalesce(sum(r."to" - r."from"), 0) as rows from (${reach(this.#db.schema)}) r where r."to" > r."from"`,
    )
    return Number(row?.['rows'])
  }
}

const dropTables = (s: string): string => `drop table if exists ${s}.search_until, ${s}.search;`

/** Each segment, the end of its rows, and how far they are indexed. An orphan's rows end where its last fork starts. */
const reach = (s: string): string => `
  select g.scope, g.key as segment, coalesce(u.until, g.base) as "from",
    coalesce(l.size, (select max(f.base) from ${s}.segment f where f.scope = g.scope and f.parent = g.key), g.base) as "to"
  from ${s}.segment g left join ${s}.log l on l.scope = g.scope and l.key = g.key
  left join ${s}.search_until u on u.scope = g.scope and u.segment = g.key`

/** The condition that a row `r` is of a time, as SQL. Its values are added to those of the statement. */
const timesOf = (values: unknown[], since: number | undefined, until: number | undefined): string => {
  const from = since === undefined ? '' : `and r.at >= $${values.push(since)}::bigint`
  return until === undefined ? from : `${from} and r.at < $${values.push(until)}::bigint`
}

/** Ranges of segments as a table `p`, as SQL. Its values are added to those of the statement. */
const tableOf = (values: unknown[], ranges: readonly Omit<Lag, 'scope'>[]): string => {
  const columns = [
    ranges.map(({ segment }) => segment),
    ranges.map(({ from }) => from),
    ranges.map(({ to }) => to),
  ].map((column) => `$${values.push(column)}::bigint[]`)
  return `unnest(${columns.join()}) as p (segment, first, beyond)`
}

/** Whether a document `d` is in a range `p`. */
const isInRange = 'd.segment = p.segment and d.position >= p.first and d.position < p.beyond'

/** A row that was found: columns that were not selected, or are damaged, are left out. */
const rowOf = ({ position, place, body, at, salt, erased }: Rows[number]): StoredRow =>
  storedRow(
    Number(position),
    decodePlace(Number(place)),
    unescapeBody(body as string),
    Number(at),
    digitsOf(salt),
    digitsOf(erased),
  )

const digitsOf = (bytes: unknown): string | undefined => (bytes instanceof Buffer ? bytes.toString('hex') : undefined)

const termText = ({ term, prefix = false }: WantedTerm): string => `${quoteTerm(term)}${prefix ? ':*' : ''}`
