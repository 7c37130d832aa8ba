import { left } from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, it } from 'vitest'
import { memoryStore, type Store } from 'indelible'
import { claudeSessionStore } from '@indelible/claude-agent'
import { claudeCases, fold, key, line } from './claude-agent-cases.ts'
import { storeTask } from '../../../src/store/internal.ts'
import { eachStepFails, inFiles, inMemory } from '../../../test/session/adapter-stores.ts'
import { rounds } from '../../../test/rounds.ts'

const files = inFiles()
afterAll(files.leave)

describe('claude-agent, in memory', () => claudeCases(inMemory, rounds(12, 1000)))
describe('claude-agent, in SQLite', () => claudeCases(files, rounds(4, 200)))

it('the session store returns the fault of a store that fails at any step', () =>
  eachStepFails(async (store) => {
    const sessions = claudeSessionStore(store, { fold })
    await sessions.append(key, [line('1', null, 'hi')])
    await sessions.append({ ...key, subpath: 'subagents/a' }, [line('2', null, 'there')])
    await sessions.append(key, [line('1', null, 'hi'), line('3', '1', 'more')])
    await sessions.load(key)
    await sessions.readSession(key)
    await sessions.listSubkeys(key)
    await sessions.listSessions(key.projectKey)
    await sessions.listSessionSummaries?.(key.projectKey)
    await sessions.delete?.(key)
  }))

it('the session store is frozen', async () => {
  expect(Object.isFrozen(claudeSessionStore(await inMemory.fresh()))).toBe(true)
})

it('a session that is removed after it was listed has no summary', async () => {
  const store = await inMemory.fresh()
  await claudeSessionStore(store).append(key, [line('1', null, 'hi')])
  const list: Store['list'] = (query) =>
    storeTask(async () => {
      const page = await store.list(query)()
      await store.remove(claudeSessionStore(store).idOf(key))
      return page
    }, 'store.list')
  const sessions = claudeSessionStore({ ...store, list }, { fold })
  expect(await sessions.listSessionSummaries?.(key.projectKey)).toEqual([])
})

it('lines of a sub-agent are in no summary', async () => {
  const folded: unknown[] = []
  const sessions = claudeSessionStore(await inMemory.fresh(), {
    fold: (previous, given, entries, options) => (folded.push(given.subpath), fold(previous, given, entries, options)),
  })
  await sessions.append(key, [line('1', null, 'hi')])
  await sessions.append({ ...key, subpath: 'subagents/a' }, [line('2', null, 'there')])
  expect(folded).toEqual([undefined])
})

it('lines that are not a transcript load, but cannot be read as a conversation', async () => {
  const sessions = claudeSessionStore(await inMemory.fresh())
  const lines = [{ type: 'nothing', of: 'it' }]
  await sessions.append(key, lines)
  expect(await sessions.load(key)).toEqual(lines)
  await expect(sessions.readSession(key)).rejects.toMatchObject({ fault: { _tag: expect.any(String) } })
})

it('claudeSessionStore names what it got in place of a store, and an unknown option', async () => {
  expect(() => claudeSessionStore(undefined as never)).toThrow(
    new TypeError('claudeSessionStore takes a store, such as memoryStore(), found nothing'),
  )
  const store = await inMemory.fresh()
  expect(() => claudeSessionStore(store, { summarize: fold } as never)).toThrow(
    new TypeError('claudeSessionStore has no option "summarize". Its options: fold, canDelete'),
  )
})

it('a session store has the methods that its options ask for', async () => {
  const store = await inMemory.fresh()
  const methods = ['append', 'load', 'listSessions', 'listSubkeys', 'readSession', 'idOf']
  expect(Object.keys(claudeSessionStore(store)).toSorted()).toEqual([...methods, 'delete'].toSorted())
  expect(Object.keys(claudeSessionStore(store, { fold, canDelete: false })).toSorted()).toEqual(
    [...methods, 'listSessionSummaries'].toSorted(),
  )
})

it('a session that was read names each missing parent once, and is frozen', async () => {
  const sessions = claudeSessionStore(await inMemory.fresh())
  const lines = [line('2', '1', 'a'), line('3', '2', 'b'), line('4', '1', 'c'), line('6', '5', 'd')]
  await sessions.append(key, lines)
  const read = await sessions.readSession(key)
  expect(read?.missing).toEqual(['1', '5'])
  expect([read, read?.missing].map(Object.isFrozen)).toEqual([true, true])
})

