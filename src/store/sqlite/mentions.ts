/**
 * Mentions: which rows name which blocks. Each row has the number of blocks that it names, so a lost mention is
 * found, and added again from the row's text.
 */
import type { DatabaseSync } from 'node:sqlite'
import { prepareAllOnce, prepareInBigints, type Prepared } from './prepared.ts'

/** A row that names blocks, with the number of those that it mentions. */
interface NamingRow {
  readonly id: bigint
  readonly blocks: bigint
  readonly mentions: bigint
}

/** The number of rows in one slice. */
export const namingPiece = 256

type Statements = Readonly<Record<'naming' | 'named' | 'blockOf' | 'addMention' | 'mentionsOf', Prepared>>

/** The next rows that name blocks, after an id. */
export const namingRowsAfter = (sql: Pick<Statements, 'naming'>, last: bigint): readonly NamingRow[] =>
  sql.naming().all(last) as unknown as readonly NamingRow[]

/** The blocks that a row names. A row names a block by a JSON text that is its id. */
export const namedBlocks = (
  sql: Pick<Statements, 'named' | 'blockOf'>,
  row: bigint,
): { readonly scope: bigint; readonly blocks: ReadonlySet<bigint> } | undefined => {
  const found = sql.named().get(row) as { readonly scope: bigint; readonly body: Uint8Array } | undefined
  if (found === undefined) return undefined // its segment is missing
  const blocks = new Set<bigint>()
  for (const [, id = ''] of Buffer.from(found.body)
    .toString()
    .matchAll(/(?<!\\)"([0-9a-f]{64})"/g)) {
    const key = sql.blockOf().get(found.scope, Buffer.from(id, 'hex'))?.['key']
    if (typeof key === 'bigint') blocks.add(key)
  }
  return { scope: found.scope, blocks }
}

/** Add the mentions that a row lost. `isWhole`: it then has one for each block that it names. */
export const restoreMention = (
  sql: Statements,
  { id, blocks }: NamingRow,
): { readonly scope: number | undefined; readonly isWhole: boolean } => {
  const named = namedBlocks(sql, id)
  if (named === undefined) return { scope: undefined, isWhole: false }
  for (const block of named.blocks) sql.addMention().run(id, block)
  const { mentions } = sql.mentionsOf().get(id) as { readonly mentions: bigint } // an aggregate always returns a row
  return { scope: Number(named.scope), isWhole: mentions >= blocks }
}

export const prepareMentions = (db: DatabaseSync): Statements => {
  const inBigints = (text: string): Prepared => prepareInBigints(db, text)
  return {
    naming: inBigints(
      `select n.id, n.blocks, (select count(*) from mention where mention.row = n.id) as mentions
       from (select id, blocks from row where blocks is not null and id > ? order by id limit ${namingPiece}) n`,
    ),
    named: inBigints(
      'select segment.scope, cast(row.body as blob) as body from row join segment on segment.key = row.id >> 32 where row.id = ?',
    ),
    blockOf: inBigints('select key from block where scope = ? and id = ?'),
    mentionsOf: inBigints('select count(*) as mentions from mention where row = ?'),
    ...prepareAllOnce(db, { addMention: 'insert or ignore into mention (row, block) values (?, ?)' }),
  }
}
