/** The laws of reference histories: round trips are identity, and a retry after any crash gives the same and nothing more. */
import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { blockCache, cachedBlocks, keyValueBlocks, type BlockStore, type KeyValueStore } from 'indelible/store'
import {
  createPendingHistory,
  createRefHistory,
  hydrate,
  parseHistoryJson,
  persist,
  type PendingHistory,
  type RefHistory,
  type StoredHistory,
} from '@indelible/workflows/refs'
import { memoryStore } from 'indelible'
import { rounds } from '../../../../test/rounds.ts'
import { ok } from '../../../../test/task-results.ts'
import { keyValueMap } from '../../../../test/store/key-value-map.ts'
import { anyConversation, anyMessage, type SampleMessage } from './conversations.ts'

const pendingOf = (conversation: readonly SampleMessage[]): PendingHistory => {
  const pending = createPendingHistory()
  for (const { message, page } of conversation) pending.append(message, page)
  return pending
}

const read = (saved: string): RefHistory => {
  const parsed = parseHistoryJson(JSON.parse(saved))
  if (isLeft(parsed) || parsed.right.kind !== 'refs') throw new Error(saved)
  return parsed.right.history
}

const contentOf = (history: StoredHistory | PendingHistory) => ({
  messages: history.view().toArray(),
  pages: [...history.view().pages],
})

it('persist, write, read and hydrate are the identity, page kinds included, on any block store', async () => {
  const property = fc.asyncProperty(
    anyConversation,
    fc.constantFrom('memory', 'map', 'cached'),
    async (conversation, kind) => {
      const store: BlockStore =
        kind === 'memory'
          ? memoryStore()
          : kind === 'map'
            ? keyValueBlocks(keyValueMap(), { keysPerCall: 3 })
            : cachedBlocks(memoryStore(), blockCache({ maxBytes: 10_000 }))
      const pending = pendingOf(conversation)
      const stored = await ok(persist(store, pending))
      const saved = JSON.stringify(stored)
      const refs = read(saved)
      expect(refs.len).toBe(conversation.length)
      const again = await ok(hydrate(store, refs))
      expect(contentOf(again)).toEqual(contentOf(pending))
      expect(JSON.stringify(again)).toBe(saved)
      expect(JSON.stringify(refs)).toBe(saved)
      expect(again.refHistory().refs()).toEqual(stored.refHistory().refs())
    },
  )
  await fc.assert(property, { numRuns: rounds(30, 60) })
})

it('continuing and persisting again only adds refs', async () => {
  const property = fc.asyncProperty(
    anyConversation,
    fc.array(anyMessage, { maxLength: 4 }),
    async (conversation, more) => {
      const store = memoryStore()
      const first = await ok(persist(store, pendingOf(conversation)))
      const going = first.extend()
      for (const message of more) going.append(message)
      const second = await ok(persist(store, going))
      expect(second.refHistory().refs().slice(0, first.len)).toEqual(first.refHistory().refs())
      expect(second.len).toBe(first.len + more.length)
      expect(first.len).toBe(conversation.length)
      const whole = await ok(
        persist(memoryStore(), pendingOf([...conversation, ...more.map((message) => ({ message, page: undefined }))])),
      )
      expect(second.refHistory().refs()).toEqual(whole.refHistory().refs())
    },
  )
  await fc.assert(property, { numRuns: rounds(30, 60) })
})

/** What happens at a write: it crashes before it, or after it with the answer lost. */
interface Crash {
  readonly write: number
  readonly lost: boolean
}

/** The keys and values of a store, as text. */
const bytesIn = (map: ReadonlyMap<string, Uint8Array>): readonly string[] =>
  Array.from(map, ([key, value]) => `${key} ${Buffer.from(value).toString('latin1')}`).toSorted()

/** Fails once at a write of a key; those before it in the same call are kept. */
const crashing = (inner: KeyValueStore, { write, lost }: Crash): KeyValueStore => {
  let writes = 0
  return {
    mget: inner.mget,
    mset: async (entries) => {
      for (const entry of entries) {
        const crashes = writes++ === write
        if (!crashes || lost) await inner.mset([entry])
        if (crashes) throw new Error('the connection is gone')
      }
    },
  }
}

it('after a crash at any write, a retry gives the same refs and loses and doubles nothing', async () => {
  let crashes = 0
  const property = fc.asyncProperty(
    anyConversation,
    fc.integer({ min: 1, max: 5 }),
    async (conversation, keysPerCall) => {
      const clean = new Map<string, Uint8Array>()
      const refs = JSON.stringify(await ok(persist(keyValueBlocks(keyValueMap(clean)), pendingOf(conversation))))
      for (let write = 0; write < clean.size; write++)
        for (const lost of [false, true]) {
          const map = new Map<string, Uint8Array>()
          const pending = pendingOf(conversation)
          const answer = await persist(
            keyValueBlocks(crashing(keyValueMap(map), { write, lost }), { keysPerCall }),
            pending,
          )()
          expect(answer).toMatchObject({ left: { _tag: 'Io' } })
          expect(() => JSON.stringify(pending)).toThrow('persist it')
          const store = keyValueBlocks(keyValueMap(map), { keysPerCall })
          const halfWay = await hydrate(store, read(refs))()
          if (isLeft(halfWay)) expect(halfWay.left._tag).toBe('MissingBlock')
          else expect([...map.keys()].length).toBe(clean.size)
          // The same history, and one that another process makes of the same messages.
          const again = await ok(persist(store, crashes % 2 === 0 ? pending : pendingOf(conversation)))
          expect(JSON.stringify(again)).toBe(refs)
          expect(bytesIn(map)).toEqual(bytesIn(clean))
          expect(contentOf(await ok(hydrate(store, read(refs))))).toEqual(contentOf(pending))
          crashes += 1
        }
    },
  )
  await fc.assert(property, { numRuns: rounds(8, 25) })
  expect(crashes).toBeGreaterThan(rounds(60, 100))
})

it('refs appended without content count, and are hydrated once their content exists', async () => {
  const property = fc.asyncProperty(
    anyConversation,
    fc.array(anyMessage, { minLength: 1, maxLength: 3 }),
    async (conversation, later) => {
      const elsewhere = await ok(
        persist(memoryStore(), pendingOf(later.map((message) => ({ message, page: undefined })))),
      )
      const store = memoryStore()
      const refs = (await ok(persist(store, pendingOf(conversation)))).refHistory()
      for (const ref of elsewhere.refHistory().refs()) refs.append(ref)
      expect(refs.len).toBe(conversation.length + later.length)
      const before = await hydrate(store, refs)()
      if (isRight(before))
        expect(conversation.map(({ message }) => JSON.stringify(message))).toEqual(
          expect.arrayContaining(later.map((message) => JSON.stringify(message))),
        )
      await ok(persist(store, pendingOf(later.map((message) => ({ message, page: undefined })))))
      expect((await ok(hydrate(store, refs))).view().slice(conversation.length).toArray()).toEqual(later)
    },
  )
  await fc.assert(property, { numRuns: rounds(20, 40) })
  expect(createRefHistory().len).toBe(0)
})
