/**
 * Erases rows in the database. One transaction replaces the bodies with stubs, removes blocks that
 * nothing else references, and appends to the ledger. PostgreSQL writes new versions of the rows;
 * when it removes the old ones is beyond our control.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { right } from 'indelible/internal/json'
import {
  type Answer,
  byteFinderInSlices,
  type CheckedErasure,
  claims,
  conflict,
  type EraseResult,
  finderInSlices,
  type Head,
  type RemainingBlock,
  type Residue,
  sameHead,
  sharedRows,
  sliceRows,
  type Sharing,
  type StoreFault,
  type TextPlaces,
} from 'indelible/internal/store'
import { appendStatement, noneOf, planNextAppend } from './append.ts'
import { idOf } from './blocks.ts'
import type { Database, Query, Rows } from './database.ts'
import { deleteDocuments } from './documents.ts'
import { Refused } from './fault.ts'
import type { Leases } from './leases.ts'
import { findLog, logColumns, logsOf, rangesOf, type Log } from './log.ts'
import type { Logs } from './logs.ts'
import type { Mentions } from './mentions.ts'
import { escapeBody, inPieces, sliceOf } from './rows.ts'

type ErasedExceptRows = Omit<EraseResult, 'rows'>

type ErasedPlace = CheckedErasure['logs'][number]['rows'][number] & { readonly segment: number }

/** The key of rows in pieces, before the first row. */
const firstPlace = { segment: -1, position: -1 }

/** Up to this many texts are searched for by the server. */
const serverTexts = 16

export class Eraser {
  readonly #db: Database
  readonly #logs: Logs
  readonly #leases: Leases
  readonly #mentions: Mentions

  constructor(db: Database, logs: Logs, leases: Leases, mentions: Mentions) {
    this.#db = db
    this.#logs = logs
    this.#leases = leases
    this.#mentions = mentions
  }

  async erase(scope: string, erasure: CheckedErasure | undefined): Answer<ErasedExceptRows> {
    if (erasure === undefined) return right({ head: undefined, blocks: [], residue: [deadRows] })
    const isWhole = await this.#mentions.restore(scope)
    const done = await this.#db.transaction((query) => this.#together(query, scope, erasure, isWhole))
    return right({ ...done, residue: [deadRows] })
  }

