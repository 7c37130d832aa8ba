/** Checks and copies the arguments of store calls before a driver gets them. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isObject, left, right, type Path } from '../../json/index.ts'
import { blockIdOf, type BlockId, type Hash } from '../../proof/internal.ts'
import { checkRows, planOf, type RowContext } from '../port/plan.ts'
import type { Block, CheckedAppend, CheckedQuery, Cursor } from '../port/driver.ts'
import type { StoreFault } from '../fault.ts'
import { claimIn } from '../port/lease.ts'
import { takeHashed } from '../port/hashed-block.ts'
import { idFault, invalidId } from '../port/id.ts'
import type { Append, ListQuery, Where } from '../port/store.ts'

export const listOrders: readonly CheckedQuery['by'][] = Object.freeze([
  'created',
  'appended',
  'entries',
  'tokens',
  'id',
])

export const isOrder = (by: unknown): by is CheckedQuery['by'] => listOrders.includes(by as CheckedQuery['by'])

export const checkQuery = ({
  limit = 100,
  after,
  where = {},
  by = 'created',
}: ListQuery): Either<StoreFault, CheckedQuery> => {
  const cursor = after === undefined ? undefined : cursorIn(after, by)
  if (after !== undefined && cursor === undefined)
    return left({ _tag: 'InvalidId', what: 'cursor', reason: 'it is not the `next` of a page of this order' })
  const wanted = checkWhere(where)
  if (isLeft(wanted)) return wanted
  return right({ limit, after: cursor, where: wanted.right, by })
}

const cursorIn = (text: string, by: CheckedQuery['by']): Cursor | undefined => {
  if (by === 'id') return idFault(text) === undefined ? { value: text, key: 0 } : undefined
  const { value, key } = cursors[by].exec(text)?.groups ?? {}
  return key === undefined ? undefined : { value: value === undefined ? undefined : Number(value), key: Number(key) }
}

/** The forms that `cursorText` writes. */
const cursors = {
  created: /^(?<key>\d{1,15})$/,
  appended: /^(?<value>-?\d{1,16})\.(?<key>\d{1,15})$/,
  entries: /^(?<value>\d{1,16}):(?<key>\d{1,15})$/,
  tokens: /^(?<value>\d{1,16});(?<key>\d{1,15})$/,
} as const

/** A copy of `where` without `undefined` members, which would match every log. */
const checkWhere = (where: Where, path: Path = []): Either<StoreFault, Where> => {
  const copy: [string, Where[string]][] = []
  for (const [key, value] of Object.entries(where)) {
    const here = [...path, key]
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      copy.push([key, value])
    else if (!isObject(value) || path.length > 100)
      return left({
        _tag: 'InvalidMeta',
        path: here,
        reason: 'is neither a scalar nor an object, so nothing can match it',
      })
    else {
      const inner = checkWhere(value, here)
      if (isLeft(inner)) return inner
      copy.push([key, inner.right])
    }
  }
  return right(Object.freeze(Object.fromEntries(copy)))
}

const noBlocks: readonly Block[] = Object.freeze([])

/** @param append the own fields of what the caller gave, without a prototype */
export const checkAppend = (append: Append, context: RowContext): Either<StoreFault, CheckedAppend> => {
  const { expected, operation } = append
  const { hash } = context
  const problem = operation === undefined ? undefined : invalidId('operation', operation)
  if (problem !== undefined) return left(problem)
  const plan = planOf(append.rows, hash)
  const rows = plan === undefined ? checkRows(append.rows, context) : right(plan.rows)
  if (isLeft(rows)) return rows
  const { blocks: brought = [] } = append
  const named = new Set(brought.length === 0 ? [] : rows.right.flatMap((row) => row.blocks))
  const blocks = brought.length === 0 ? noBlocks : uniqueBlocks(ownBlocks(brought, hash, named))
  const unused = blocks.filter(({ id }) => !named.has(id)).map(({ id }) => id)
  if (unused.length > 0) return left({ _tag: 'UnusedBlock', ids: unused })
  const { terms, ownKey } = append
  return right({
    expected: { size: expected.size, root: expected.root },
    rows: rows.right,
    blocks,
    operation,
    plan,
    terms,
    ...claimIn(append),
    ownKey,
  })
}

/** Copies of blocks with their ids. `named`: the ids in rows; some of these blocks were hashed before. */
export const ownBlocks = (blocks: readonly Uint8Array[], hash: Hash, named: ReadonlySet<BlockId>): Block[] =>
  Array.from(blocks, (block) => {
    const hashed = takeHashed(block, hash, named)
    if (hashed !== undefined) return hashed
    const bytes = new Uint8Array(block) // a copy: the caller may change its bytes before they are stored
    return { id: blockIdOf(bytes, hash), bytes }
  })

export const uniqueBlocks = (blocks: readonly Block[]): Block[] => [
  ...new Map(blocks.map((block) => [block.id, block])).values(),
]
