/** Checks blocks, their bytes, and the counts of rows that reference them. */
import { equalBytes } from '../../proof/kit.ts'
import { findingsOf, type Facts, type Finding, type Raw } from './check-facts.ts'
import { isPacked, packedColumns, sizeAgain, unpack } from './packed.ts'
import { fits } from './sum.ts'

export function* checkBlocks(facts: Facts): Generator<Finding | undefined> {
  const read = facts.db.prepare(`select key, scope, id, uses, kept, block.sum, ${packedColumns},
      (select count(*) from mention where mention.block = block.key) as mentions
    from block left join content on content.block = block.key where block.key = ?`)
  read.setReadBigInts(true)
  for (const { key: next } of facts.each('select key from block', { key: 'key' })) {
    yield undefined
    const raw = read.get(next as bigint) as Raw | undefined
    if (raw === undefined) continue // removed meanwhile
    const { key, scope, id, uses, kept, sum, bytes, mentions } = raw
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
    if (uses !== mentions)
      yield findingsOf('block', where, `it counts ${String(uses)} uses, and has ${String(mentions)}`, () =>
        setBlock(facts, key, 'uses', mentions as bigint, `set to ${String(mentions)}`),
      )
    if (mentions === 0n && kept === 0n)
      yield findingsOf('block', where, 'no row references it, and it was not stored on its own')
  }
}

function setBlock(
  facts: Facts,
  key: unknown,
  column: 'id' | 'kept' | 'uses',
  value: bigint | Uint8Array,
  done: string,
): string {
  facts.db.prepare(`update block set ${column} = ? where key = ?`).run(value, key as bigint)
  return done
}

export function* checkContents(facts: Facts): Generator<Finding | undefined> {
  const sql = 'select block from content where not exists (select 1 from block where block.key = content.block)'
  for (const { block } of facts.all(sql)) yield findingsOf('content', String(block), 'bytes of a block that is missing')
}

export function* checkMentions(facts: Facts): Generator<Finding | undefined> {
  const sql = `select mention.row as at, mention.row >> 32 as segment, mention.row & 4294967295 as position, mention.block, mention.sum,
      row.id is not null as there, block.scope as scope
    from mention left join row on row.id = mention.row left join block on block.key = mention.block`
  for (const { segment, position, block, sum, there, scope } of facts.each(sql, {
    'mention.row': 'at',
    'mention.block': 'block',
  })) {
    yield undefined
    const where = `of block ${String(block)} by segment ${String(segment)} at ${String(position)}`
    if (!fits(sum, segment as bigint, position as bigint, block as bigint))
      yield findingsOf('mention', where, 'it is not what was stored')
    else if (there !== 1n) yield findingsOf('mention', where, 'the row is missing')
    else if (scope === null) yield findingsOf('mention', where, 'the block is missing')
    else if (Number(scope) !== facts.segments.get(Number(segment))?.scope)
      yield findingsOf('mention', where, 'the block is of another scope')
  }
}
