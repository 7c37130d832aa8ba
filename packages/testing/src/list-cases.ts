/** Listing logs. */
import type { JsonObject } from 'indelible/internal/json'
import type { ListQuery, Store } from 'indelible/store'
import { valueOrThrow, faultOf, mustHold, mustEqual } from './check.ts'
import { add, canErase, entry, storeInScope, listedIds, note, withTime } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

const allPages = async (store: Store, query: ListQuery): Promise<string[]> => {
  const ids: string[] = []
  let after: string | undefined
  do {
    const page = await valueOrThrow(store.list(after === undefined ? query : { ...query, after }))
    ids.push(...page.logs.map((log) => log.id))
    after = page.next
  } while (after !== undefined)
  return ids
}

export const listCases: StoreCases = {
  'logs are listed with the last created first, also those of one millisecond': async (store) => {
    const ids = Array.from({ length: 50 }, (_, index) => `log ${(index * 7) % 50}`)
    for (const id of ids) await valueOrThrow(store.create({ id, encrypt: false }))
    mustEqual(await listedIds(store), ids.toReversed())
    await add(store, ids[0] as string, [entry('x')])
    mustEqual(await listedIds(store), ids.toReversed())
  },
  'a listed log equals its `info`': async (store) => {
    await valueOrThrow(store.create({ id: 'a', meta: { n: 1 }, encrypt: false }))
    await add(store, 'a', [entry('x')])
    mustEqual((await valueOrThrow(store.list())).logs, [await valueOrThrow(store.info('a'))])
  },
  'a log has the sum of the tokens that its own receipts report': async (store) => {
    const receipt = (usage?: object, type = 'receipt'): string => JSON.stringify({ type, len: 1, usage })
    const tokensOf = async (): Promise<readonly (readonly [id: string, tokens: number])[]> =>
      (await valueOrThrow(store.list({ by: 'id', limit: 3 }))).logs.map(({ id, tokens }) => [id, tokens])
    const call = note(receipt({ input: 100, output: 20, cacheRead: 90 }))
    await valueOrThrow(store.create({ id: 'a', rows: [entry('x'), call], encrypt: false }))
    const others = [
      entry(receipt({ input: 1, output: 1 })),
      ...[
        receipt(),
        receipt({ input: -1, output: 0.5 }),
        receipt({ input: '1' }),
        receipt({ input: 1 }, 'application'),
      ].map(note),
      ...['[1,"receipt"]', '"receipt"', '{"type":"receipt"', '\0"receipt"'].map(note),
    ]
    await add(store, 'a', others)
    await valueOrThrow(store.create({ id: 'b', encrypt: false }))
    await Promise.all([
      add(store, 'a', [call, entry('x'), note(receipt({ input: 5, output: 0 }))]),
      add(store, 'b', [call]),
    ])
    const { head, tokens } = await valueOrThrow(store.fork('a', { id: 'c', at: 5 }))
    mustEqual([tokens, ...(await tokensOf())], [0, ['a', 245], ['b', 120], ['c', 0]])
    await valueOrThrow(store.append('c', { expected: head, rows: [call] }))
    const most = 1e10
    await add(store, 'b', [note(receipt({ input: most, output: most })), note(receipt({ input: most + 1, output: 1 }))])
    mustEqual(await tokensOf(), [
      ['a', 245],
      ['b', 2 * most + 120],
      ['c', 120],
    ])
    mustEqual(await allPages(store, { by: 'tokens', limit: 1 }), ['b', 'a', 'c'])
    mustEqual((await faultOf('InvalidId', store.list({ after: '3:1', by: 'tokens' }))).what, 'cursor')
    if (!(await canErase(store))) return
    // The row of the fork is that of `a`, whose tokens are subtracted once.
    const erased = await Promise.all(
      ['a', 'b', 'c'].map(async (id) => {
        const { head } = await valueOrThrow(store.info(id))
        return { id, expected: head, rows: [{ position: 1, stub: call.body }] }
      }),
    )
    await valueOrThrow(store.erase({ logs: erased }))
    await add(store, 'a', [note(receipt({ input: 1, output: 0 }))])
    mustEqual(await valueOrThrow(store.check()), [], 'what a check finds')
    mustEqual(await tokensOf(), [
      ['a', 126],
      ['b', 120],
      ['c', 120],
    ])
  },
  'the scopes that have logs are listed, under their own names': async (store) => {
    if ((await valueOrThrow(store.scopes())) === undefined) return // this kind of store can't list them
    await valueOrThrow(store.create({ id: 'here', encrypt: false }))
    for (const scope of ['a', "b'; drop", 'Ä', 'empty again'])
      await valueOrThrow(storeInScope(store, scope).create({ id: 'x', encrypt: false }))
    await valueOrThrow(storeInScope(store, 'empty again').remove('x'))
    await valueOrThrow(storeInScope(store, 'only read').list())
    mustEqual(await valueOrThrow(store.scopes()), [store.scope, 'a', "b'; drop", 'Ä'].toSorted())
  },
  'pages follow each other without a gap, whatever is created in the meantime': async (store) => {
    const ids = Array.from({ length: 7 }, (_, index) => `log ${index}`)
    for (const id of ids) await valueOrThrow(store.create({ id, encrypt: false }))
    const first = await valueOrThrow(store.list({ limit: 3 }))
    await valueOrThrow(store.create({ id: 'meanwhile', encrypt: false }))
    const second = await valueOrThrow(store.list({ limit: 3, after: first.next as string }))
    const third = await valueOrThrow(store.list({ limit: 3, after: second.next as string }))
    mustEqual(
      [...first.logs, ...second.logs, ...third.logs].map((log) => log.id),
      ids.toReversed(),
    )
    mustHold(!('next' in third), 'the last page has no next')
  },
  'a page that holds the last log exactly is the last page': async (store) => {
    for (const id of ['a', 'b', 'c', 'd']) await valueOrThrow(store.create({ id, encrypt: false }))
    const first = await valueOrThrow(store.list({ limit: 2 }))
    const second = await valueOrThrow(store.list({ limit: 2, after: first.next as string }))
    mustEqual([second.logs.map((log) => log.id), 'next' in second], [['b', 'a'], false])
  },
  'only logs with the wanted metadata are listed': async (store) => {
    const metas = [
      '{"kind":"chat","user":"1"}',
      '{"kind":"chat","user":1}',
      '{"kind":"task"}',
      '{"__proto__":"x"}',
      '{"done":true}',
      '{"done":1}',
      '{"done":null}',
      '{}',
      '{"a.b":"\'\\"","kind":["chat"]}',
      '{"kind":"chat","user":"2"}',
    ]
    for (const [index, meta] of metas.entries())
      await valueOrThrow(store.create({ id: `${index}`, meta: JSON.parse(meta) as JsonObject, encrypt: false }))
    const wanted: readonly (readonly [string, string[]])[] = [
      ['{}', ['9', '8', '7', '6', '5', '4', '3', '2', '1', '0']],
      ['{"kind":"chat"}', ['9', '1', '0']],
      ['{"kind":"chat","user":"1"}', ['0']],
      ['{"user":1}', ['1']],
      ['{"done":true}', ['4']],
      ['{"done":1}', ['5']],
      ['{"done":null}', ['6']],
      ['{"done":false}', []],
      ['{"__proto__":"x"}', ['3']],
      ['{"a.b":"\'\\""}', ['8']],
      ['{"constructor":null}', []],
    ]
    for (const [where, ids] of wanted) {
      const query = { where: JSON.parse(where) as NonNullable<ListQuery['where']> }
      mustEqual(await listedIds(store, query), ids, where)
      mustEqual(await allPages(store, { ...query, limit: 1 }), ids, where)
    }
  },
  'an object matches the metadata under its key': async (store) => {
    const metas = [
      '{"user":{"id":1,"name":"ada"}}',
      '{"user":{"id":2,"name":"ada"}}',
      '{"user":"ada"}',
      '{"user":{"id":{"id":1}}}',
      '{"user":[1]}',
      '{"user":{"id":1,"at":{"org":"x"}},"title":"t"}',
    ]
    for (const [index, meta] of metas.entries())
      await valueOrThrow(store.create({ id: `${index}`, meta: JSON.parse(meta) as JsonObject, encrypt: false }))
    const wanted: readonly (readonly [string, string[]])[] = [
      ['{"user":{"id":1}}', ['5', '0']],
      ['{"user":{"name":"ada"}}', ['1', '0']],
      ['{"user":{"name":"ada","id":2}}', ['1']],
      ['{"user":{"at":{"org":"x"}},"title":"t"}', ['5']],
      ['{"user":{"id":{"id":1}}}', ['3']],
      ['{"user":"ada"}', ['2']],
      ['{"user":{}}', ['5', '3', '1', '0']],
      ['{"user":{"0":1}}', []],
    ]
    for (const [where, ids] of wanted) {
      const query = { where: JSON.parse(where) as NonNullable<ListQuery['where']> }
      mustEqual(await allPages(store, query), ids, where)
      mustEqual(await allPages(store, { ...query, limit: 1, by: 'appended' }), ids, where)
    }
    await valueOrThrow(store.update('2', { expected: 1, meta: { user: { id: 1 } } }))
    await valueOrThrow(store.fork('0', { id: 'fork', at: 0, meta: { user: { id: 1 } } }))
    mustEqual(await allPages(store, { where: { user: { id: 1 } } }), ['fork', '5', '2', '0'])
    for (const where of [
      { user: undefined },
      { user: [1] },
      { user: { id: undefined } },
    ] as unknown as readonly NonNullable<ListQuery['where']>[])
      await faultOf('InvalidMeta', store.list({ where }))
  },
  'logs are listed by when they were last appended to': async (store) => {
    const created = await valueOrThrow(store.create({ id: 'empty', encrypt: false }))
    const late = created.created + 1000
    for (const [id, at] of [
      ['a', late + 3],
      ['b', late + 1],
      ['c', late + 3],
      ['d', late - 1e12],
    ] as const) {
      await valueOrThrow(store.create({ id, meta: { n: id < 'c' ? 1 : 2 }, encrypt: false }))
      await add(store, id, [withTime(entry('x'), at)])
    }
    mustEqual(await allPages(store, { by: 'appended' }), ['c', 'a', 'b', 'empty', 'd'])
    mustEqual(await allPages(store, { by: 'appended', limit: 1 }), ['c', 'a', 'b', 'empty', 'd'])
    mustEqual(await allPages(store, { by: 'appended', limit: 1, where: { n: 1 } }), ['a', 'b'])
    await add(store, 'd', [withTime(note('x'), late + 9)])
    mustEqual(await allPages(store, { by: 'appended' }), ['d', 'c', 'a', 'b', 'empty'])
    const { next } = await valueOrThrow(store.list({ by: 'appended', limit: 1 }))
    mustEqual((await faultOf('InvalidId', store.list({ after: next as string }))).what, 'cursor')
    mustEqual((await faultOf('InvalidId', store.list({ after: '3', by: 'appended' }))).what, 'cursor')
  },
  'logs are listed by the number of their entries': async (store) => {
    const sizes = [3, 0, 40, 41, 2, 41, 500, 3, 47, 1, 40]
    for (const [index, size] of sizes.entries()) {
      const rows = [note('x'), ...Array.from({ length: size }, () => entry('x'))]
      await valueOrThrow(store.create({ id: `${index}`, meta: { n: index % 2 }, rows, encrypt: false }))
    }
    const ids = ['6', '8', '5', '3', '10', '2', '7', '0', '4', '9', '1']
    mustEqual(await allPages(store, { by: 'entries' }), ids)
    mustEqual(await allPages(store, { by: 'entries', limit: 1 }), ids)
    mustEqual(await allPages(store, { by: 'entries', limit: 2, where: { n: 1 } }), ['5', '3', '7', '9', '1'])
    for (let size = 0; size < 49; size++) await add(store, '1', [entry('x')])
    await add(store, '8', [note('x')])
    await valueOrThrow(store.fork('6', { id: 'fork', at: 46 }))
    await valueOrThrow(store.remove('6'))
    const after = ['1', '8', 'fork', '5', '3', '10', '2', '7', '0', '4', '9']
    mustEqual(await allPages(store, { by: 'entries' }), after)
    mustEqual(await allPages(store, { by: 'entries', limit: 1 }), after)
    mustEqual((await faultOf('InvalidId', store.list({ after: '3', by: 'entries' }))).what, 'cursor')
  },
  'logs are listed by the bytes of their ids': async (store) => {
    const ids = ['a', 'B', 'ab', 'a b', 'a-b', 'ä', '10', '9', '\u{1f600}', '\ufffd', 'a\u{1f600}', 'a\ufffd', 'Z']
    for (const [index, id] of ids.entries())
      await valueOrThrow(store.create({ id, meta: { n: index % 2 }, encrypt: false }))
    const bytes = new TextEncoder()
    const hex = (id: string): string =>
      Array.from(bytes.encode(id), (byte) => byte.toString(16).padStart(2, '0')).join('')
    const ordered = ids.toSorted((a, b) => (hex(a) < hex(b) ? -1 : 1))
    mustEqual(await allPages(store, { by: 'id' }), ordered)
    mustEqual(await allPages(store, { by: 'id', limit: 1 }), ordered)
    const odd = ordered.filter((id) => ids.indexOf(id) % 2 === 1)
    mustEqual(await allPages(store, { by: 'id', limit: 1, where: { n: 1 } }), odd)
    const from = (await valueOrThrow(store.list({ by: 'id', after: 'aa' }))).logs.map(({ id }) => id)
    mustEqual(from, ordered.slice(ordered.indexOf('ab')), 'any id is a cursor')
    mustEqual((await faultOf('InvalidId', store.list({ after: 'a\n', by: 'id' }))).what, 'cursor')
  },
  'the digest of a piece changes exactly when one of its logs is added, removed or grown': async (store) => {
    const { pieces } = store
    if (pieces === undefined) return // this kind of store has none
    const piecesChangedBy = async (work: () => Promise<unknown>): Promise<number> => {
      const before = await valueOrThrow(pieces())
      await work()
      const after = await valueOrThrow(pieces())
      const digestOf = new Map(before.map(({ name, digest }) => [name, digest]))
      return after.filter(({ name, digest }) => digestOf.get(name) !== digest).length
    }
    mustEqual(await valueOrThrow(pieces()), [])
    await piecesChangedBy(async () => {
      for (let from = 0; from < 1500; from += 100)
        await Promise.all(
          Array.from({ length: 100 }, (_, index) =>
            valueOrThrow(store.create({ id: `log ${from + index}`, encrypt: false })),
          ),
        )
    })
    const found = await valueOrThrow(pieces())
    mustHold(found.length >= 2, 'there are several pieces')
    const listed: string[] = []
    for (const { after, logs } of found.toReversed())
      listed.push(...(await valueOrThrow(store.list({ after, limit: logs }))).logs.map(({ id }) => id))
    mustEqual(listed, await allPages(store, { limit: 1000 }))
    mustEqual(await piecesChangedBy(() => add(store, 'log 5', [entry('x')])), 1)
    mustEqual(await piecesChangedBy(() => add(store, 'log 1499', [entry('x')])), 1)
    mustEqual(await piecesChangedBy(() => valueOrThrow(store.update('log 7', { expected: 1, meta: { n: 1 } }))), 0)
    mustEqual(await piecesChangedBy(() => valueOrThrow(store.remove('log 8'))), 1)
    mustEqual(await piecesChangedBy(() => valueOrThrow(store.fork('log 5', { id: 'fork', at: 1 }))), 1)
    mustEqual(
      await piecesChangedBy(() => valueOrThrow(storeInScope(store, 'other').create({ id: 'log', encrypt: false }))),
      0,
    )
  },
  'a log id cannot make a piece of logs look like other logs': async (store) => {
    const { pieces } = store
    if (pieces === undefined) return // it is a kind of store that has none
    const digests = async (): Promise<string> => (await valueOrThrow(pieces())).map(({ digest }) => digest).join()
    const rows = [withTime(entry('x'), 1)]
    const { head } = await valueOrThrow(store.create({ id: 'a', rows, encrypt: false }))
    await valueOrThrow(store.create({ id: 'b', rows, encrypt: false }))
    const before = await digests()
    for (const id of ['a', 'b']) await valueOrThrow(store.remove(id))
    for (const root of [head.root, head.root.toUpperCase()]) {
      const id = `a 1 ${root},b`
      await valueOrThrow(store.create({ id, rows, encrypt: false }))
      mustHold((await digests()) !== before, `the digest with ${id} is another one`)
      await valueOrThrow(store.remove(id))
    }
  },
  'a page has up to 1,000 logs, by default 100': async (store) => {
    for (let index = 0; index < 105; index++) await valueOrThrow(store.create({ id: `${index}`, encrypt: false }))
    const sizes = await Promise.all(
      [undefined, 1, 2, 1000].map(
        async (limit) => (await valueOrThrow(store.list(limit === undefined ? {} : { limit }))).logs.length,
      ),
    )
    mustEqual(sizes, [100, 1, 2, 105])
  },
  'a cursor of one order is refused by the other orders': async (store) => {
    for (const id of ['1', '2']) await valueOrThrow(store.create({ id, encrypt: false }))
    const orders = ['created', 'appended', 'entries'] as const
    for (const order of orders) {
      const { next } = await valueOrThrow(store.list({ by: order, limit: 1 }))
      for (const by of orders) {
        const query = { by, after: next as string }
        if (by === order)
          mustEqual((await valueOrThrow(store.list(query))).logs.length, 1, 'the logs of the second page')
        else mustEqual((await faultOf('InvalidId', store.list(query))).what, 'cursor')
      }
    }
  },
  'an unknown order or an invalid page size is a TypeError': async (store) => {
    await valueOrThrow(store.create({ id: 'a', encrypt: false }))
    const orders = ['size', 'toString', '__proto__', null, 5, {}].map((by) => ({ by }))
    const limits = [0, -1, 1001, 1.5, NaN, '5'].map((limit) => ({ limit }))
    for (const query of [...orders, ...limits] as unknown as readonly ListQuery[]) {
      let thrown: unknown
      try {
        await store.list(query)()
      } catch (error) {
        thrown = error
      }
      mustHold(
        thrown instanceof TypeError && /expected (?:one of created|a whole number of logs)/.test(thrown.message),
        `${JSON.stringify(query)} is refused`,
      )
    }
  },
  'an invalid cursor is refused': async (store) => {
    for (const after of ['x', '', "1' or 1=1", 'NaN'])
      mustEqual((await faultOf('InvalidId', store.list({ after }))).what, 'cursor')
  },
}
