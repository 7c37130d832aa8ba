/** Blocks in the file: stored once a scope, counted by the rows that speak of them, gone with the last of these. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { blockIdOf, type BlockId, type Hash } from '../../proof/kit.ts'
import type { Block } from '../port/driver.ts'
import { prepared, type Prepared } from './prepared.ts'
import { sumOf } from './sum.ts'

export class Blocks {
  readonly #key: StatementSync
  readonly #bytes: StatementSync
  readonly #holds: StatementSync
  readonly #insert: Prepared
  readonly #content: Prepared
  readonly #keep: Prepared
  readonly #mention: Prepared
  readonly #use: Prepared

  constructor(db: DatabaseSync) {
    this.#key = db.prepare('select key from block where scope = ? and id = ?')
    this.#bytes = db.prepare(
      'select bytes from content where block = (select key from block where scope = ? and id = ?)',
    )
    this.#holds = db.prepare('select 1 from content where block = ? and bytes = ?')
    this.#insert = prepared(db, 'insert into block (scope, id, uses, kept, sum) values (?, ?, 0, ?, ?)')
    this.#content = prepared(db, 'insert or replace into content (block, bytes) values (?, ?)')
    this.#keep = prepared(db, 'update block set kept = 1, sum = ? where key = ? and kept = 0')
    this.#mention = prepared(db, 'insert into mention (row, block, sum) values ((? << 32) + ?, ?, ?)')
    this.#use = prepared(db, 'update block set uses = uses + 1 where key = ?')
  }

  /** What is there already is compared: bytes that were damaged are replaced by these. */
  put(scope: number, blocks: readonly Block[], keep: boolean): void {
    for (const { id, bytes } of blocks) {
      const key = this.#keyOf(scope, id)
      const digest = binary(id)
      const kept = keep ? 1 : 0
      const sum = sumOf(scope, digest, kept)
      if (key === undefined) this.#content().run(this.#insert().run(scope, digest, kept, sum).lastInsertRowid, bytes)
      else {
        if (this.#holds.get(key, bytes) === undefined) this.#content().run(key, bytes)
        if (keep) this.#keep().run(sum, key)
      }
    }
  }

  mention(scope: number, segment: number, position: number, ids: readonly BlockId[]): void {
    for (const id of new Set(ids)) {
      const key = this.#keyOf(scope, id)
      if (key === undefined) throw new Error(`block ${id} is not there`) // it was looked for before
      this.#mention().run(segment, position, key, sumOf(segment, position, key))
      this.#use().run(key)
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

  /** Blocks that are there, as their ids say. */
  soundIn(scope: number, ids: readonly BlockId[], hash: Hash): ReadonlySet<BlockId> {
    return new Set([...this.get(scope, ids)].filter(([id, bytes]) => blockIdOf(bytes, hash) === id).map(([id]) => id))
  }

  #keyOf(scope: number, id: BlockId): number | undefined {
    return (this.#key.get(scope, binary(id)) as { readonly key: number } | undefined)?.key
  }
}

const binary = (id: BlockId): Uint8Array => Buffer.from(id, 'hex')
