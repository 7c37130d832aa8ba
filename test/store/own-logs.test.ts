/** Logs whose ids begin with `indelible.`: the library's own, which no public call changes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, forkSession, memoryStore, openSession, orThrow, user, type Store } from 'indelible'
import { chatStreams } from '@indelible/ai-sdk'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { holdSession, removeRecorded, updateLedger, withLedger } from '@indelible/evidence'
import { openCallLog } from '@indelible/records'
import { copySession, exportSession, verifySession } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { exportLines, readTranscript, importTranscript } from '@indelible/transcripts'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import {
  appendToLedger,
  ledgerContent,
  ledgerId,
  ledgerRow,
  ownStore,
  sameBlocks,
  type LedgerContent,
} from '../../src/store/internal.ts'
import { readLedgerRow, type ErasedRow, type LedgerRow } from '../../src/store/port/ledger-row.ts'
import { LayeredMap } from '../../src/store/rules/layered-map.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { fault, ok } from '../task-results.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-own-logs-'))
afterAll(() => rmSync(folder, { recursive: true }))

it('the handle for own calls has the blocks of its store', () => {
  const store = memoryStore()
  expect([sameBlocks(ownStore(store), store), sameBlocks(ownStore(store), memoryStore())]).toEqual([true, false])
})

const ring = keyRing([newHostKey()])
let files = 0
const places: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore({ path: join(folder, `${files++}.db`), durability: 'os' })],
  ['keys', async () => withKeys(memoryStore(), ring)],
  ['a ledger', async () => withLedger(memoryStore(), { every: 1 })],
]

describe.each(places)('a store with %s', (_, open) => {
  it('lets no public call create, change or remove an internal log', async () => {
    const store = await open()
    await ok(createSession(store, { id: 's', messages: [user('0')] }))
    await ok(store.putBlocks([new TextEncoder().encode('a contract')]))
    await updateLedger(store)
    const own = (await ok((store.encryption?.bare ?? store).list({ limit: 100 }))).logs.filter(({ id }) => id.startsWith('indelible.')) // oxfmt-ignore
    expect(own.length).toBeGreaterThan(0)
    const rows = [{ kind: 'note' as const, body: '{}' }]
    for (const place of [store, store.encryption?.bare ?? store])
      for (const { id, head, version, meta } of [...own, { ...(own[0] as (typeof own)[0]), id: 'indelible.other' }]) {
        const other = `${id}.x`
        await fault('InvalidId', place.create({ id, rows, encrypt: false }))
        await fault('InvalidId', createSession(place, { id }))
        await fault('InvalidId', place.append(id, { expected: head, rows }))
        await fault('InvalidId', place.update(id, { expected: version, meta }))
        await fault('InvalidId', place.fork(id, { id: 'mine', at: 0 }))
        await fault('InvalidId', place.fork('s', { id: other, at: 0 }))
        if (place === store) await fault('InvalidId', forkSession(place, 's', { id: other }))
        await fault('InvalidId', place.remove(id))
        await fault('InvalidId', removeRecorded(place, id))
        await fault('InvalidId', place.erase({ logs: [{ id, expected: head, rows: [{ position: 0, stub: '{}' }] }] }))
        await fault('InvalidId', copySession(memoryStore(), place, id))
        await fault('InvalidId', openCallLog({ store: place, id }))
      }
    const after = (await ok((store.encryption?.bare ?? store).list({ limit: 100 }))).logs
    expect(after.filter(({ id }) => id.startsWith('indelible.'))).toEqual(own)
    await store.close()
  })
  it('imports no session under an internal id', async () => {
    const store = await open()
    await ok(createSession(store, { id: 's', messages: [user('0')] }))
    const text = [...exportLines(await exportSession(store, 's'))].join('')
    const transcript = orThrow(readTranscript(text))
    await fault('InvalidId', importTranscript(store, transcript, { id: 'indelible.ledger' }))
    await store.close()
  })
  it('lets no public update change internal session metadata', async () => {
    const store = await open()
    const session = await ok(createSession(store, { id: 's', messages: [user('kept')], metadata: { title: 'one' } }))
    for (const place of [store, store.encryption?.bare ?? store]) {
      const { version, meta } = await ok(place.info('s'))
      await fault('InvalidMeta', place.update('s', { expected: version, meta: {} }))
      await fault('InvalidMeta', place.update('s', { expected: version, meta: { ...meta, 'indelible.partial': 'copy' } })) // oxfmt-ignore
      await fault('MetaConflict', place.update('s', { expected: version + 1, meta: {} }))
    }
    await ok(session.update((metadata) => void (metadata['title'] = 'two')))
    const { version, meta } = await ok(store.info('s'))
    // A session's metadata is its notes. What a public update writes beside them is for lists, and `verify` reports it.
    await ok(store.update('s', { expected: version, meta: { ...meta, title: 'three' } }))
    expect((await ok(openSession(store, 's'))).metadata()).toEqual({ title: 'two' })
    await fault('DamagedLog', verifySession(store, 's'))
    await store.close()
  })
})

it('a chat stream replaces no session, whatever its id', async () => {
  const store = memoryStore()
  await fault('InvalidId', createSession(store, { id: 'indelible.stream.1' }))
  const source = new ReadableStream({ start: (controller) => controller.close() })
  await (await chatStreams(store).publish('1', source)).pipeTo(new WritableStream())
  await fault('InvalidId', store.remove('indelible.stream.1'))
})

it("no id removes a held session's key or the scope's secret", async () => {
  const bare = memoryStore()
  const store = withKeys(bare, ring)
  const [block] = await ok(store.putBlocks([new TextEncoder().encode('a contract')]))
  await ok(createSession(store, { id: 's', messages: [user('evidence')] }))
  await ok(holdSession(store, 's', { reason: 'court' }))
  for (const { id } of (await ok(bare.list({ limit: 100 }))).logs.filter(({ id }) => id.startsWith('indelible.')))
    for (const place of [bare, store]) await fault('InvalidId', place.remove(id))
  const again = withKeys(bare, ring)
  expect((await ok(openSession(again, 's'))).len).toBe(1)
  expect(new TextDecoder().decode((await ok(again.getBlocks([block as never])))[0])).toBe('a contract')
})

describe('the ledger of a scope', () => {
  const head = { size: 3, root: 'ab'.repeat(32) }
  const because = { reason: 'asked', by: 'ann' }
  const erasedRow = (log: string, row: number): ErasedRow => ({
    ...{ log, row, kind: 'entry', index: row, leaf: 'cd'.repeat(32), stub: 'ef'.repeat(32) },
  })
  const logs = [{ log: 'of a', from: 0 }]
  const copied = { at: 5, reason: 'there' }
  const rows: readonly LedgerRow[] = [
    { type: 'head', id: 'a', head },
    { type: 'erased', id: 'a', head, rows: [erasedRow('of a', 0)], ...because },
    { type: 'held', id: 'a', head, logs, ...because },
    { type: 'erased', id: 'a', head, rows: [erasedRow('of a', 1), erasedRow('of b', 1)], copied },
    { type: 'destroyed', id: 'b', head, key: 'k', ...because },
    { type: 'released', id: 'a', head, ...because },
    { type: 'removed', id: 'a', head, by: 'ann' },
    { type: 'head', id: 'b', head: { ...head, size: 4 } },
    { type: 'erased', id: 'b', head, rows: [{ ...erasedRow('of b', 2), kind: 'note' }] },
  ]
  const shown = (content: LedgerContent): string => {
    const { sessions, held, destroyed, erased, erasures } = content
    return JSON.stringify([content.head, [...sessions], [...held], [...destroyed], [...erased], erasures])
  }
  const read = async (store: Store, size?: number): Promise<LedgerContent> => orThrow(await ledgerContent(store, size))

  it('is read row by row as at once, and what was read before never changes', async () => {
    const store = memoryStore({ now: () => 7 })
    const contents = [await read(store)]
    const texts = contents.map(shown)
    for (const row of rows) {
      const added = orThrow(await appendToLedger(store, async () => right({ rows: [row], more: { own: 1 } })))
      expect(added).toMatchObject({ recorded: 1, own: 1, head: { size: contents.length } })
      const content = await read(store)
      expect(await read(store)).toBe(content) // nothing is new
      contents.push(content)
      texts.push(shown(content))
      expect(shown(await read({ ...store }))).toBe(texts.at(-1))
    }
    expect(contents.map(shown)).toEqual(texts)
    for (let size = 1; size < texts.length; size++)
      for (const one of [store, { ...store }]) expect(shown(await read(one, size))).toBe(texts[size])
    const { sessions, held, destroyed, erased, erasures } = await read(store)
    expect(Object.fromEntries(sessions)).toEqual({
      a: { id: 'a', head, row: 6, at: 7, removed: true, by: 'ann' },
      b: { id: 'b', head: { ...head, size: 4 }, row: 7, at: 7, removed: false },
    })
    expect([held.size, contents[5]?.held.get('a')]).toEqual([0, { id: 'a', logs, row: 2, at: 7, ...because }])
    expect(destroyed.get('k')).toEqual({ id: 'b', key: 'k', row: 4, at: 7, ...because })
    expect(erasures.map(({ row, at, rows }) => [row, at, rows.length])).toEqual([
      [1, 7, 1],
      [3, 7, 2],
      [8, 7, 1],
    ])
    expect([...erased.values()].map(({ row }) => row)).toEqual([1, 3, 8]) // the hold protected one of row 3
    expect(orThrow(await appendToLedger(store, async () => right({ rows: [], more: {} }))).recorded).toBe(0)
    const fresh = memoryStore()
    expect(orThrow(await appendToLedger(fresh, async () => right({ rows: [], more: {} })))).toMatchObject({
      head: { size: 0 },
    })
  })

  it('is read again if another one is in its place', async () => {
    const store = memoryStore({ now: () => 7 })
    const make = async (some: readonly LedgerRow[]): Promise<void> =>
      void (await ok(
        ownStore(store).create({
          id: ledgerId,
          meta: { [ledgerId]: 1 },
          rows: some.map((row) => ledgerRow(row, 7)),
          encrypt: false,
        }),
      ))
    await make(rows.slice(0, 3))
    await read(store)
    for (const some of [rows.slice(4, 7), rows.slice(4, 9), rows.slice(6)]) {
      await ok(ownStore(store).remove(ledgerId))
      await make(some)
      expect(shown(await read(store))).toBe(shown(await read({ ...store })))
    }
    await ok(ownStore(store).remove(ledgerId))
    await ok(ownStore(store).create({ id: ledgerId, encrypt: false }))
    expect(await ledgerContent(store)).toMatchObject({ left: { _tag: 'NotALedger', id: ledgerId } })
  })

  it('has rows that are read as they were written, and names what is wrong with any other', () => {
    for (const row of rows) expect(readLedgerRow({ position: 0, body: ledgerRow(row, 7).body })).toEqual(right(row))
    const why = (body: string): string | undefined => {
      const result = readLedgerRow({ position: 4, body })
      return isLeft(result) ? result.left.reason : result.right?.type
    }
    const changed = (row: LedgerRow, change: object): string | undefined =>
      why(JSON.stringify({ ...(JSON.parse(ledgerRow(row, 7).body) as object), ...change }))
    expect([why('['), why('[]'), why('{}')]).toEqual([
      ...['its row 4 is not a JSON object', 'its row 4 is not a JSON object', 'its row 4 has no type'],
    ])
    expect(why('{"type":"newer"}')).toBeUndefined()
    const [said, erased, held, , destroyed] = rows as readonly [LedgerRow, LedgerRow, LedgerRow, LedgerRow, LedgerRow]
    for (const wrong of [
      { id: 1 },
      { size: -1 },
      { size: 0.5 },
      { root: 1 },
      { root: 'ab' },
      { root: `${head.root}0` },
    ])
      expect(changed(said, wrong)).toBe('its row 4 names no session and head')
    expect(changed(said, { size: 0 })).toBe('head')
    expect(changed(destroyed, { key: 1 })).toBe('its row 4 names no key')
    for (const one of [1, { log: 1, from: 0 }, { log: 'a', from: -1 }])
      expect(changed(held, { logs: [one] })).toBe('its row 4 names no log')
    expect(changed(held, { logs: 1 })).toBe('its row 4 names no log')
    const row = erasedRow('of a', 0)
    for (const wrong of [{ log: 1 }, { row: -1 }, { index: -1 }, { kind: 'x' }, { leaf: 'ab' }, { stub: 'ab' }])
      expect(changed(erased, { rows: [row, { ...row, ...wrong }] })).toBe('its row 4 names no erased rows')
    for (const wrong of [1, [1]]) expect(changed(erased, { rows: wrong })).toBe('its row 4 names no erased rows')
    const body = JSON.stringify({
      ...(JSON.parse(ledgerRow(erased, 7).body) as object),
      copied: { at: 'x', by: 1 },
      reason: 1,
    })
    expect(readLedgerRow({ position: 0, body })).toMatchObject(right({ by: 'ann', copied: {} }))
    expect(readLedgerRow({ position: 0, body })).not.toHaveProperty('right.reason')
  })

  it('a map that grows in layers is the map of all entries, and leaves the smaller one as it was', () => {
    let map: ReadonlyMap<string, number> = new Map()
    const model = new Map<string, number>()
    for (let step = 0; step < 300; step++) {
      const more = new Map([[`${(step * 7) % 97}`, step], ...(step % 3 === 0 ? [[`${step}`, -step] as const] : [])])
      const [before, entries] = [map, [...map]]
      map = LayeredMap.grown(map, more)
      for (const [key, value] of more) model.set(key, value)
      expect([...before]).toEqual(entries)
      expect(map.size).toBe(model.size)
    }
    expect(new Map(map)).toEqual(model)
    expect([...map.keys()].toSorted()).toEqual([...model.keys()].toSorted())
    expect([...map.values()].toSorted()).toEqual([...model.values()].toSorted())
    const walked: unknown[] = []
    map.forEach((value, key, of) => walked.push([key, value, of === map]))
    expect(walked).toEqual([...map].map(([key, value]) => [key, value, true]))
    expect(['0', '5', '299', 'x'].map((key) => [map.get(key), map.has(key)])).toEqual(
      ['0', '5', '299', 'x'].map((key) => [model.get(key), model.has(key)]),
    )
    expect([LayeredMap.grown(map, new Map()), LayeredMap.grown(new Map(), map)]).toEqual([map, map])
  })
})
