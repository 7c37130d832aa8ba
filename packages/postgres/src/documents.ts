/**
 * The documents of the search index: a schema stores them for each row, in the statement that
 * appends it, until the row is removed. `search.ts` creates the tables and queries them.
 */
import type { BlockId } from 'indelible/internal/proof'
import type { CheckedAppend, GrownRow } from 'indelible/internal/store'
import { stateOf, type Database, type Query, type Rows } from './database.ts'
import { unquoteIdentifier } from './schema.ts'

/** The maximum length of a tsvector's terms in characters. The server accepts at most a megabyte. */
const mostText = 250_000

/** How often to check again whether an index exists, in milliseconds. */
const recheckMs = 5000

/** The number of tables of the index in the schema $1. One of an earlier version has no stems, and counts as none. */
export const indexTables =
  "select count(*) as tables from information_schema.columns where table_schema = $1::text and (table_name, column_name) in (('search', 'terms'), ('search_until', 'stems'))"

export const hasIndexIn = ({ tables }: Rows[number]): boolean => Number(tables) === 2

/** The index terms of a row. */
export interface Document {
  readonly position: number
  /** The number of the part. A row with too many terms for one tsvector has several. */
  readonly part: number
  /** A tsvector, as text. */
  readonly terms: string
}

/** Makes documents for appends, if there is an index. */
export class Documents {
  readonly #db: Database
  readonly #name: string
  #known: { readonly there: boolean; readonly at: number } | undefined
  #looking: Promise<boolean> | undefined

  constructor(db: Database) {
    this.#db = db
    this.#name = unquoteIdentifier(db.schema)
  }

  /** The documents of an append, if there is an index and the append has all the needed blocks. */
  of(scope: string, { terms, blocks }: CheckedAppend, rows: readonly GrownRow[]): readonly Document[] | undefined {
    if (terms === undefined || this.isThereNow() !== true) return undefined
    const bytesById = new Map<BlockId, Uint8Array>(blocks.map(({ id, bytes }) => [id, bytes]))
    let isWhole = true
    const blockOf = (id: BlockId): Uint8Array | undefined => {
      const bytes = bytesById.get(id)
      isWhole &&= bytes !== undefined
      return bytes
    }
    const documents = rows.flatMap(({ row, position }) => documentsOf(scope, position, terms(row, blockOf)))
    return isWhole ? documents : undefined
  }

  /** Called with what was read of the index; `false` also when another process has dropped it. */
  found(there: boolean): boolean {
    this.#known = { there, at: performance.now() }
    return there
  }

  /** Whether an index exists, as far as known. An unknown or old answer starts a lookup. Undefined if unknown. */
  isThereNow(): boolean | undefined {
    if (this.#known === undefined || performance.now() - this.#known.at > recheckMs) void this.look().catch(() => {})
    return this.#known?.there
  }

  /** Looks up whether an index exists. */
  look(): Promise<boolean> {
    return (this.#looking ??= this.#db.track(async () => {
      try {
        const [found] = await this.#db.read(indexTables, [this.#name])
        return this.found(found !== undefined && hasIndexIn(found))
      } finally {
        this.#looking = undefined
      }
    }))
  }
}

/** Whether a statement failed because the index no longer exists. */
export const isIndexGone = (error: unknown): boolean =>
  stateOf(error) === '42P01' && error instanceof Error && /\bsearch(?:_until)?\b/.test(error.message)

/** Run a deletion in the tables of the index, if there is one, in the transaction that removes or erases rows. */
export const deleteDocuments = async (
  query: Query,
  schema: string,
  text: string,
  values: readonly unknown[],
): Promise<void> => {
  const [found] = await query(
    `select 1 from information_schema.tables where table_schema = $1::text and table_name = 'search_until'`,
    [unquoteIdentifier(schema)],
  )
  if (found !== undefined) await query(text, values)
}

// These terms start with a private-use character, so no text has them.
export const scopeTerm = (scope: string): string => `\ue0ff${scope}`
export const partTerm = '\ue0fe'

export const quoteTerm = (term: string): string => `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

export const documentsOf = (scope: string, position: number, terms: readonly string[]): readonly Document[] => {
  if (terms.length === 0) return []
  const parts: string[][] = []
  let length = Infinity
  for (const term of terms) {
    if (length > mostText) parts.push([])
    length = length > mostText ? term.length : length + term.length
    parts.at(-1)?.push(quoteTerm(term))
  }
  const beside = [quoteTerm(scopeTerm(scope)), ...(parts.length > 1 ? [quoteTerm(partTerm)] : [])]
  return parts.map((words, part) => ({ position, part, terms: [...beside, ...words].join(' ') }))
}
