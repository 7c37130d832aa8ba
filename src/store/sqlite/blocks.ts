/** Blocks in the file: stored once a scope, counted by the rows that speak of them, gone with the last of these. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { BlockId } from '../../message/index.ts'
import type { Block } from '../driver.ts'

export class Blocks {
  readonly #key: StatementSync
  readonly #insert: StatementSync
  readonly #content: StatementSync
  readonly #keep: StatementSync
  readonly #bytes: StatementSync
  readonly #mention: StatementSync
  readonly #use: StatementSync

  constructor(db: DatabaseSync) {
    this.#key = db.prepare('select key from block where scope = ? and id = ?')
    this.#insert = db.prepare('insert into block (scope, id, uses, kept) values (?, ?, 0, ?)')
    this.#content = db.prepare('insert into content (block, bytes) values (?, ?)')
    this.#keep = db.prepare('update block set kept = 1 where key = ?')
    this.#bytes = db.prepare('select bytes from content where block = (select key from block where scope = ? and id = ?)')
    this.#mention = db.prepare('insert into mention (row, block) values ((? << 32) + ?, ?)')
    this.#use = db.prepare('update block set uses = uses + 1 where key = ?')
  }

  put(scope: number, blocks: readonly Block[], keep: boolean): void {
    for (const { id, bytes } of blocks) {
      const key = this.#keyOf(scope, id)
      if (key === undefined) this.#content.run(this.#insert.run(scope, binary(id), keep ? 1 : 0).lastInsertRowid, bytes)
      else if (keep) this.#keep.run(key)
    }
  }

  mention(scope: number, segment: number, position: number, ids: readonly BlockId[]): void {
    for (const id of new Set(ids)) {
      const key = this.#keyOf(scope, id)
      if (key === undefined) throw new Error(`block ${id} is not there`) // it was looked for before
      this.#mention.run(segment, position, key)
      this.#use.run(key)
    }
  }

  missing(scope: number, ids: readonly BlockId[]): readonly BlockId[] {
    return ids.filter((id) => this.#keyOf(scope, id) === undefined)
  }

  get(scope: number, ids: readonly BlockId[]): ReadonlyMap<BlockId, Uint8Array> {
    const found = new Map<BlockId, Uint8Array>()
    for (const id of ids) {
      const row = this.#bytes.get(scope, binary(id)) as { readonly bytes: Uint8Array } | undefined
      if (row !== undefined) found.set(id, row.bytes)
    }
    return found
  }

  #keyOf(scope: number, id: BlockId): number | undefined {
    return (this.#key.get(scope, binary(id)) as { readonly key: number } | undefined)?.key
  }
}

const binary = (id: BlockId): Uint8Array => Buffer.from(id, 'hex')
