/** Blocks in the database that are stored and read on their own. */
import { blockIdOf, type BlockId } from 'indelible/internal/proof'
import type { Block } from 'indelible/internal/store'
import { bytesOf } from './append.ts'
import { stateOf, type Database, type Rows } from './database.ts'
import { copyBytes } from './log.ts'
import { hash } from './sum.ts'
import { statementBytes } from './writer.ts'

/** The maximum number of blocks in one statement. */
const blockPiece = 2000

export class Blocks {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async put(scope: string, given: readonly Block[]): Promise<void> {
    const inOrder = given.toSorted((one, other) => (one.id < other.id ? -1 : 1))
    for (const blocks of inPieces(inOrder))
      await this.#db.write(
        `insert into ${this.#db.schema}.block (scope, id, kept, bytes) select $1::text, b.id, true, b.bytes from unnest($2::bytea[], $3::bytea[]) as b (id, bytes)
         on conflict (scope, id) do update set kept = true, bytes = excluded.bytes where not block.kept or block.bytes <> excluded.bytes`,
        [scope, blocks.map(({ id }) => bytesOf(id)), blocks.map(({ bytes }) => bytes)],
      )
  }

  async get(scope: string, ids: readonly BlockId[]): Promise<ReadonlyMap<BlockId, Uint8Array>> {
    const found = new Map<BlockId, Uint8Array>()
    for (let from = 0; from < ids.length; from += blockPiece) {
      const rows = await this.#db.read(
        `select id, bytes from ${this.#db.schema}.block where scope = $1::text and id = any($2::bytea[])`,
        [scope, ids.slice(from, from + blockPiece).map(bytesOf)],
      )
      for (const { id, bytes } of rows) found.set(idOf(id), copyBytes(bytes as Buffer))
    }
    return found
  }

  /** The blocks that exist and match their ids. */
  async soundIn(scope: string, ids: readonly BlockId[]): Promise<ReadonlySet<BlockId>> {
    const given = [scope, ids.map(bytesOf)]
    const there = `from ${this.#db.schema}.block where scope = $1::text and id = any($2::bytea[])`
    try {
      return idsOf(await this.#db.read(`select id ${there} and sha256(bytes) = id`, given))
    } catch (error) {
      if (!/^(?:42|22|0A)/.test(stateOf(error) ?? '')) throw error
      // A cluster without this function, or with a different one.
      const rows = await this.#db.read(`select id, bytes ${there}`, given)
      return idsOf(rows.filter(({ id, bytes }) => blockIdOf(bytes as Buffer, hash) === idOf(id)))
    }
  }
}

const idOf = (id: unknown): BlockId => (id as Buffer).toString('hex') as BlockId // stored as a block id

const idsOf = (rows: Rows): ReadonlySet<BlockId> => new Set(rows.map(({ id }) => idOf(id)))

const inPieces = (blocks: readonly Block[]): readonly (readonly Block[])[] => {
  const pieces: Block[][] = []
  let bytes = Infinity
  for (const block of blocks) {
    if (bytes + block.bytes.length > statementBytes || (pieces.at(-1)?.length ?? 0) >= blockPiece) {
      pieces.push([])
      bytes = 0
    }
    pieces.at(-1)?.push(block)
    bytes += block.bytes.length
  }
  return pieces
}
