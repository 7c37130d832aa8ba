/** The position of the last row of a search page: its segment and its position there, encoded as a text. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../../json/index.ts'
import type { StoreFaultOf } from '../fault.ts'

export interface RowCursor {
  readonly segment: number
  readonly position: number
}

export const rowCursor = ({ segment, position }: RowCursor): string => `${segment}.${position}`

/** The position to continue a search after; undefined for the first page. */
export const rowCursorIn = (after: string | undefined): Either<StoreFaultOf<'InvalidId'>, RowCursor | undefined> => {
  if (after === undefined) return right(undefined)
  const [, segment, position] = /^(\d{1,15})\.(\d{1,10})$/.exec(after) ?? []
  return segment === undefined
    ? left({ _tag: 'InvalidId', what: 'cursor', reason: 'it is not the `next` of a page of this search' })
    : right({ segment: Number(segment), position: Number(position) })
}
