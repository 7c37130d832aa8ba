/** Reading saved histories, in tests. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect } from 'vitest'
import { parseHistoryJson, refsFaultMessage, type ParsedHistory } from '@indelible/workflows/refs'
import type { BlockId } from '../../../../src/proof/internal.ts'

export const id = (digit: string): BlockId => digit.repeat(64) as BlockId

/** What it is read as, which must be of this kind. */
export const read = <Kind extends ParsedHistory['kind']>(
  kind: Kind,
  saved: unknown,
): Extract<ParsedHistory, { kind: Kind }> => {
  const parsed = parseHistoryJson(saved)
  if (isLeft(parsed)) throw new Error(refsFaultMessage(parsed.left))
  expect(parsed.right.kind).toBe(kind)
  return parsed.right as Extract<ParsedHistory, { kind: Kind }>
}

/** Why it is not read. */
export const refused = (saved: unknown): string => {
  const parsed = parseHistoryJson(saved)
  if (!isLeft(parsed)) throw new Error('it was read')
  return refsFaultMessage(parsed.left)
}

export const encoded = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