  async sharing(scope: string, log: Log): Promise<Either<StoreFault, readonly Sharing[]>> {
    const { schema } = this.#db.place
    const own = rangesOf(log)
    const rows = await this.#db.read(
      `with recursive kin (key) as (
         select $2::bigint union select s.key from ${schema}.segment s join kin on s.parent = kin.key where s.scope = $1::text
       ) select ${logColumns} from ${schema}.log where scope = $1::text and key in (select key from kin)`,
      [scope, log.stretches[0]?.segment ?? log.key],
    )
    return right(
      logsOf(rows).flatMap((other) => {
        const shared = other.key === log.key ? 0 : sharedRows(own, rangesOf(other))
        return shared === 0 ? [] : [{ id: other.id, rows: shared }]
      }),
    )
  }

  async containing(scope: string, texts: readonly string[]): Promise<Either<StoreFault, TextPlaces>> {
    const { schema } = this.#db.place
    const blocks = await this.#blocksWith(scope, texts)
    // For few texts, the server searches the rows. For many, all rows are read once, because the server's cost is per text.
    const places =
      texts.length <= serverTexts
        ? await this.#places(
            `${schema}.row p where p.scope = $1::text
             and exists (select 1 from unnest($2::text[]) as w (text) where strpos(p.body, w.text) > 0)`,
            [scope, texts.map(escapeBody)],
          )
        : await this.#rowsWith(scope, await finderInSlices(texts.map(escapeBody)))
    const mentions =
      blocks.length === 0
        ? []
        : await this.#places(`${schema}.mention p where p.scope = $1::text and p.block = any($2::bytea[])`, [
            scope,
            blocks.map(({ id }) => id),
          ])
    const rows = await this.#named(scope, [...places, ...mentions])
    const operations = await this.#operationsWith(scope, texts)
    return right({
      ...(operations.length > 0 && { operations }),
      rows: rows.map(({ id, position }) => ({ id: (id as string | null) ?? '', position: Number(position) })),
      blocks: blocks.flatMap(({ id, kept }) => (kept === true ? [idOf(id)] : [])),
    })
  }

  /** The segments and positions of a table, in their order, read in pieces. */
  async #places(from: string, values: readonly [scope: string, needles: readonly unknown[]]): Promise<Rows> {
    const text = `select distinct p.segment, p.position from ${from}
      and (p.segment, p.position) > ($3::bigint, $4::bigint) order by p.segment, p.position limit ${sliceRows}`
    const found: Rows[number][] = []
    for await (const place of inPieces(this.#db.read, text, values, firstPlace, sliceRows)) found.push(place)
    return found
  }

  /** Places, each once, with a log that has the row; null if no log has it. */
  async #named(scope: string, places: Rows): Promise<Rows> {
    const { schema } = this.#db.place
    const named: Rows[number][] = []
    const distinct = [...new Map(places.map((place) => [`${String(place['segment'])} ${String(place['position'])}`, place])).values()] // oxfmt-ignore
    for (let start = 0; start < distinct.length; start += sliceRows) {
      const piece = distinct.slice(start, start + sliceRows)
      const found = await this.#db.read(
        `select p.segment, p.position, coalesce(l.id, (
           select o.id from ${schema}.log o
           where o.scope = $1::text and p.segment = any(o.segments)
             and coalesce(o.bases[array_position(o.segments, p.segment) + 1], o.size) > p.position
           order by o.key limit 1
         )) as id
         from unnest($2::bigint[], $3::bigint[]) as p (segment, position)
         left join ${schema}.log l on l.scope = $1::text and l.key = p.segment`,
        [scope, piece.map(({ segment }) => segment), piece.map(({ position }) => position)],
      )
      for (const row of found) named.push(row)
    }
    return named.toSorted((a, b) => Number(a['segment']) - Number(b['segment']) || Number(a['position']) - Number(b['position'])) // oxfmt-ignore
  }

  /** The rows with a text, read in slices. */
  async #rowsWith(scope: string, isIn: (body: string) => boolean): Promise<Rows> {
    const text = sliceOf(
      `select segment, position, body from ${this.#db.schema}.row where scope = $1::text
       and (segment, position) > ($2::bigint, $3::bigint) order by segment, position limit ${sliceRows}`,
      'segment, position',
    )
    const found: Rows[number][] = []
    for await (const { segment, position, body } of inPieces(this.#db.read, text, [scope], firstPlace))
      if (isIn(body as string)) found.push({ segment, position })
    return found
  }

  /** The logs with a text in the id of an operation. */
  async #operationsWith(scope: string, texts: readonly string[]): Promise<readonly string[]> {
    const { schema } = this.#db.place
    const isIn = await finderInSlices(texts)
    const logs = new Set<string>()
    const text = `select o.log, o.id, l.id as name from ${schema}.operation o join ${schema}.log l on l.scope = o.scope and l.key = o.log
      where o.scope = $1::text and (o.log, o.id) > ($2::bigint, $3::text) order by o.log, o.id limit ${sliceRows}`
    for await (const { id, name } of inPieces(this.#db.read, text, [scope], { log: -1, id: '' }, sliceRows))
      if (isIn(String(id))) logs.add(String(name))
    return [...logs]
  }

  /** The blocks with a text, read in slices. */
  async #blocksWith(scope: string, texts: readonly string[]): Promise<Rows> {
    const isIn = await byteFinderInSlices(texts)
    const text = sliceOf(
      `select id, kept, bytes from ${this.#db.schema}.block
       where scope = $1::text and id > $2::bytea order by id limit ${sliceRows}`,
      'id',
      'bytes',
    )
    const found: Rows[number][] = []
    for await (const { id, kept, bytes } of inPieces(this.#db.read, text, [scope], { id: Buffer.alloc(0) }))
      if (isIn(bytes as Buffer)) found.push({ id, kept })
    return found
  }

  async #together(
    query: Query,
    scope: string,
    { logs, ledger }: CheckedErasure,
    isWhole: boolean,
  ): Promise<Omit<ErasedExceptRows, 'residue'>> {
    const { schema } = this.#db.place
    // Erasures and removals of a scope run one at a time: two that drop the last two mentions of a block must see each other.
    await query(`update ${schema}.scope set last = last where name = $1::text`, [scope])
    const places = new Map<string, ErasedPlace>() // by segment and position: logs may share a row
    for (const { id, expected, rows, ...claim } of logs) {
      const log = await this.#locked(query, scope, id, expected)
      if (log === undefined) throw new Refused({ _tag: 'NoSuchLog', id })
      if (claims(claim)) {
        await query(`select number from ${schema}.lease where scope = $1::text and log = $2::bigint for share`, [
          scope,
          log.key,
        ])
        const unleased = await this.#leases.against(query, scope, id, claim)
        if (unleased !== undefined) throw new Refused(unleased)
      }
      for (const row of rows) {
        const segment = log.stretches.findLast(({ base }) => base <= row.position)?.segment ?? log.key
        places.set(`${segment} ${row.position}`, { ...row, segment })
      }
    }
    const head = await this.#record(query, scope, ledger)
    const gone = [...places.values()]
    const values = [scope, gone.map(({ segment }) => segment), gone.map(({ position }) => position)]
    await query(
      `update ${schema}.row r set body = w.stub, salt = null, erased = w.leaf, blocks = null
       from unnest($2::bigint[], $3::bigint[], $4::text[], $5::bytea[]) as w (segment, position, stub, leaf)
       where r.scope = $1::text and r.segment = w.segment and r.position = w.position`,
      [...values, gone.map(({ stub }) => escapeBody(stub)), gone.map(({ leaf }) => Buffer.from(leaf))],
    )
    const counted = gone.filter(({ tokens }) => tokens > 0)
    if (counted.length > 0)
      await query(
        `update ${schema}.log l set tokens = greatest(l.tokens, w.tokens) - w.tokens
         from (select segment, sum(tokens)::bigint as tokens from unnest($2::bigint[], $3::bigint[]) as u (segment, tokens) group by segment) as w
         where l.scope = $1::text and l.key = w.segment`,
        [scope, counted.map(({ segment }) => segment), counted.map(({ tokens }) => tokens)],
      )
    // The rows are locked now, so a concurrent addition to the search index is complete.
    await deleteDocuments(
      query,
      schema,
      `delete from ${schema}.search d using unnest($2::bigint[], $3::bigint[]) as w (segment, position)
       where d.scope = $1::text and d.segment = w.segment and d.position = w.position`,
      values,
    )
    const unspoken = await query(
      `delete from ${schema}.mention m using unnest($2::bigint[], $3::bigint[]) as w (segment, position)
       where m.scope = $1::text and m.segment = w.segment and m.position = w.position returning m.block`,
      values,
    )
    if (unspoken.length === 0) return { head, blocks: [] }
    const ids = [scope, unspoken.map(({ block }) => block)]
    if (isWhole)
      await query(
        `delete from ${schema}.block b where b.scope = $1::text and b.id = any($2::bytea[]) and not b.kept
         and not exists (select 1 from ${schema}.mention m where m.scope = $1::text and m.block = b.id)`,
        ids,
      )
    const left = await query(
      `select b.id, b.kept, (select count(*) from ${schema}.mention m where m.scope = $1::text and m.block = b.id) as rows
       from ${schema}.block b where b.scope = $1::text and b.id = any($2::bytea[])`,
      ids,
    )
    const blocks = left.map(({ id, kept, rows }): RemainingBlock => ({
      block: idOf(id),
      rows: Number(rows),
      kept: kept === true,
    }))
    return { head, blocks }
  }

  async #record(query: Query, scope: string, { id, meta, append }: CheckedErasure['ledger']): Promise<Head> {
    const log = await this.#locked(query, scope, id, append.expected)
    if (log === undefined) {
      const made = append.expected.size === 0 && (await this.#logs.createIn(query, scope, id, meta, append))
      if (made === false || made === undefined) throw new Refused({ _tag: 'NoSuchLog', id })
      return made.head
    }
    const planned = noneOf(log)
    if (!planNextAppend(planned, append)) throw new Refused(conflict(id, append.expected, log.head, []))
    const { text, values } = appendStatement(this.#db.schema, scope, [planned], noDocuments)
    if ((await query(text, values)).length === 0) throw new Refused(conflict(id, append.expected, log.head, []))
    return planned.after.head
  }

  /** A log, locked until the end of the transaction. */
  async #locked(query: Query, scope: string, id: string, expected: Head): Promise<Log | undefined> {
    const { schema } = this.#db.place
    await query(`select 1 from ${schema}.log where scope = $1::text and id = $2::text for no key update`, [scope, id])
    const log = await findLog(query, schema, scope, id)
    if (log !== undefined && !sameHead(log.head, expected)) throw new Refused(conflict(id, expected, log.head, []))
    return log
  }
}

const deadRows: Residue = {
  where: 'dead rows',
  reason:
    'PostgreSQL keeps the old versions of rows until VACUUM has removed them and their room is used again, and in its write-ahead log and backups',
}

/** Rows of a ledger are not indexed. */
const noDocuments: Parameters<typeof appendStatement>[3] = () => undefined
