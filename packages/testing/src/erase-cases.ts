/** Erasing rows: what is removed, what stays, and who sees it. A store that can't erase passes. */
import { blockIdOf } from 'indelible/internal/proof'
import { verifyLog, type EraseResult, type Store } from 'indelible/store'
import { ledgerId, stubLeaf } from 'indelible/internal/store'
import { valueOrThrow, faultOf, mustBeFrozen, mustHold, mustEqual } from './check.ts'
import { add, storedRowsOf, canErase, entry, headOfRows, createLogWith, note, someRows, withTime } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

const erase = async (store: Store, id: string, positions: readonly number[], stub = '"gone"'): Promise<EraseResult> => {
  const { head } = await valueOrThrow(store.info(id))
  const rows = positions.map((position) => ({ position, stub }))
  return valueOrThrow(store.erase({ logs: [{ id, expected: head, rows }], reason: 'asked to', by: 'ann' }))
}

const casesOfErasing = (cases: StoreCases): StoreCases =>
  Object.fromEntries(
    Object.entries(cases).map(([title, work]) => [
      title,
      async (store, place) => {
        if (await canErase(store)) await work(store, place)
      },
    ]),
  )

export const eraseCases: StoreCases = casesOfErasing({
  'an erased row has a stub for its body, and keeps its kind, time and leaf': async (store) => {
    const rows = [entry('one'), withTime(note('two'), 5, 'ab'.repeat(16)), entry('three \0')]
    await createLogWith(store, 'a', rows)
    const nodes = await valueOrThrow(store.nodes('a', [0, 1, 2]))
    mustEqual((await erase(store, 'a', [1, 2])).rows, 2, 'the number of erased rows')
    const [first, second, third] = storedRowsOf(rows)
    const leaves = rows.map((row) => headOfRows([row], store.hash).root) // the root of one leaf is the leaf
    mustEqual(await valueOrThrow(store.read('a')), [
      first,
      { position: 1, kind: 'note', index: second?.index, body: '"gone"', at: 5, erased: leaves[1] },
      { position: 2, kind: 'entry', index: third?.index, body: '"gone"', at: third?.at, erased: leaves[2] },
    ])
    mustEqual((await valueOrThrow(store.info('a'))).head, headOfRows(rows, store.hash), 'the head')
    mustEqual(await valueOrThrow(store.nodes('a', [0, 1, 2])), nodes, 'the nodes')
    await add(store, 'a', [entry('four')])
    mustEqual(
      (await valueOrThrow(verifyLog(store, 'a'))).head,
      headOfRows([...rows, entry('four')], store.hash),
      'the head',
    )
    mustEqual(await valueOrThrow(store.check()), [], 'what a check finds')
    const [content] = await valueOrThrow(store.read(ledgerId))
    const [{ log } = { log: '' }] = await valueOrThrow(store.identities('a'))
    mustEqual(JSON.parse(content?.body ?? ''), {
      type: 'erased',
      id: 'a',
      size: 3,
      root: headOfRows(rows, store.hash).root,
      rows: [
        {
          log,
          row: 1,
          kind: 'note',
          index: 0,
          leaf: leaves[1],
          stub: stubLeaf({ kind: 'note', body: '"gone"', at: 5 }, store.hash),
        },
        {
          log,
          row: 2,
          kind: 'entry',
          index: 1,
          leaf: leaves[2],
          stub: stubLeaf({ kind: 'entry', body: '"gone"', at: third?.at as number }, store.hash),
        },
      ],
      reason: 'asked to',
      by: 'ann',
    })
    mustEqual((await erase(store, 'a', [1, 2], '"again"')).rows, 0, 'the number of rows that are erased again')
    mustEqual((await valueOrThrow(store.info(ledgerId))).head.size, 1, 'the length of the ledger')
  },
  'a row is erased in every log that shares it, with the blocks that nothing else references': async (store) => {
    const [first, two] = [new Uint8Array([1]), new Uint8Array([2])]
    const ids = [first, two].map((bytes) => blockIdOf(bytes, store.hash))
    const rows = [entry('a'), { ...entry('b'), blocks: ids }, entry('c')]
    await valueOrThrow(store.create({ id: 'a', rows, blocks: [first, two], encrypt: false }))
    await valueOrThrow(
      store.create({ id: 'other', rows: [{ ...entry('x'), blocks: ids.slice(0, 1) }], encrypt: false }),
    )
    await valueOrThrow(store.fork('a', { id: 'fork', at: 2 }))
    await valueOrThrow(store.fork('fork', { id: 'early', at: 1 }))
    await valueOrThrow(store.fork('fork', { id: 'empty', at: 0 }))
    await add(store, 'fork', [entry('own')])
    const shares = (await valueOrThrow(store.sharing('fork'))).toSorted((left, right) => left.rows - right.rows)
    mustEqual(shares, [
      { id: 'early', rows: 1 },
      { id: 'a', rows: 2 },
    ])
    mustEqual(
      (await erase(store, 'fork', [1])).blocks,
      [{ block: ids[0], rows: 1, kept: false }],
      'the blocks that remain',
    )
    for (const id of ['a', 'fork']) {
      mustEqual((await valueOrThrow(store.read(id)))[1]?.body, '"gone"', `the row of ${id}`)
      await valueOrThrow(verifyLog(store, id))
    }
    mustEqual(await valueOrThrow(store.hasBlocks(ids)), [true, false], 'the blocks that are there')
    await valueOrThrow(store.remove('a'))
    await valueOrThrow(verifyLog(store, 'fork'))
    await erase(store, 'other', [0])
    mustEqual(await valueOrThrow(store.hasBlocks(ids)), [false, false], 'the blocks that are there')
    mustEqual(await valueOrThrow(store.check()), [], 'what a check finds')
  },
  'the rows that contain a text are found': async (store) => {
    await createLogWith(store, 'a', [entry('the blue house'), entry('a boat')])
    await valueOrThrow(store.fork('a', { id: 'fork', at: 2 }))
    await createLogWith(store, 'b', [entry('a boat, too'), entry('100% of_it')])
    const found = await store.containing(['a boat', '% of_'])
    mustEqual(found.rows.map(({ id, position }) => `${id} ${position}`).toSorted(), ['a 1', 'b 0', 'b 1'])
    const long = Array.from({ length: 30 }, (_, index) => `a text of some length, ${index}.`)
    await createLogWith(store, 'c', [
      ...long.map((text) => entry(`so: ${text}`)),
      entry('a text of some length'),
      entry('tiny'),
    ])
    const many = await store.containing([...long.filter((_, index) => index % 2 === 0), 'tiny', 'not there at all'])
    mustEqual(
      many.rows.map(({ id, position }) => `${id} ${position}`).toSorted(),
      [...long.flatMap((_, index) => (index % 2 === 0 ? [`c ${index}`] : [])), 'c 31'].toSorted(),
    )
    await valueOrThrow(store.remove('a'))
    mustEqual((await store.containing(['a boat', 'nowhere'])).rows, [
      { id: 'fork', position: 1 },
      { id: 'b', position: 0 },
    ])
  },
  'answers about rows with a text, shared logs and identities are frozen': async (store) => {
    await createLogWith(store, 'a', [entry('a boat')])
    await valueOrThrow(store.fork('a', { id: 'fork', at: 1 }))
    const { rows, blocks } = await valueOrThrow(store.containing(['a boat']))
    const [sharing, identities] = [await store.sharing('fork'), await store.identities('fork')]
    for (const list of [rows, blocks, sharing, identities]) mustHold(Object.isFrozen(list), 'each list is frozen')
    for (const result of [...rows, ...sharing, ...identities]) mustBeFrozen(result)
    mustEqual([rows.length, sharing.length, identities.length], [1, 1, 2], 'how many there are')
  },
  'a text in a block is found by the rows that reference it, or by the block where it was stored on its own': async (
    store,
  ) => {
    const [long, other, own] = ['it says so: a boat é', 'nothing', 'own: a boat é'].map((text) =>
      new TextEncoder().encode(text),
    ) as [Uint8Array, Uint8Array, Uint8Array]
    const ids = [long, other, own].map((bytes) => blockIdOf(bytes, store.hash))
    await valueOrThrow(
      store.create({
        id: 'a',
        rows: [entry('x'), { ...entry('y'), blocks: ids.slice(0, 2) }],
        blocks: [long, other],
        encrypt: false,
      }),
    )
    await valueOrThrow(store.create({ id: 'b', rows: [{ ...entry('z'), blocks: ids.slice(1, 2) }], encrypt: false }))
    await valueOrThrow(store.putBlocks([own]))
    const many = Array.from({ length: 20 }, (_, index) => `text number ${index}`) // found by another search algorithm
    for (const texts of [['a boat é'], [...many, 'so: a boat é', 'own: a boat é'], ['é']]) {
      const { rows, blocks } = await store.containing(texts)
      mustEqual(rows, [{ id: 'a', position: 1 }], `the rows with ${texts.length} texts`)
      mustEqual(blocks, ids.slice(2), `the blocks with ${texts.length} texts`)
    }
    mustEqual(await store.containing(['nothing of it']), { rows: [], blocks: [] })
  },
  'texts are found in the ids of operations': async (store) => {
    const { head } = await createLogWith(store, 'a')
    await valueOrThrow(store.append('a', { expected: head, rows: [entry('x')], operation: 'for Grace Hopper' }))
    const many = Array.from({ length: 20 }, (_, index) => `text number ${index}`)
    for (const texts of [['Grace'], [...many, 'Grace Hopper']])
      mustEqual(await store.containing(texts), { rows: [], blocks: [], operations: ['a'] })
    await valueOrThrow(store.remove('a'))
    mustEqual(await store.containing(['Grace']), { rows: [], blocks: [] })
  },
  'a retry of an append whose row was erased returns the first result': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const append = { expected: head, rows: [entry('hello'), entry('there')], operation: 'op' }
    const first = await valueOrThrow(store.append('a', append))
    await erase(store, 'a', [0])
    mustEqual(await valueOrThrow(store.append('a', append)), first)
    await faultOf('OperationMismatch', store.append('a', { ...append, rows: [entry('hello'), entry('where')] }))
  },
  'nothing is erased at another head, beyond the end, in the ledger, or in a missing log': async (store) => {
    const { head } = await createLogWith(store, 'a', someRows(2))
    const rows = [{ position: 0, stub: '' }]
    await faultOf('Conflict', store.erase({ logs: [{ id: 'a', expected: headOfRows([], store.hash), rows }] }))
    await faultOf('BeyondEnd', store.erase({ logs: [{ id: 'a', expected: head, rows: [{ position: 2, stub: '' }] }] }))
    await faultOf('InvalidId', store.erase({ logs: [{ id: ledgerId, expected: head, rows }] }))
    await faultOf('NoSuchLog', store.erase({ logs: [{ id: 'b', expected: head, rows }] }))
    mustEqual(await valueOrThrow(store.read('a')), storedRowsOf(someRows(2)))
    await faultOf('NoSuchLog', store.info(ledgerId))
  },
  'a row without a text is accepted only if the ledger records its erasure': async (store) => {
    await faultOf(
      'InvalidRow',
      store.create({ id: 'a', rows: [{ ...entry('stub'), erased: 'ab'.repeat(32) }], encrypt: false }),
    )
    const { head } = await createLogWith(store, 'a', [entry('a')])
    const salted = { ...entry('stub'), erased: 'ab'.repeat(32), salt: 'ab'.repeat(16) }
    await faultOf('InvalidRow', store.append('a', { expected: head, rows: [salted] }))
    await erase(store, 'a', [0])
    const [row] = await valueOrThrow(store.read('a'))
    const copied = { kind: 'entry' as const, body: row?.body ?? '', at: row?.at ?? 0, erased: row?.erased ?? '' }
    // The claim is valid in that log only: neither another log nor a later one of the same id may use it.
    await faultOf('InvalidRow', store.create({ id: 'copy', rows: [copied], encrypt: false }))
    const other = await valueOrThrow(store.create({ id: 'copy', encrypt: false }))
    await faultOf('InvalidRow', store.append('copy', { expected: other.head, rows: [copied] }))
    await valueOrThrow(store.fork('a', { id: 'fork', at: 1 }))
    mustEqual((await valueOrThrow(verifyLog(store, 'fork'))).head, head)
    mustEqual((await valueOrThrow(store.identities('fork')))[0], (await valueOrThrow(store.identities('a')))[0])
    await valueOrThrow(store.remove('a'))
    await valueOrThrow(store.create({ id: 'a', encrypt: false }))
    await faultOf('InvalidRow', store.append('a', { expected: other.head, rows: [copied] }))
  },
  'concurrent erasures run one after the other': async (store) => {
    const rows = someRows(6)
    await createLogWith(store, 'a', rows)
    await createLogWith(store, 'b', rows)
    const answers = await Promise.all([
      erase(store, 'a', [0, 1]),
      erase(store, 'a', [1, 2]),
      erase(store, 'b', [0]),
      erase(store, 'b', [0]),
    ])
    mustEqual(
      answers.reduce((sum, answer) => sum + answer.rows, 0),
      4,
      'how many rows were erased',
    )
    for (const id of ['a', 'b']) await valueOrThrow(verifyLog(store, id))
    const gone = (await valueOrThrow(store.read('a'))).filter(({ erased }) => erased !== undefined)
    mustHold(gone.length === 3, 'three rows are erased')
  },
})
