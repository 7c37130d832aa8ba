/** The fields of a row besides its text, and logs created with rows. */
import { verifyLog, type Head, type Row, type Store } from 'indelible/store'
import { grow } from 'indelible/store/driver'
import { headOf, planAppend, type TimedRow } from 'indelible/internal/store'
import { emptyRange, blockIdOf } from 'indelible/internal/proof'
import { valueOrThrow, faultOf, mustHold, mustEqual } from './check.ts'
import { add, storedRowsOf, entry, headOfRows, createLogWith, note, someRows, withTime } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

const salt = '00ff10'.padEnd(32, 'a')
const rows: readonly TimedRow[] = [
  withTime(entry('x'), 1_700_000_000_000),
  withTime(note('x'), -1),
  withTime(entry('x'), 0, salt),
  { ...note('🙂'), salt },
  withTime(entry(''), 8.64e15, 'f'.repeat(32)),
  withTime(entry(''), -8.64e15),
]

const headAfter = async (store: Store, id: string, rows: readonly TimedRow[]): Promise<Head> => {
  await valueOrThrow(store.create({ id, encrypt: false }))
  return (await add(store, id, rows)).head
}

export const timeCases: StoreCases = {
  'a time and a salt come back as they were, and the log verifies': async (store) => {
    const { head } = await createLogWith(store, 'a', rows)
    mustEqual(await valueOrThrow(store.read('a')), storedRowsOf(rows))
    mustEqual(head, headOfRows(rows, store.hash))
    await valueOrThrow(verifyLog(store, 'a', head))
    await valueOrThrow(store.fork('a', { id: 'b', at: 5 }))
    mustEqual(await valueOrThrow(store.read('b')), storedRowsOf(rows.slice(0, 5)))
    mustEqual(
      await valueOrThrow(store.read('a', { only: 'note' })),
      storedRowsOf(rows).filter(({ kind }) => kind === 'note'),
    )
  },
  'a time and a salt are part of the head: changing or omitting one changes the head': async (store) => {
    const heads = new Map<string, number>()
    const variants = [
      entry('x'),
      note('x'),
      withTime(entry('x'), 0),
      withTime(note('x'), 0),
      withTime(entry('x'), 1),
      withTime(entry('x'), -1),
      withTime(entry('x'), 2 ** 32),
      withTime(entry('x'), 0, salt),
      // Texts that would collide if the hashed parts had no markers.
      entry('\0\0\0\0\0\0\0\0x'),
      entry('\u0002\0\0\0\0\0\0\0\0x'),
    ]
    for (const [index, row] of variants.entries()) heads.set((await headAfter(store, `${index}`, [row])).root, index)
    mustEqual(heads.size, variants.length)
    const again = await headAfter(store, 'again', [withTime(entry('x'), 0, salt)])
    mustEqual(heads.get(again.root), 7)
  },
  'a row appended without a time gets the time of the store': async (store) => {
    const before = store.now()
    await valueOrThrow(store.create({ id: 'a', rows: [{ kind: 'entry', body: 'x' }], encrypt: false }))
    await add(store, 'a', [{ kind: 'note', body: 'y' }])
    const after = store.now()
    for (const { at } of await valueOrThrow(store.read('a')))
      mustHold(before <= at && at <= after, 'it is of the store')
    await valueOrThrow(verifyLog(store, 'a'))
  },
  'the leaves of rows have not changed between versions': async (store) => {
    const { root } = await headAfter(store, 'a', [entry('message'), withTime(note('note'), -1, salt)])
    mustEqual(root, '66db0162bce1d8325344d97b6e232b4b7258c83b3dbe0f6f82786999efaf3f98')
  },
  'an invalid time or salt is refused': async (store) => {
    const { head } = await createLogWith(store, 'a')
    for (const bad of [
      { at: 1.5 },
      { at: NaN },
      { at: 8.64e15 + 1 },
      { at: '0' },
      { at: new Date(0) },
      { salt: '' },
      { salt: 'A'.repeat(32) },
      { salt: 'a'.repeat(31) },
      { salt: new Uint8Array(16) },
    ] as unknown as readonly Partial<Row>[])
      mustEqual(
        (
          await faultOf(
            'InvalidRow',
            store.append('a', { expected: head, rows: [entry(''), { ...entry(''), ...bad }] }),
          )
        ).index,
        1,
      )
    mustEqual((await valueOrThrow(store.info('a'))).head, head)
  },
  'an operation retried later with another time and salt is the same operation': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const first = await valueOrThrow(
      store.append('a', {
        expected: head,
        rows: [withTime(entry('x'), 1, salt), withTime(note('y'), 1)],
        operation: 'o',
      }),
    )
    const again = await valueOrThrow(
      store.append('a', { expected: head, rows: [withTime(entry('x'), 2), { ...note('y'), salt }], operation: 'o' }),
    )
    mustEqual(again, first)
    mustEqual(
      (await valueOrThrow(store.read('a'))).map(({ at }) => at),
      [1, 1],
    )
    await faultOf(
      'OperationMismatch',
      store.append('a', { expected: head, rows: [withTime(entry('z'), 1)], operation: 'o' }),
    )
  },
  'a log reports when its own last row was written, or else when it was created': async (store) => {
    const created = await valueOrThrow(store.create({ id: 'a', encrypt: false }))
    mustEqual(created.appended, created.created)
    const at = created.created - 5000
    await add(store, 'a', [withTime(entry('x'), at + 1), withTime(note('y'), at)])
    mustEqual((await valueOrThrow(store.info('a'))).appended, at)
    await add(store, 'a', [])
    mustEqual((await valueOrThrow(store.info('a'))).appended, at)
    mustEqual((await valueOrThrow(store.list())).logs[0]?.appended, at)
    mustEqual((await valueOrThrow(store.update('a', { expected: 1, meta: {} }))).appended, at)
    const fork = await valueOrThrow(store.fork('a', { id: 'b', at: 2 }))
    mustEqual(fork.appended, fork.created)
    mustEqual(await valueOrThrow(store.check()), [])
  },
  'a log is created no later than the rows that it is created with': async (store) => {
    const { created } = await valueOrThrow(store.create({ id: 'a', encrypt: false }))
    const rows = [withTime(entry('x'), created - 20)] // a clock that was read before the transaction began
    const made = await valueOrThrow(store.create({ id: 'b', rows, encrypt: false }))
    mustEqual([made.created, made.appended], [created - 20, created - 20])
    mustEqual((await valueOrThrow(store.info('b'))).created, created - 20)
    mustEqual(await valueOrThrow(store.check()), [])
  },
  'a log is created with its first rows and their blocks, or not at all': async (store) => {
    const bytes = new TextEncoder().encode('a block')
    const id = blockIdOf(bytes, store.hash)
    const rows = [...someRows(4), withTime({ ...entry('speaks'), blocks: [id] }, 7)]
    mustEqual(
      (await faultOf('MissingBlock', store.create({ id: 'a', meta: { n: 1 }, rows: rows, encrypt: false }))).ids,
      [id],
    )
    await faultOf('UnusedBlock', store.create({ id: 'a', rows: someRows(1), blocks: [bytes], encrypt: false }))
    mustEqual(
      (await faultOf('InvalidRow', store.create({ id: 'a', rows: [entry('x'), entry('\uD800')], encrypt: false })))
        .index,
      1,
    )
    await faultOf('NoSuchLog', store.info('a'))
    const made = await valueOrThrow(
      store.create({ id: 'a', meta: { n: 1 }, rows: rows, blocks: [bytes], encrypt: false }),
    )
    mustEqual([made.head, made.entries, made.appended, made.version], [headOfRows(rows, store.hash), 4, 7, 1])
    mustEqual(await valueOrThrow(store.info('a')), made)
    mustEqual(await valueOrThrow(store.read('a')), storedRowsOf(rows))
    mustEqual(await valueOrThrow(store.getBlocks([id])), [bytes])
    await faultOf('LogExists', store.create({ id: 'a', rows: someRows(2), encrypt: false }))
    await add(store, 'a', [entry('and on')])
    await valueOrThrow(verifyLog(store, 'a'))
    mustEqual(await valueOrThrow(store.check()), [])
    // A block that is already stored is referenced without its bytes.
    await valueOrThrow(store.create({ id: 'b', rows: [{ ...entry('x'), blocks: [id] }], encrypt: false }))
    await valueOrThrow(store.remove('a'))
    mustEqual(await valueOrThrow(store.hasBlocks([id])), [true])
    await valueOrThrow(store.remove('b'))
    mustEqual(await valueOrThrow(store.hasBlocks([id])), [false])
  },
  'a planned append equals an ordinary one': async (store) => {
    const rows = someRows(9).map((row, index) => withTime(row, index))
    await valueOrThrow(store.create({ id: 'a', encrypt: false }))
    let range = emptyRange
    for (const size of [1, 3, 5]) {
      const from = range.size
      const plan = planAppend(range, headOf(range, store.hash), rows.slice(from, from + size), store)
      mustHold(plan._tag === 'Right', 'it can be planned')
      if (plan._tag === 'Left') return
      const { expected, rows: ready, grown, head } = plan.right
      mustEqual((await valueOrThrow(store.append('a', { expected, rows: ready }))).head, head)
      range = grown.range
      await faultOf('Conflict', store.append('a', { expected, rows: ready }))
    }
    mustEqual((await valueOrThrow(store.info('a'))).head, headOfRows(rows, store.hash))
    await valueOrThrow(verifyLog(store, 'a'))
    // Rows planned for another head are appended without the plan.
    const wrong = planAppend(emptyRange, headOf(emptyRange, store.hash), [entry('x')], store)
    if (wrong._tag === 'Left') return mustHold(false, 'it can be planned')
    const { head } = await add(store, 'a', wrong.right.rows)
    mustEqual(head, headOfRows([...rows, entry('x')], store.hash))
    mustEqual(head, headOf(grow(range, [wrong.right.rows[0]?.leaf as Uint8Array], store.hash).range, store.hash))
    await valueOrThrow(verifyLog(store, 'a'))
  },
}
