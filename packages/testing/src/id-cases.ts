/** Ids and scopes: which names are allowed, and that a name never matches more than its own log. */
import { isRight } from 'indelible/internal/json'
import { valueOrThrow, faultOf, mustHold, mustEqual } from './check.ts'
import { storedRowsOf, entry, headOfRows, storeInScope, listedIds, createLogWith } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

/** Valid ids, all different. */
const goodIds = [
  'a',
  'A',
  'a ',
  ' a',
  '../../etc/passwd',
  '..',
  '/',
  'C:\\x',
  "'; drop table logs; --",
  '"',
  '`',
  '\\',
  '%',
  '_',
  '*',
  '?',
  '$1',
  ':a',
  'null',
  'undefined',
  '0',
  '-1',
  '1e3',
  'true',
  '__proto__',
  'constructor',
  'toString',
  'ключ',
  '日本語',
  '👩‍👩‍👧',
  '\u00E9',
  'e\u0301',
  '\uFB01',
  '\u202Eabc',
  '\u200B',
  '\uFEFF',
  '\uFFFF',
  '\u{10FFFF}',
  'x'.repeat(255),
  'é'.repeat(127),
]

const badIds: readonly unknown[] = [
  '',
  '\0',
  'a\0b',
  'a\n',
  '\t',
  '\u007F',
  '\u0085',
  '\uD800',
  'a\uDC00',
  'x'.repeat(256),
  'é'.repeat(128),
  'x'.repeat(10_000),
  null,
  undefined,
  1,
  {},
  ['a'],
]

export const idCases: StoreCases = {
  'ids are any text without control characters, and never the same for two texts': async (store) => {
    for (const id of goodIds) await createLogWith(store, id, [entry(id)])
    for (const id of goodIds) mustEqual((await valueOrThrow(store.read(id)))[0]?.body, id)
    mustEqual(await listedIds(store, { limit: 1000 }), goodIds.toReversed())
    for (const id of goodIds.slice(0, 20)) await valueOrThrow(store.remove(id))
    mustEqual((await valueOrThrow(store.list({ limit: 1000 }))).logs.length, goodIds.length - 20)
  },
  'operation ids are any text without control characters, and never the same for two texts': async (store) => {
    const { head } = await createLogWith(store, 'a')
    let expected = head
    for (const operation of goodIds)
      expected = (await valueOrThrow(store.append('a', { expected, rows: [entry(operation)], operation }))).head
    for (const [from, operation] of goodIds.entries())
      mustEqual((await valueOrThrow(store.append('a', { expected, rows: [entry(operation)], operation }))).from, from)
    for (const operation of badIds.filter((id) => id !== undefined))
      mustEqual(
        (await faultOf('InvalidId', store.append('a', { expected, rows: [], operation: operation as string }))).what,
        'operation',
      )
  },
  'a bad id is refused by every method': async (store) => {
    const { head } = await createLogWith(store, 'a')
    for (const bad of badIds) {
      const id = bad as string
      for (const call of [
        () => store.create({ id, encrypt: false }),
        () => store.info(id),
        () => store.read(id),
        () => store.nodes(id, []),
        () => store.append(id, { expected: head, rows: [] }),
        () => store.update(id, { expected: 1, meta: {} }),
        () => store.fork(id, { id: 'b', at: 0 }),
        () => store.fork('a', { id, at: 0 }),
        () => store.remove(id),
      ])
        mustEqual((await faultOf('InvalidId', call())).what, 'log')
      const scope = store.scoped(id)
      mustHold(
        !isRight(scope) && scope.left._tag === 'InvalidId' && scope.left.what === 'scope',
        'it is not a valid scope either',
      )
    }
    mustEqual(await listedIds(store), ['a'])
  },
  'a scope sees its own logs and blocks, and no others': async (_store, place) => {
    const names = ['one', 'two', 'ONE', 'one ', '%', '../one', '\u00E9', 'e\u0301']
    const stores = await Promise.all(names.map((name) => place.open(name)))
    const block = Uint8Array.of(1, 2, 3)
    for (const [index, store] of stores.entries()) {
      mustEqual((await valueOrThrow(store.list())).logs, [], `the logs of ${names[index]}`)
      await createLogWith(store, 'a', [entry(`of ${index}`)])
    }
    for (const [index, store] of stores.entries())
      mustEqual(await valueOrThrow(store.read('a')), storedRowsOf([entry(`of ${index}`)]))
    const [first, second] = stores as [typeof _store, typeof _store]
    const [id] = await valueOrThrow(first.putBlocks([block]))
    mustEqual(await valueOrThrow(second.hasBlocks([id as never])), [false])
    mustEqual(await valueOrThrow(second.getBlocks([id as never])), [undefined])
    await faultOf(
      'MissingBlock',
      second.append('a', {
        expected: headOfRows([entry('of 1')], second.hash),
        rows: [{ kind: 'entry', body: 'x', blocks: [id as never] }],
      }),
    )
    await valueOrThrow(second.putBlocks([block]))
    await valueOrThrow(first.remove('a'))
    mustEqual((await valueOrThrow(first.list())).logs, [])
    mustEqual(await valueOrThrow(second.read('a')), storedRowsOf([entry('of 1')]))
    await faultOf('NoSuchLog', first.fork('a', { id: 'b', at: 0 }))
  },
  'a handle opens a handle for another scope': async (store) => {
    const other = storeInScope(store, 'other')
    await createLogWith(store, 'a', [entry('here')])
    await faultOf('NoSuchLog', other.info('a'))
    await createLogWith(other, 'a', [entry('there')])
    mustEqual((await valueOrThrow(store.read('a')))[0]?.body, 'here')
  },
}
