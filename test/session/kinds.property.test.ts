/** Page kinds and pins survive every border: whatever gets a view has its kinds, whatever moves a record has its pins too. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import {
  assistant,
  createHistory,
  createSession,
  decodeMessage,
  exportSession,
  faultMessage,
  forkSession,
  importRecord,
  memoryStore,
  openOrCreateSession,
  openSession,
  orThrow,
  restoreHistory,
  user,
  type Message,
  type PageKind,
  type Session,
  type Store,
  type View,
} from 'indelible'
import { pageKinds } from 'indelible/pages'
import { copySession, createFork } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { createPendingHistory, hydrate, persist } from '@indelible/workflows/refs'
import { exportLines, importTranscript, readTranscript } from '@indelible/transcripts'
import { rounds } from '../rounds.ts'
import { fault } from '../task-results.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-kinds-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const freshStore = async (inFile: boolean): Promise<Store> =>
  inFile ? sqliteStore({ path: join(folder, `${files++}.db`), durability: 'os' }) : memoryStore()

/** A view of a record and, if it is one, the session. */
interface Place {
  readonly view: View<Message>
  readonly session?: Session
  readonly store: Store
}

const placeOf = (session: Session, store: Store): Place => ({ view: session.view(), session, store })
const viewPlace = (view: View<Message>, store: Store): Place => ({ view, store })

/** Borders that a view crosses. They know nothing of the record that it is of, so its pins stay behind. */
const viewBorders: { readonly [name: string]: (place: Place) => Promise<Place> } = {
  'session.append(view)': async ({ view, store }) => {
    const session = await createSession(store)
    await session.append(view)
    return placeOf(session, store)
  },
  'session.append({ ...view })': async ({ view, store }) => {
    const session = await createSession(store)
    await session.append({ ...view })
    return placeOf(session, store)
  },
  'session.append of a clone': async ({ view, store }) => {
    const session = await createSession(store)
    await session.append(structuredClone({ ...view }))
    return placeOf(session, store)
  },
  'session.append({ messages: view, notes })': async ({ view, store }) => {
    const session = await createSession(store)
    const notes = [{ type: 'application', namespace: 'test', content: null }] as const
    await session.append({ messages: view, notes })
    return placeOf(session, store)
  },
  'session.rebase(() => view)': async ({ view, store }) => {
    const session = await createSession(store)
    await session.rebase(() => view)
    return placeOf(session, store)
  },
  'session.rewind(0, { instead: view })': async ({ view, store }) => {
    const session = await createSession(store)
    await session.rewind(0, { instead: view })
    return placeOf(session, store)
  },
  'createSession({ messages: view })': async ({ view, store }) =>
    placeOf(await createSession(store, { messages: view }), store),
  'createSession({ from: view })': async ({ view, store }) =>
    placeOf(await createSession(store, { from: view }), store),
  'openOrCreateSession({ from: { ...view } })': async ({ view, store }) =>
    placeOf(await openOrCreateSession(store, `new ${files++}`, { from: { ...view } }), store),
  'createHistory({ from: view })': async ({ view, store }) =>
    viewPlace(createHistory<Message>({ from: view }).view(), store),
  'createHistory({ from: { ...view } })': async ({ view, store }) =>
    viewPlace(createHistory<Message>({ from: { ...view } }).view(), store),
  'createHistory of a clone': async ({ view, store }) =>
    viewPlace(createHistory<Message>({ from: structuredClone({ ...view }) }).view(), store),
  'createHistory({ from: { messages, pages } })': async ({ view, store }) =>
    viewPlace(createHistory<Message>({ from: { messages: view.messages, pages: view.pages.kinds } }).view(), store),
  restoreHistory: async ({ view, store }) =>
    viewPlace(orThrow(restoreHistory(JSON.parse(JSON.stringify({ ...view })), decodeMessage)).history.view(), store),
  'createPendingHistory, persist, hydrate': async ({ view, store }) => {
    const stored = await persist(store, createPendingHistory({ from: view }))
    return viewPlace((await hydrate(store, stored.refHistory())).view(), store)
  },
  'createPendingHistory({ from: { ...view } })': async ({ view, store }) =>
    viewPlace(createPendingHistory({ from: { ...view } }).view(), store),
  'createPendingHistory of a clone': async ({ view, store }) =>
    viewPlace(createPendingHistory({ from: structuredClone({ ...view }) }).view(), store),
}

/** Borders that the whole record crosses, with its pins. */
const recordBorders: { readonly [name: string]: (session: Session, store: Store, inFile: boolean) => Promise<Place> } =
  {
    openSession: async ({ id }, store) => placeOf(await openSession(store, id), store),
    forkSession: async ({ id }, store) => placeOf(await forkSession(store, id), store),
    createFork: async ({ id }, store) => placeOf(await openSession(store, (await createFork(store, id)).id), store),
    copySession: async ({ id }, store, inFile) => {
      const other = await freshStore(inFile)
      await copySession(store, other, id)
      return placeOf(await openSession(other, id), other)
    },
    'exportSession, importRecord': async ({ id }, store, inFile) => {
      const other = await freshStore(inFile)
      await importRecord(other, await exportSession(store, id))
      return placeOf(await openSession(other, id), other)
    },
    'exportLines, importTranscript': async ({ id }, store, inFile) => {
      const other = await freshStore(inFile)
      const text = [...exportLines(await exportSession(store, id))].join('')
      await importTranscript(other, orThrow(readTranscript(text)), { id })
      return placeOf(await openSession(other, id), other)
    },
  }

