/** Rows of another program's SQLite file, as JSON. */
import type { DatabaseSync } from 'node:sqlite'
import { isObject, jsonIn, type Json, type JsonObject } from 'indelible/internal/json'
import type { ColumnsByTable, Counts } from './entries.ts'

/** The tables of a database, and the columns of each. */
export const columnsOf = (db: DatabaseSync): ColumnsByTable => {
  const tables = rowsOf(db, "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
  return new Map(
    tables.map(({ name }) => [
      String(name),
      new Set(
        rowsOf(db, 'select name from pragma_table_info(?)', String(name)).map((column) => String(column['name'])),
      ),
    ]),
  )
}

/** The numbers of rows of those of these tables that have rows. */
export const rowCounts = (db: DatabaseSync, tables: readonly string[]): Counts => {
  const counted = tables.map((table): readonly [string, number] => [
    table,
    countOf(db, `select count(*) as n from "${table.replaceAll('"', '""')}"`),
  ])
  return Object.fromEntries(counted.filter(([, rows]) => rows > 0))
}

export const tableIs = (db: DatabaseSync, name: string): boolean =>
  countOf(db, "select count(*) as n from sqlite_schema where type = 'table' and name = ?", name) > 0

export const countOf = (db: DatabaseSync, query: string, ...values: readonly string[]): number =>
  Number(db.prepare(query).get(...values)?.['n'] ?? 0)

/** Rows as JSON: bytes and integers above 2^53 as their text, nulls left out. */
export const rowsOf = (db: DatabaseSync, query: string, ...values: readonly string[]): readonly JsonObject[] => {
  const statement = db.prepare(query)
  statement.setReadBigInts(true) // otherwise Node throws for integers above 2^53
  return statement.all(...values).map((row) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([name, value]): (readonly [string, Json])[] => {
        if (value === null) return []
        if (value instanceof Uint8Array) return [[name, text.decode(value)]]
        return [[name, typeof value === 'bigint' ? numberOf(value) : value]]
      }),
    ),
  )
}

/** A number that JSON can't hold exactly is its text. */
const numberOf = (value: bigint): Json => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value))

const text = new TextDecoder()

export const jsonOf = (value: Json | undefined): Json | undefined =>
  typeof value === 'string' ? (jsonIn(value) as Json | undefined) : value

/** A JSON column; its text under `data` if it is not a JSON object. */
export const objectOf = (value: Json | undefined): JsonObject => {
  const parsed = jsonOf(value)
  return isObject(parsed) ? parsed : { data: value ?? null }
}

/** Columns, with JSON text parsed. */
export const parsedColumns = (columns: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(columns).map(([name, value]) => [
      name,
      typeof value === 'string' && /^[[{]/.test(value) ? (jsonOf(value) ?? value) : value,
    ]),
  )

/** A row with a column replaced by a value, under its own or another name. */
export const withColumn = (row: JsonObject, column: string, value: Json, name: string = column): JsonObject =>
  Object.fromEntries([...Object.entries(row).filter(([key]) => key !== column && key !== name), [name, value]])
