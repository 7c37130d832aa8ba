/** Checks and copies the query of a list before a driver gets it, and its cursors. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isObject, left, right, type Path } from '../../json/index.ts'
import type { CheckedQuery, Cursor } from '../port/driver.ts'
import type { StoreFault } from '../fault.ts'
import { idFault } from '../port/id.ts'
import type { ListQuery, Where } from '../port/store.ts'

export const listOrders: readonly CheckedQuery['by'][] = Object.freeze([
  'created',
  'appended',
  'entries',
  'tokens',
  'id',
])

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

/** The cursor text of a page in this order. Other orders refuse it, except the order by id. */
export const cursorText = ({ value, key }: Cursor, by: CheckedQuery['by']): string =>
  by === 'id' ? `${value}` : by === 'created' ? `${key}` : `${value}${separators[by]}${key}`

const separators = { appended: '.', entries: ':', tokens: ';' } as const

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