const message = fc.oneof(
  fc.string({ maxLength: 8 }).map((text) => user(text)),
  fc.constantFrom<Message>(assistant('Done.'), user('x'.repeat(5000)), { role: 'system', content: [] }),
)
const entry = fc.tuple(message, fc.constantFrom(...pageKinds))
const mark = fc.tuple(fc.nat(100), fc.constantFrom('pin', 'unpin', ...pageKinds))
const border = fc.constantFrom(...Object.keys(viewBorders), ...Object.keys(recordBorders))

it('random histories with random kinds keep them through random chains of borders', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { minLength: 1, maxLength: 140 }),
      fc.array(mark, { maxLength: 4 }),
      fc.array(border, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      async (entries, marks, chain, inFile) => {
        const history = createHistory<Message>()
        for (const [message, page] of entries) history.append(message, page)
        const [messages, kinds] = [history.view().toArray(), entries.map(([, page]) => page)]
        const store = await freshStore(inFile)
        const session = await createSession(store, { from: history.view() })
        for (const [at, kind] of marks) {
          const position = at % entries.length
          await session.note(
            kind === 'pin' || kind === 'unpin' ? { type: kind, position } : { type: 'page', position, kind },
          )
        }
        let place = placeOf(session, store)
        let effective: readonly PageKind[] = session.at().pages
        for (const name of chain) {
          const across = viewBorders[name]
          if (across !== undefined) {
            place = await across(place)
            effective = kinds
          } else {
            const here = place.session ?? (await createSession(place.store, { from: place.view }))
            place = await (recordBorders[name] as (typeof recordBorders)[string])(here, place.store, inFile)
          }
          expect([name, [...place.view.pages], place.view.toArray()]).toEqual([name, kinds, messages])
          if (place.session !== undefined) expect([name, place.session.at().pages]).toEqual([name, effective])
        }
      },
    ),
    {
      numRuns: rounds(40, 1000),
      examples: Object.keys({ ...viewBorders, ...recordBorders }).map(
        (name) =>
          [
            [
              [user('a'), 'constraint'],
              [user('b'), 'plan'],
            ],
            [[1, 'pin']],
            [name],
            false,
          ] as const,
      ) as never,
    },
  )
}, 120_000)

it('a part of a conversation keeps its kinds', async () => {
  const store = memoryStore()
  const session = await createSession(store, { messages: [user('a'), user('b'), user('c')] })
  await session.append([user('d'), user('e')], { page: ['plan', 'evidence'] })
  await session.rewind(4)
  const part = session.conversation().slice(-2)
  const other = await createSession(store, { from: part })
  expect([...other.view().pages]).toEqual(['conversation', 'plan'])
})

it('kinds beside messages: too few are completed, too many or unknown ones are a fault that names the position', async () => {
  const store = memoryStore()
  const session = await createSession(store, {
    id: 's',
    messages: { messages: [user('a'), user('b')], pages: ['plan'] },
  })
  expect([...session.view().pages]).toEqual(['plan', 'conversation'])
  const messages = [user('c')]
  const many = await fault('InvalidPage', session.append({ messages, pages: ['plan', 'evidence'] }))
  expect(faultMessage(many)).toBe(
    'the append has 1 message and a page kind for message 1 (the last of 2); nothing was appended',
  )
  await fault('InvalidPage', session.append(messages, { page: ['plan', 'evidence'] }))
  expect(await fault('InvalidPage', session.append({ messages, pages: ['gossip' as never] }))).toMatchObject({
    index: 0,
  })
  expect(await fault('InvalidPage', session.append({ messages: [], pages: ['plan'], notes: [] }))).toMatchObject({
    index: 0,
  })
  expect(
    await fault('InvalidPage', createSession(store, { from: { messages, pages: ['plan', 'plan'] } })),
  ).toMatchObject({ index: 1 })
  expect(session.len).toBe(2)
  expect(() => createSession(store, { from: messages, messages })).toThrow(/both name the first messages/)
})

it('the page option of a call goes before the kinds of a view', async () => {
  const store = memoryStore()
  const session = await createSession(store, {
    from: { messages: [user('a'), user('b')], pages: ['plan', 'evidence'] },
  })
  await session.append(session.view(), { page: [undefined, 'constraint'] })
  await session.append(session.view().slice(0, 2), { page: 'preference' })
  expect([...session.view().pages].slice(2)).toEqual(['plan', 'constraint', 'preference', 'preference'])
})
