/**
 * The tokens that rows report. A store keeps their sum with each log, so that a list need not read rows.
 * They are in the text of a row, so encrypted and erased rows report none.
 */
import { isLeft, isObject, ownField, parseJson, isCount } from '../../json/index.ts'
import type { Row } from './row.ts'

/**
 * The tokens of the model call that a row reports.
 *
 * @param row the row, as stored
 * @returns `usage.input` and `usage.output` of a note of the type `receipt`, if neither is above 10^10, which is more
 * than any call has: sums of them stay exact, so that an erasure can subtract; 0 for any other row
 */
export const tokensIn = ({ kind, body, erased }: Pick<Row, 'kind' | 'body' | 'erased'>): number => {
  if (kind !== 'note' || erased !== undefined || !body.includes('"receipt"')) return 0
  const parsed = parseJson(body)
  const note = isLeft(parsed) ? undefined : parsed.right
  if (!isObject(note) || ownField(note, 'type') !== 'receipt') return 0
  const usage = ownField(note, 'usage')
  if (!isObject(usage)) return 0
  const [input, output] = [ownField(usage, 'input'), ownField(usage, 'output')]
  return isCount(input) && isCount(output) && Math.max(input, output) <= 1e10 ? input + output : 0
}

/** A count from a column; 0 if the column is damaged. */
export const countIn = (column: unknown): number => {
  const count = Number(column)
  return isCount(count) ? count : 0
}

/** The same in SQL, for a column `tokens`. */
export const tokensColumn: string = `case when tokens between 0 and ${Number.MAX_SAFE_INTEGER} then tokens else 0 end`
