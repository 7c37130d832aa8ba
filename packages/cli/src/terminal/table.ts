/** Tables for people: cells that stand below each other, two spaces apart. */
import { padEnd, padStart, widestOf } from './screen.ts'

/** Rows of cells. A first row of headings has as many cells as the others. */
export type Rows = readonly (readonly string[])[]

/** The width of each column: that of its widest cell. */
export const columnWidths = (rows: Rows): readonly number[] =>
  (rows[0] ?? []).map((_, column) => widestOf(rows.map((row) => row[column] ?? '')))

/** The width of columns, with the spaces behind each. */
export const sumOfWidths = (widths: readonly number[]): number => widths.reduce((sum, width) => sum + width + 2, 0)

/** The rows as lines. The last cell of a row is not padded at its end. */
export const alignRows = (
  rows: Rows,
  isNumber: (column: number) => boolean = () => false,
  widths: readonly number[] = columnWidths(rows),
): readonly string[] =>
  rows.map((row) =>
    row
      .map((cell, column) => (isNumber(column) ? padStart : padEnd)(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )

/** Rows without some columns: those of these headings are left out in this order, until the others have room. */
export const withRoom = (
  rows: Rows,
  headings: readonly string[],
  hasRoom: (widths: readonly number[]) => boolean,
): Rows => {
  let left = rows
  for (const heading of headings) {
    if (hasRoom(columnWidths(left))) break
    const column = left[0]?.indexOf(heading) ?? -1
    left = left.map((row) => row.toSpliced(column, 1))
  }
  return left
}
