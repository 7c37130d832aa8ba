import { afterAll, describe, expect, it } from 'vitest'
import type { Store } from 'indelible'
import { claudeSessionStore } from '@indelible/claude-agent'
import { claudeCases, fold, key, line } from './claude-agent-cases.ts'
import { storeTask } from '../../../src/store/kit.ts'
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
