/** JSON data is copied, parsed, compared and written as it is, whatever is added to prototypes. */
import { expect, it } from 'vitest'
import {
  admit,
  describe as describeValue,
  difference,
  fieldsBeside,
  formatPath,
  inspectJson,
  jsonEqual,
  optionsOf,
  ownField,
  ownItems,
  ownSnapshot,
  parseJson,
  present,
  readEach,
  snapshot,
  sortKeys,
  textOfJson,
  type Json,
} from '../../src/json/index.ts'
import { plainOf, revivePlain } from '../../src/json/index.ts'
import { changedBy } from '../pollution.ts'

const value = { role: 'user', content: [{ a: 1 }, [], null, 'x'], list: [[1], [2, [3]]], deep: { page: { b: true } } }
// oxlint-disable-next-line no-sparse-arrays -- a hole is what an element of a prototype shows through
const sparse = [1, , 3]
const names = ['a', 'b', 'page', 'path', 'known', 'marked', 'bare', 'copies', 'value', 'reason', 'meta', 'x']

it('nothing that json does reads a property of a prototype', () => {
  const thrown = (run: () => unknown): string => {
    try {
      run()
      return 'nothing'
    } catch (error) {
      return (error as Error).message
    }
  }
  const run = (): unknown => [
    snapshot(value),
    ownSnapshot(value),
    thrown(() => snapshot(sparse)),
    thrown(() => snapshot({ a: [undefined] })),
    snapshot({ kept: 1, left: undefined }),
    admit({ half: '\ud800', big: Infinity, list: [1, '\udc00'] }),
    ownItems(sparse).map((item) => item === undefined),
    ownField<{ a?: number }, 'a'>({}, 'a') === undefined,
    optionsOf<{ a?: number }>('call', { a: 1 }),
    optionsOf<{ a?: number }>('call', {}).a === undefined,
    thrown(() => optionsOf('call', { b: 1 } as { a?: number }, { a: true })),
    present({ x: undefined, y: 1 }),
    textOfJson(value),
    parseJson('{"a":[1,{"b":2}]}'),
    (parseJson('{}') as { readonly right: { readonly page?: unknown } }).right.page === undefined,
    inspectJson('{"a":1,"a":1e999}'),
    [jsonEqual(value, structuredClone(value)), jsonEqual({ a: undefined }, { x: undefined }), jsonEqual({}, { a: 1 })],
    difference({ a: 1, b: { x: 1, y: 2 } }, { b: { x: 1 } }),
    fieldsBeside({ a: 1, b: 2 }, ['b']),
    fieldsBeside({ b: 2 }, ['b']) === undefined,
    formatPath(['a', 0, 'b c']),
    readEach([1, 2, 3], (item) => item),
    sortKeys({ b: [{ d: 1, c: 2 }], a: 0 }),
    describeValue({ a: 1, b: [] }),
    plainOf({ at: new Date(0), bytes: new Uint8Array([1]), none: undefined, list: [1, undefined] }),
    revivePlain({ at: '1970-01-01T00:00:00.000Z', page: 1 } as Json, [[['at'], 'date']]),
  ]
  expect(changedBy(names, run)).toEqual([])
})
