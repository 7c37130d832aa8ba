/** Creating and appending: what is stored, what is refused, and the effect of a retry. */
import { isRight, type JsonObject } from 'indelible/internal/json'
import { verifyLog, type Row } from 'indelible/store'
import { grow } from 'indelible/store/driver'
import { encryptionKey, ownStore, headOf, rangeAt, rowLeaf } from 'indelible/internal/store'
import { valueOrThrow, faultOf, mustHold, mustEqual } from './check.ts'
import { add, storedRowsOf, entry, headOfRows, createLogWith, note, someRows } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

export const appendCases: StoreCases = {
  'a new log is empty, with the root of the empty tree': async (store) => {
    const before = Date.now()
    const info = await valueOrThrow(store.create({ id: 'a', meta: { title: 'x' }, encrypt: false }))
    mustEqual(info.head, { size: 0, root: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' })
    mustEqual([info.id, info.entries, info.version, info.meta], ['a', 0, 1, { title: 'x' }])
    mustHold(Number.isInteger(info.created) && info.created >= before - 60_000, 'it was created now')
    mustEqual(await valueOrThrow(store.info('a')), info)
    mustEqual(await valueOrThrow(store.read('a')), [])
  },
  'a log is created once': async (store) => {
    const first = await valueOrThrow(store.create({ id: 'a', meta: { n: 1 }, encrypt: false }))
    mustEqual((await faultOf('LogExists', store.create({ id: 'a', meta: { n: 2 }, encrypt: false }))).id, 'a')
    mustEqual(await valueOrThrow(store.info('a')), first)
  },
  'a missing log is reported as missing': async (store) => {
    const head = headOfRows([], store.hash)
    for (const call of [
      () => store.info('b'),
      () => store.read('b'),
      () => store.nodes('b', []),
      () => store.append('b', { expected: head, rows: [] }),
      () => store.update('b', { expected: 1, meta: {} }),
      () => store.fork('b', { id: 'c', at: 0 }),
      () => store.remove('b'),
    ])
      mustEqual((await faultOf('NoSuchLog', call())).id, 'b')
    mustEqual((await valueOrThrow(store.list())).logs, [])
  },
  'rows come back as they were, with position and index': async (store) => {
    const rows = someRows(10)
    const info = await createLogWith(store, 'a', rows)
    mustEqual(await valueOrThrow(store.read('a')), storedRowsOf(rows))
    mustEqual([info.head.size, info.entries], [10, 7])
  },
  'an append returns the position of its first row and the head after its last': async (store) => {
    const rows = someRows(7)
    await createLogWith(store, 'a', rows.slice(0, 3))
    mustEqual(await add(store, 'a', rows.slice(3)), { from: 3, head: headOfRows(rows, store.hash) })
  },
  'the head is that of RFC 6962 over the rows, at every size and however they were appended': async (store) => {
    const rows = someRows(70)
    await valueOrThrow(store.create({ id: 'a', encrypt: false }))
    for (let size = 0, step = 1; size < rows.length; size += step, step = (step % 5) + 1) {
      const { head } = await add(store, 'a', rows.slice(size, size + step))
      mustEqual(head, headOfRows(rows.slice(0, size + step), store.hash))
    }
    mustEqual((await valueOrThrow(store.info('a'))).head, headOfRows(rows, store.hash))
  },
  'an entry and a note with the same text are different rows': async (store) => {
    const log = await createLogWith(store, 'a', [entry('x')])
    const other = await createLogWith(store, 'b', [note('x')])
    mustHold(log.head.root !== other.head.root, 'the roots differ')
  },
  'any well-formed text comes back unchanged': async (store) => {
    const scattered = Array.from({ length: 300 }, (_, index) =>
      String.fromCodePoint(...[7, 131, 4099, 65_537].map((step) => point(index * step))),
    )
    const texts = [
      '',
      '\0',
      'a\0b',
      '\uFEFFbom',
      '\r\n\t',
      ' padded ',
      '\u0301e\u0301 é',
      '\uFFFF\uFFFE\u{10FFFF}',
      '👩‍👩‍👧',
      '\u202Eabc',
      "'; drop table rows; --",
      '$1 ?1 :a @b %s',
      '{"__proto__":1}',
      'null',
      '0x1F',
      '1e999',
      'x'.repeat(300_000),
      ...scattered,
    ]
    await createLogWith(store, 'a', texts.map(entry))
    mustEqual(
      (await valueOrThrow(store.read('a'))).map((row) => row.body),
      texts,
    )
    await valueOrThrow(verifyLog(store, 'a'))
  },
  'an invalid row is refused with its index, and nothing is appended': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const bad = [
      entry('\uD800'),
      entry('x\uDC00y'),
      { kind: 'entry', body: 1 },
      { kind: 'entry' },
      { kind: 'Entry', body: '' },
      { body: '' },
    ] as unknown as Row[]
    for (const row of bad) {
      const fault = await faultOf(
        'InvalidRow',
        store.append('a', { expected: head, rows: [entry('good'), row, entry('good')] }),
      )
      mustEqual(fault.index, 1)
    }
    mustEqual((await valueOrThrow(store.info('a'))).head, head)
  },
  'an append of no rows succeeds only at the right head': async (store) => {
    const { head } = await createLogWith(store, 'a', [entry('x')])
    mustEqual(await valueOrThrow(store.append('a', { expected: head, rows: [] })), { from: 1, head })
    await faultOf('Conflict', store.append('a', { expected: headOfRows([], store.hash), rows: [] }))
  },
  'ten thousand rows are appended at once': async (store) => {
    const rows = Array.from({ length: 10_000 }, (_, index) => entry(`row ${index}`))
    const { head } = await createLogWith(store, 'a', rows)
    mustEqual(head, headOfRows(rows, store.hash))
    const read = await valueOrThrow(store.read('a'))
    mustEqual([read.length, read[9_999]?.body], [10_000, 'row 9999'])
  },
  'changes that the caller makes afterwards do not reach the store': async (store) => {
    const meta = { tags: ['a'] }
    const row = { kind: 'entry' as const, body: 'x' }
    const { head } = await valueOrThrow(store.create({ id: 'a', meta, encrypt: false }))
    const going = store.append('a', { expected: head, rows: [row] })
    row.body = 'changed'
    meta.tags.push('changed')
    await valueOrThrow(going)
    mustEqual((await valueOrThrow(store.read('a')))[0]?.body, 'x')
    mustEqual((await valueOrThrow(store.info('a'))).meta, { tags: ['a'] })
  },
  'a call begins at once, and its task has one outcome': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const task = store.append('a', { expected: head, rows: [entry('x')] })
    while ((await valueOrThrow(store.info('a'))).head.size === 0) await undefined
    const answer = await valueOrThrow(task)
    mustEqual(await valueOrThrow(task), answer)
    mustEqual(await task, answer)
    mustEqual((await valueOrThrow(store.info('a'))).head, answer.head)
  },

  'the second of two writers gets the rows it missed, and can continue from there': async (store) => {
    const rows = someRows(5)
    const { head } = await createLogWith(store, 'a', rows.slice(0, 2))
    await valueOrThrow(store.append('a', { expected: head, rows: rows.slice(2) }))
    const fault = await faultOf('Conflict', store.append('a', { expected: head, rows: [entry('late')] }))
    mustEqual([fault.id, fault.expected, fault.actual], ['a', head, headOfRows(rows, store.hash)])
    mustEqual(fault.missed, storedRowsOf(rows).slice(2))
    await valueOrThrow(store.append('a', { expected: fault.actual, rows: [entry('late')] }))
    mustEqual((await valueOrThrow(store.read('a'))).at(-1)?.body, 'late')
  },
  'a conflict carries a thousand rows at most': async (store) => {
    const { head } = await createLogWith(store, 'a')
    await add(store, 'a', someRows(1_500))
    const { missed, actual } = await faultOf('Conflict', store.append('a', { expected: head, rows: [] }))
    mustEqual([missed.length, missed.at(-1)?.position, actual.size], [1000, 999, 1500])
  },
  'a head that the log never had is a divergence, not a conflict': async (store) => {
    const rows = someRows(6)
    const { head } = await createLogWith(store, 'a', rows)
    const foreign = await createLogWith(store, 'b', someRows(6, 'other'))
    const heads = [
      foreign.head,
      { size: 3, root: head.root },
      { ...headOfRows([], store.hash), size: 6 },
      { size: 7, root: head.root },
      { size: -1, root: head.root },
      { size: 2.5, root: head.root },
      { size: NaN, root: head.root },
      { size: 6, root: '' },
    ]
    for (const expected of heads)
      mustEqual((await faultOf('Diverged', store.append('a', { expected, rows: [entry('x')] }))).actual, head)
    mustEqual((await valueOrThrow(store.info('a'))).head, head)
  },
  'an append that names the key of its log is not stored in a later log with the same id': async (store) => {
    const encrypted = (key: string): JsonObject => ({
      [encryptionKey]: { keys: ['other', key], from: [0, 0], meta: '' },
    })
    const metas = [{}, { clear: encrypted('one') }, encrypted('one'), encrypted('two')]
    const keys = [null, null, 'one', 'two']
    for (const [made, meta] of metas.entries())
      for (const key of ['one', 'two', null, 'other']) {
        const { head } = await valueOrThrow(store.create({ id: 'a', meta, encrypt: false }))
        const append = { expected: head, rows: [entry('x')], operation: 'once', ownKey: key }
        if (key === keys[made]) {
          const { head: after } = await valueOrThrow(store.append('a', append))
          mustEqual((await valueOrThrow(store.append('a', append))).head, after)
          await valueOrThrow(ownStore(store).update('a', { expected: 1, meta, ownKey: key }))
        } else {
          mustEqual((await faultOf('Diverged', store.append('a', append))).actual, head)
          await faultOf('NoSuchLog', ownStore(store).update('a', { expected: 1, meta: {}, ownKey: key }))
          mustEqual(await valueOrThrow(store.info('a')).then(({ head, meta }) => [head, meta]), [head, meta])
        }
        await valueOrThrow(store.remove('a'))
      }
    // Even if the store cached the log's earlier state.
    const { head } = await valueOrThrow(store.create({ id: 'a', encrypt: false }))
    await valueOrThrow(store.append('a', { expected: head, rows: [], ownKey: null }))
    await valueOrThrow(store.remove('a'))
    await valueOrThrow(store.create({ id: 'a', meta: encrypted('one'), encrypt: false }))
    await faultOf('Diverged', store.append('a', { expected: head, rows: [entry('x')], ownKey: null }))
  },
  'of many concurrent appends at one head exactly one is stored': async (store) => {
    const { head } = await createLogWith(store, 'a', [entry('start')])
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        store.append('a', { expected: head, rows: [entry(`by ${index}`), note('n')] })(),
      ),
    )
    mustEqual(answers.filter(isRight).length, 1)
    mustEqual(
      new Set(answers.map((answer) => (isRight(answer) ? 'Appended' : answer.left._tag))),
      new Set(['Appended', 'Conflict']),
    )
    const winner = answers.findIndex(isRight)
    mustEqual(
      (await valueOrThrow(store.read('a'))).map((row) => row.body),
      ['start', `by ${winner}`, 'n'],
    )
  },
  'concurrent appends to several logs are all stored, each in its log and in order': async (store) => {
    const ids = Array.from({ length: 32 }, (_, index) => `log ${index}`)
    for (const id of ids) await valueOrThrow(store.create({ id, encrypt: false }))
    await Promise.all(
      ids.flatMap((id) => {
        const rows = someRows(12, id)
        let range: Parameters<typeof grow>[0] = { size: 0, peaks: [] }
        return rows.map(async (row) => {
          const expected = headOf(range, store.hash) // computed ahead, so no append must be awaited
          range = grow(range, [rowLeaf(row, store.hash)], store.hash).range
          await valueOrThrow(store.append(id, { expected, rows: [row] }))
        })
      }),
    )
    for (const id of ids) mustEqual(await valueOrThrow(store.read(id)), storedRowsOf(someRows(12, id)))
  },
  'a refused append does not affect concurrent ones': async (store) => {
    const a = await createLogWith(store, 'a')
    const b = await createLogWith(store, 'b')
    const going = [
      store.append('a', { expected: a.head, rows: [entry('1')] })(),
      store.append('a', { expected: a.head, rows: [entry('late')] })(),
      store.append('nowhere', { expected: a.head, rows: [entry('x')] })(),
      store.append('b', { expected: b.head, rows: [entry('1')] })(),
    ]
    const tags = (await Promise.all(going)).map((answer) => (isRight(answer) ? 'Appended' : answer.left._tag))
    mustEqual(tags, ['Appended', 'Conflict', 'NoSuchLog', 'Appended'])
    mustEqual(
      [await valueOrThrow(store.read('a')), await valueOrThrow(store.read('b'))],
      [storedRowsOf([entry('1')]), storedRowsOf([entry('1')])],
    )
  },

  'a retried operation returns its first result and appends nothing': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const append = { expected: head, rows: someRows(3), operation: 'op-1' }
    const first = await valueOrThrow(store.append('a', append))
    mustEqual(await valueOrThrow(store.append('a', append)), first)
    await add(store, 'a', [entry('later')])
    mustEqual(await valueOrThrow(store.append('a', append)), first)
    mustEqual(
      await valueOrThrow(store.append('a', { ...append, expected: (await valueOrThrow(store.info('a'))).head })),
      first,
    )
    mustEqual((await valueOrThrow(store.info('a'))).head.size, 4)
  },
  'an operation id with other rows is a fault, and changes nothing': async (store) => {
    const { head } = await createLogWith(store, 'a', [entry('0')])
    await valueOrThrow(store.append('a', { expected: head, rows: [entry('x'), entry('y')], operation: 'op' }))
    for (const rows of [
      [entry('x')],
      [entry('x'), entry('z')],
      [note('x'), entry('y')],
      [entry('x'), entry('y'), entry('z')],
      [],
    ]) {
      const fault = await faultOf('OperationMismatch', store.append('a', { expected: head, rows, operation: 'op' }))
      mustEqual([fault.id, fault.operation, fault.from], ['a', 'op', 1])
    }
    mustEqual((await valueOrThrow(store.info('a'))).head.size, 3)
  },
  'a failed operation can be retried': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const { head: next } = await add(store, 'a', [entry('first')])
    await faultOf('Conflict', store.append('a', { expected: head, rows: [entry('x')], operation: 'op' }))
    mustEqual((await valueOrThrow(store.append('a', { expected: next, rows: [entry('x')], operation: 'op' }))).from, 1)
  },
  'operation ids belong to one log: another log and a fork have their own': async (store) => {
    const { head } = await createLogWith(store, 'a')
    await createLogWith(store, 'b')
    const append = { expected: head, rows: [entry('x')], operation: 'op' }
    await valueOrThrow(store.append('a', append))
    mustEqual((await valueOrThrow(store.append('b', append))).from, 0)
    const fork = await valueOrThrow(store.fork('a', { id: 'c', at: 1 }))
    mustEqual((await valueOrThrow(store.append('c', { ...append, expected: fork.head }))).from, 1)
  },
  'of many concurrent tries of one operation one is stored, and all get its result': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        valueOrThrow(store.append('a', { expected: head, rows: someRows(2), operation: 'op' })),
      ),
    )
    mustEqual(
      answers,
      answers.map(() => answers[0]),
    )
    mustEqual((await valueOrThrow(store.info('a'))).head.size, 2)
  },

  'the nodes beside the rows give the range of every size': async (store) => {
    const rows = someRows(40)
    await createLogWith(store, 'a', rows)
    for (let size = 0; size <= rows.length; size++) {
      const range = await valueOrThrow(rangeAt(store, 'a', size))
      mustEqual(headOf(range, store.hash), headOfRows(rows.slice(0, size), store.hash))
    }
  },
  'a good log verifies, also against each of its earlier heads, but not against another head': async (store) => {
    const rows = someRows(23)
    const { head } = await createLogWith(store, 'a', rows)
    mustEqual((await valueOrThrow(verifyLog(store, 'a'))).head, head)
    for (let size = 0; size <= rows.length; size++)
      await valueOrThrow(verifyLog(store, 'a', headOfRows(rows.slice(0, size), store.hash)))
    for (const older of [
      headOfRows(someRows(5, 'other'), store.hash),
      { size: 5, root: head.root },
      { size: 24, root: head.root },
    ])
      mustEqual((await faultOf('Diverged', verifyLog(store, 'a', older))).actual, head)
  },

  'metadata is replaced at its version': async (store) => {
    const created = await valueOrThrow(store.create({ id: 'a', meta: { n: 1 }, encrypt: false }))
    const updated = await valueOrThrow(store.update('a', { expected: 1, meta: { n: 2 } }))
    mustEqual(updated, { ...created, meta: { n: 2 }, version: 2 })
    const fault = await faultOf('MetaConflict', store.update('a', { expected: 1, meta: { n: 3 } }))
    mustEqual([fault.expected, fault.actual, fault.meta], [1, 2, { n: 2 }])
    await add(store, 'a', [entry('x')])
    mustEqual((await valueOrThrow(store.update('a', { expected: 2, meta: {} }))).version, 3)
    mustEqual((await valueOrThrow(store.info('a'))).meta, {})
  },
  'of many updates of one version exactly one succeeds': async (store) => {
    await valueOrThrow(store.create({ id: 'a', encrypt: false }))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => store.update('a', { expected: 1, meta: { n } })()),
    )
    mustEqual(answers.filter(isRight).length, 1)
    mustEqual((await valueOrThrow(store.info('a'))).version, 2)
  },
  'metadata is any JSON object, in any script and with any key': async (store) => {
    const meta = JSON.parse(
      '{"__proto__":{"x":1},"constructor":"c","":"","a\\u0000b":[1e300,-0.5,true,null],"ключ":"🙂","deep":{"__proto__":null}}',
    ) as JsonObject
    await valueOrThrow(store.create({ id: 'a', meta, encrypt: false }))
    const stored = await valueOrThrow(store.info('a'))
    mustEqual(JSON.stringify(stored.meta), JSON.stringify(meta))
    mustHold(Object.getPrototypeOf(stored.meta) === Object.prototype, 'a `__proto__` key is data')
  },
  'metadata that is not a JSON object is refused': async (store) => {
    await valueOrThrow(store.create({ id: 'a', encrypt: false }))
    const bad: unknown[] = [null, [], 'x', { at: new Date(0) }, { n: NaN }, { f: () => 1 }, { s: '\uD800' }]
    for (const meta of bad) {
      await faultOf('InvalidMeta', store.create({ id: 'b', meta: meta as JsonObject, encrypt: false }))
      await faultOf('InvalidMeta', store.update('a', { expected: 1, meta: meta as JsonObject }))
      await faultOf('InvalidMeta', store.fork('a', { id: 'c', at: 0, meta: meta as JsonObject }))
    }
    mustEqual((await faultOf('InvalidMeta', store.update('a', { expected: 1, meta: { a: [{ b: NaN }] } }))).path, [
      'a',
      0,
      'b',
    ])
    mustEqual(
      (await valueOrThrow(store.list())).logs.map((log) => [log.id, log.version]),
      [['a', 1]],
    )
  },
}

/** A code point that is not a surrogate. */
const point = (number: number): number => {
  const wrapped = number % 0x110000
  return wrapped >= 0xd800 && wrapped <= 0xdfff ? wrapped - 0x800 : wrapped
}
