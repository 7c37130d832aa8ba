/** Checks blocks, their bytes, and which rows mention them. */
import { equalBytes } from '../../proof/internal.ts'
import { findingsOf, type Facts, type Finding, type Raw } from './check-facts.ts'
import {
  namedBlocks,
  namingPiece,
  namingRowsAfter,
  prepareMentions,
  restoreMention,
  type NamingRow,
} from './mentions.ts'
import { isPacked, packedColumns, sizeAgain, unpack } from './packed.ts'
import { fits } from './sum.ts'

export function* checkBlocks(facts: Facts): Generator<Finding | undefined> {
  const read = facts.db.prepare(`select key, scope, id, kept, block.sum, ${packedColumns},
      (select count(*) from mention where mention.block = block.key) as mentions
    from block left join content on content.block = block.key where block.key = ?`)
  read.setReadBigInts(true)
  for (const { key: next } of facts.each('select key from block', { key: 'key' })) {
    yield undefined
    const raw = read.get(next as bigint) as Raw | undefined
    if (raw === undefined) continue // removed meanwhile
    const { key, scope, id, kept, sum, bytes, mentions } = raw
    const size = raw['size'] as number | null
    const where = id instanceof Uint8Array ? Buffer.from(id).toString('hex') : String(key)
    const whole = bytes instanceof Uint8Array ? unpack({ bytes, size }) : undefined
    const digest = whole && facts.hash(whole)
    const isBlock = (own: Uint8Array): boolean => id instanceof Uint8Array && equalBytes(id, facts.hash(own))
    const setSize = (to: number | null) => (): string => {
      facts.db.prepare('update content set size = ? where block = ?').run(to, key as bigint)
      return 'its size was made again from its bytes'
    }
    const sumWith = (own: unknown, stays: unknown): boolean =>
      own instanceof Uint8Array && typeof stays === 'bigint' && fits(sum, scope as bigint, own, stays)
    if (!facts.scopes.has(Number(scope))) yield findingsOf('block', where, 'its scope is missing')
    if (digest === undefined) yield findingsOf('block', where, 'its bytes are missing')
    else if (!(id instanceof Uint8Array) || !equalBytes(id, digest)) {
      const again = sizeAgain(bytes as Uint8Array, isBlock)
      const rebuild =
        again !== undefined
          ? setSize(again)
          : sumWith(digest, kept)
            ? () => setBlock(facts, key, 'id', digest, 'its id was computed again from its bytes')
            : undefined
      yield findingsOf('block', where, 'its bytes are not those of its id', rebuild)
      if (rebuild !== undefined) continue
    } else if (isPacked({ size }) && whole === bytes)
      yield findingsOf('block', where, 'its size is of compressed bytes, and they are not compressed', setSize(null))
    if (!sumWith(id, kept)) {
      const other = kept === 1n ? 0n : 1n
      yield findingsOf(
        'block',
        where,
        'its id, or whether it is kept, is not what was stored',
        sumWith(id, other)
          ? () => setBlock(facts, key, 'kept', other, `it is ${other === 1n ? 'kept' : 'not kept'} again`)
          : undefined,
      )
    }
    if (mentions === 0n && kept === 0n && !facts.lostBlocks.has(key as bigint))
      yield findingsOf('block', where, 'no row references it, and it was not stored on its own')
  }
}

function setBlock(facts: Facts, key: unknown, column: 'id' | 'kept', value: bigint | Uint8Array, done: string): string {
  facts.db.prepare(`update block set ${column} = ? where key = ?`).run(value, key as bigint)
  return done
}

export function* checkContents(facts: Facts): Generator<Finding | undefined> {
  const sql = 'select block from content where not exists (select 1 from block where block.key = content.block)'
  for (const { block } of facts.all(sql)) yield findingsOf('content', String(block), 'bytes of a block that is missing')
}

/** Compares the rows that name blocks with their mentions. */
export function* checkMentions(facts: Facts): Generator<Finding | undefined> {
  const sql = prepareMentions(facts.db)
  for (let last = -(2n ** 63n); ;) {
    const rows = namingRowsAfter(sql, last)
    for (const row of rows) yield row.mentions < row.blocks ? lostMention(facts, sql, row) : undefined
    const end = rows.at(-1)
    if (end === undefined || rows.length < namingPiece) break
    last = end.id
    yield undefined
  }
  const mentions = `select mention.row as at, mention.block, row.id is not null as there, row.blocks, block.scope as scope
    from mention left join row on row.id = mention.row left join block on block.key = mention.block`
  for (const { at, block, there, blocks, scope } of facts.each(mentions, {
    'mention.row': 'at',
    'mention.block': 'block',
  })) {
    yield undefined
    const where = `of block ${String(block)} ${placeOfRow(at as bigint)}`
    const drop = (): string => {
      facts.db.prepare('delete from mention where row = ? and block = ?').run(at as bigint, block as bigint)
      return 'it was removed'
    }
    if (there !== 1n) yield findingsOf('mention', where, 'the row is missing', drop)
    else if (scope === null) yield findingsOf('mention', where, 'the block is missing')
    else if (Number(scope) !== facts.segments.get(Number((at as bigint) >> 32n))?.scope)
      yield findingsOf('mention', where, 'the block is of another scope')
    else if (blocks === null)
      yield namedBlocks(sql, at as bigint)?.blocks.has(block as bigint) === true
        ? findingsOf('row', placeOfRow(at as bigint), 'it names blocks, and counts none', () => {
            facts.db
              .prepare('update row set blocks = (select count(*) from mention where mention.row = row.id) where id = ?')
              .run(at as bigint)
            return 'they were counted again'
          })
        : findingsOf('mention', where, 'the row does not name it', drop)
  }
}

const placeOfRow = (row: bigint): string => `by segment ${row >> 32n} at ${row & 0xffffffffn}`

function lostMention(facts: Facts, sql: ReturnType<typeof prepareMentions>, row: NamingRow): Finding {
  const { id, blocks, mentions } = row
  const named = namedBlocks(sql, id)?.blocks ?? new Set<bigint>()
  for (const block of named) facts.lostBlocks.add(block)
  return findingsOf(
    'mention',
    placeOfRow(id),
    `the row names ${blocks} blocks, and ${mentions} are mentioned`,
    BigInt(named.size) < blocks
      ? undefined
      : () => {
          restoreMention(sql, row)
          return 'they were read from the row again'
        },
  )
}
