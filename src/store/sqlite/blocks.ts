/** Blocks in the file. Each is stored once per scope, and is removed with the last row that mentions it. */
import type { DatabaseSync } from 'node:sqlite'
import { blockIdOf, type BlockId, type Hash } from '../../proof/internal.ts'
import type { Block } from '../port/driver.ts'
import { Slices } from '../port/slices.ts'
import { packedColumns, ReadBound, unpack, type Packed } from './packed.ts'
import { prepareAllOnce } from './prepared.ts'
import { sumOf } from './sum.ts'

export class Blocks {
  readonly #sql: ReturnType<typeof statements>

  constructor(db: DatabaseSync) {
    this.#sql = statements(db)
  }

  /** Stores blocks. Existing bytes are compared, and replaced if damaged. */
  put(scope: number, blocks: readonly Block[], keep: boolean): void {
    for (const { id, bytes } of blocks) {
      const key = this.#keyOf(scope, id)
      const digest = binary(id)
      const kept = keep ? 1 : 0
      const sum = sumOf(scope, digest, kept)
      if (key === undefined)
        this.#sql.content().run(this.#sql.insert().run(scope, digest, kept, sum).lastInsertRowid, bytes)
      else {
        const held = this.get(scope, id)
        if (held === undefined || Buffer.compare(held, bytes) !== 0) this.#sql.content().run(key, bytes)
        if (keep) this.#sql.keep().run(sum, key)
      }
    }
  }

  mention(scope: number, segment: number, position: number, ids: readonly BlockId[]): void {
    for (const id of new Set(ids)) {
      const key = this.#keyOf(scope, id)
      if (key === undefined) throw new Error(`block ${id} is not there`) // checked before
      this.#sql.mention().run(segment, position, key)
    }
  }

  missing(scope: number, ids: readonly BlockId[]): readonly BlockId[] {
    return ids.filter((id) => this.#keyOf(scope, id) === undefined)
  }

  get(scope: number, id: BlockId): Uint8Array | undefined {
    const packed = this.#packed(scope, id)
    return packed && unpack(packed)
  }

  /** Whether a block exists and matches its id. */
  isSound(scope: number, id: BlockId, hash: Hash): boolean {
    const bytes = this.get(scope, id)
    return bytes !== undefined && blockIdOf(bytes, hash) === id
  }

  /** The blocks that exist. Other work gets turns. */
  async getInSlices(scope: number, ids: readonly BlockId[]): Promise<ReadonlyMap<BlockId, Uint8Array>> {
    const found = new Map<BlockId, Uint8Array>()
    const slices = new Slices()
    const bound = new ReadBound()
    for (const id of ids) {
      const packed = this.#packed(scope, id)
      if (packed === undefined) continue
      bound.take(packed)
      const bytes = unpack(packed)
      found.set(id, bytes)
      await slices.next(bytes.length)
    }
    return found
  }

  /** The blocks that exist and match their ids. Other work gets turns. */
  async soundInSlices(scope: number, ids: readonly BlockId[], hash: Hash): Promise<ReadonlySet<BlockId>> {
    const sound = new Set<BlockId>()
    const slices = new Slices()
    for (const id of ids) {
      const bytes = this.get(scope, id)
      if (bytes !== undefined && blockIdOf(bytes, hash) === id) sound.add(id)
      await slices.next(bytes?.length)
    }
    return sound
  }

  #packed(scope: number, id: BlockId): Packed | undefined {
    return this.#sql.get().get(scope, binary(id)) as Packed | undefined
  }

  #keyOf(scope: number, id: BlockId): number | undefined {
    return (this.#sql.key().get(scope, binary(id)) as { readonly key: number } | undefined)?.key
  }
}

const binary = (id: BlockId): Uint8Array => Buffer.from(id, 'hex')

const statements = (db: DatabaseSync) =>
  prepareAllOnce(db, {
    key: 'select key from block where scope = ? and id = ?',
    get: `select ${packedColumns} from content where block = (select key from block where scope = ? and id = ?)`,
    insert: 'insert into block (scope, id, kept, sum) values (?, ?, ?, ?)',
    content: 'insert or replace into content (block, bytes) values (?, ?)',
    keep: 'update block set kept = 1, sum = ? where key = ? and kept = 0',
    mention: 'insert into mention (row, block) values ((? << 32) + ?, ?)',
  })
