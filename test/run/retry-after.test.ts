/** When a provider wants to be called again, by the headers of its client's error. */
import { expect, it } from 'vitest'
import { retryAfterOf } from '../../src/run/model/model-failure.ts'

const now = Date.parse('2026-01-01T00:00:00Z')
const retryAfter = (cause: unknown): number | undefined => retryAfterOf(cause, () => now)

it.each<[headers: object, milliseconds: number | undefined]>([
  [{ 'retry-after-ms': '0' }, 0],
  [{ 'retry-after-ms': '1.2' }, 2],
  [{ 'Retry-After-Ms': '7', 'retry-after': '9' }, 7],
  [{ 'retry-after-ms': '-1', 'retry-after': '9' }, 9000],
  [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, 9000],
  [{ 'retry-after-ms': 5 }, undefined],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after': ' 1.5 ' }, 1500],
  [{ 'Retry-After': '2' }, 2000],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:03 GMT' }, 3000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
  [{ 'retry-after': 'soon' }, undefined],
  [{ other: '1' }, undefined],
  [{}, undefined],
])('the headers %j ask for %s ms', (headers, milliseconds) => {
  expect(retryAfter({ headers })).toBe(milliseconds)
  const lower = Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []))
  expect(retryAfter({ headers: new Headers(lower as [string, string][]) })).toBe(milliseconds)
})

it('headers are found in the error, and in the errors that it was made of, two deep', () => {
  const error = { responseHeaders: { 'retry-after': '1' } }
  const errors = [error, { lastError: error }, { cause: error }, { cause: { lastError: error } }]
  expect(errors.map(retryAfter)).toEqual([1000, 1000, 1000, 1000])
  const none = [{ cause: { cause: { cause: error } } }, null, 'failed', undefined, { headers: null }, { headers: 'a' }]
  expect(none.map(retryAfter)).toEqual(none.map(() => undefined))
  expect(retryAfter({ headers: null, cause: error })).toBe(1000)
})
