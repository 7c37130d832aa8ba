/** Blocks in the database that are stored and read on their own. */
import { blockIdOf, type BlockId } from 'indelible/internal/proof'
import { sliceRows, type Block } from 'indelible/internal/store'
import { bytesOf } from './append.ts'
import { stateOf, type Database } from './database.ts'
import { copyBytes, hexOf } from './log.ts'
import { sliceOf } from './rows.ts'
import { hash } from './sum.ts'
import { statementBytes } from './writer.ts'

/** The maximum number of blocks in one statement. */
const blockPiece = 2000

export class Blocks {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async put(scope: string, input: readonly Block[]): Promise<void> {
    const inOrder = input.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    for (const blocks of inPieces(inOrder))
      await this.#db.write(
        `insert into ${this.#db.schema}.block (scope, id, kept, bytes) select $1::text, b.id, true, b.bytes from unnest($2::bytea[], $3::bytea[]) as b (id, bytes)
         on conflict (scope, id) do update set kept = true, bytes = excluded.bytes where not block.kept or block.bytes <> excluded.bytes`,
        [scope, blocks.map(({ id }) => bytesOf(id)), blocks.map(({ bytes }) => bytes)],
      )
  }

  async get(scope: string, ids: readonly BlockId[]): Promise<ReadonlyMap<BlockId, Uint8Array>> {
    const found = new Map<BlockId, Uint8Array>()
    for await (const { id, bytes } of this.#each(scope, ids)) found.set(id, bytes)
    return found
  }

  /** The blocks that exist, read in slices: those beyond a slice are named by the statement, and read by the next. */
  async *#each(scope: string, ids: readonly BlockId[]): AsyncGenerator<Block> {
    const text = `select q.id, s.bytes from (select id from ${this.#db.schema}.block where scope = $1::text and id = any($2::bytea[])) q
      left join (${sliceOf(`select id, bytes from ${this.#db.schema}.block where scope = $1::text and id = any($2::bytea[])`, 'id', 'bytes')}) s on s.id = q.id`
    let wanted = ids.map(bytesOf)
    while (wanted.length > 0) {
      const piece = wanted.slice(0, sliceRows)
      const rest: Buffer[] = []
      for (const { id, bytes } of await this.#db.read(text, [scope, piece])) {
        if (bytes === null) rest.push(id as Buffer)
        else yield { id: idOf(id), bytes: copyBytes(bytes as Buffer) }
      }
      wanted = [...rest, ...wanted.slice(sliceRows)]
    }
  }

  /** The blocks that exist and match their ids. */
  async soundIn(scope: string, ids: readonly BlockId[]): Promise<ReadonlySet<BlockId>> {
    const sound = new Set<BlockId>()
    const text = `select id from ${this.#db.schema}.block where scope = $1::text and id = any($2::bytea[]) and sha256(bytes) = id`
    try {
      for (let from = 0; from < ids.length; from += sliceRows)
        for (const { id } of await this.#db.read(text, [scope, ids.slice(from, from + sliceRows).map(bytesOf)]))
          sound.add(idOf(id))
    } catch (error) {
      if (!/^(?:42|22|0A)/.test(stateOf(error) ?? '')) throw error
      // A cluster without this function, or with a different one.
      for await (const { id, bytes } of this.#each(scope, ids)) if (blockIdOf(bytes, hash) === id) sound.add(id)
    }
    return sound
  }
}

export const idOf = (id: unknown): BlockId => hexOf(id) as BlockId // stored as a block id

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
