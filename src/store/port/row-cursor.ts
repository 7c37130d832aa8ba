/** Where a page of found rows ends: the segment and the position of its last row, as one word. */

export interface RowCursor {
  readonly segment: number
  readonly position: number
}

export const rowCursor = ({ segment, position }: RowCursor): string => `${segment}.${position}`

export const rowCursorIn = (text: string): RowCursor | undefined => {
  const [, segment, position] = /^(\d{1,15})\.(\d{1,10})$/.exec(text) ?? []
  return segment === undefined ? undefined : { segment: Number(segment), position: Number(position) }
}