it('a line is stored again in a session that another process removed and wrote anew', async () => {
  const store = await inMemory.fresh()
  const [a, b] = [claudeSessionStore(store), claudeSessionStore(store)]
  await a.append(key, [line('1', null, 'hi'), line('2', '1', 'there')])
  await b.delete?.(key)
  await a.append(key, [line('1', null, 'hi')])
  expect(await b.load(key)).toEqual([line('1', null, 'hi')])
  await b.delete?.(key)
  await b.append(key, [line('3', null, 'anew')])
  await a.append(key, [line('1', null, 'hi')])
  expect(await b.load(key)).toEqual([line('3', null, 'anew'), line('1', null, 'hi')])
})

it('an append of no lines creates no session', async () => {
  const store = await inMemory.fresh()
  const sessions = claudeSessionStore(store, { fold })
  await sessions.append(key, [])
  expect([await sessions.load(key), await sessions.listSessions(key.projectKey)]).toEqual([null, []])
})

it('summaries have the time of the last append, and a session with a complete one is not read', async () => {
  let clock = 1000
  const inner = memoryStore({ now: () => clock })
  const reads: string[] = []
  const read: Store['read'] = (id, query) => (reads.push(id), inner.read(id, query))
  const store = { ...inner, read }
  await claudeSessionStore(store, { fold }).append(key, [line('1', null, 'hi')])
  clock = 2000
  await claudeSessionStore(store).append({ ...key, sessionId: 't' }, [line('1', null, 'hi')])
  clock = 3000
  const summaries = [
    { sessionId: 's', mtime: 1000, data: { lines: 1, last: 'user' } },
    { sessionId: 't', mtime: 2000, data: { lines: 1, last: 'user' } },
  ]
  const list = async (): Promise<unknown> => {
    reads.length = 0
    const sessions = claudeSessionStore(store, { fold })
    return (await sessions.listSessionSummaries?.(key.projectKey))?.toSorted((a, b) => a.mtime - b.mtime)
  }
  expect(await list()).toEqual(summaries)
  expect(new Set(reads)).toEqual(new Set([claudeSessionStore(store).idOf({ ...key, sessionId: 't' })]))
  expect(await list()).toEqual(summaries)
  expect(reads).toEqual([])
})

it('fold gets the summary so far, only the new lines, and the time', async () => {
  const given: unknown[] = []
  const store = memoryStore({ now: () => 5 })
  const sessions = claudeSessionStore(store, {
    fold: (...all) => (given.push(structuredClone(all)), fold(...all)),
  })
  const [a, b] = [line('1', null, 'hi'), line('2', '1', 'there')]
  await sessions.append(key, [a])
  await sessions.append(key, [a, b])
  const summary = { sessionId: 's', mtime: 5, data: { lines: 1, last: 'user' } }
  expect(given).toEqual([
    [undefined, key, [a], { mtime: 5 }],
    [summary, key, [b], { mtime: 5 }],
  ])
})

it('an append whose summary cannot be stored is rejected, and the next one makes up for it', async () => {
  const inner = await inMemory.fresh()
  let isFull = true
  const update: Store['update'] = (id, metaUpdate) =>
    isFull
      ? storeTask(async () => left({ _tag: 'Io', operation: 'update', cause: 'full' }), 'store.update')
      : inner.update(id, metaUpdate)
  const sessions = claudeSessionStore({ ...inner, update }, { fold })
  await expect(sessions.append(key, [line('1', null, 'hi')])).rejects.toMatchObject({ fault: { _tag: 'Io' } })
  isFull = false
  await sessions.append(key, [line('1', null, 'hi'), line('2', '1', 'there')])
  expect(await sessions.listSessionSummaries?.(key.projectKey)).toMatchObject([{ data: { lines: 2 } }])
})

it('a summary includes what another process appends and folds meanwhile', async () => {
  const inner = await inMemory.fresh()
  const other = claudeSessionStore(inner, { fold })
  await claudeSessionStore(inner).append(key, [line('1', null, 'hi')])
  let isFirst = true
  const update: Store['update'] = (id, metaUpdate) =>
    storeTask(async () => {
      if (isFirst) await other.append(key, [line('2', '1', 'there')])
      isFirst = false
      return inner.update(id, metaUpdate)()
    }, 'store.update')
  const sessions = claudeSessionStore({ ...inner, update }, { fold })
  expect(await sessions.listSessionSummaries?.(key.projectKey)).toMatchObject([{ data: { lines: 2 } }])
  expect(await other.listSessionSummaries?.(key.projectKey)).toMatchObject([{ data: { lines: 2 } }])
})
