import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, image, memoryStore, user } from 'indelible'
import { blockCache, cachedBlocks, keyValueBlocks, type BlockStore } from 'indelible/store'
import { sameBlocks } from '../../../../src/store/internal.ts'
import {
  refsFaultMessage,
  createPendingHistory,
  createRefHistory,
  hydrate,
  hydratePartial,
  parseHistoryJson,
  persist,
  type MessageRef,
  type PendingHistory,
  type RefHistory,
} from '@indelible/workflows/refs'
import { isPlaceholder } from '../../../../src/entry/internal.ts'
import type { BlockId } from '../../../../src/proof/internal.ts'
import { sqliteStore } from 'indelible/store/sqlite'
import { fault, ok } from '../../../../test/task-results.ts'
import { attachment, conversation, everyPart } from '../../../../test/messages.ts'
import { itShared, realConversations } from '../../../../test/real-transcripts.ts'
import { keyValueMap } from '../../../../test/store/key-value-map.ts'

const id = (digit: string): BlockId => digit.repeat(64) as BlockId

const counting = (inner: BlockStore = memoryStore()) => {
  const calls: string[] = []
  const store: BlockStore = {
    ...inner,
    putBlocks: (blocks) => (calls.push(`put ${blocks.length}`), inner.putBlocks(blocks)),
    getBlocks: (ids) => (calls.push(`get ${ids.length}`), inner.getBlocks(ids)),
  }
  return { calls, store }
}

describe('a reference history', () => {
  it('accepts appends and writes only refs', () => {
    const refs = createRefHistory({ scope: 'team-a', session: 's1' })
    const ref = { blockIds: [id('a')], role: 'user' } as const
    expect(refs.append(ref)).toBe(0)
    const before = refs.refs()
    expect(refs.append({ blockIds: [id('b'), id('c')], role: 'tool' })).toBe(1)
    expect(refs.len).toBe(2)
    expect(before).toEqual([ref])
    expect(JSON.parse(JSON.stringify(refs))).toEqual({
      type: 'indelible.refs',
      version: 1,
      scope: 'team-a',
      session: 's1',
      refs: [ref, { blockIds: [id('b'), id('c')], role: 'tool' }],
    })
  })
  it('keeps its own immutable copy', () => {
    const refs = createRefHistory()
    const mine = { blockIds: [id('a')], role: 'user' as const }
    refs.append(mine)
    mine.blockIds[0] = id('b')
    expect(refs.refs()).toEqual([{ blockIds: [id('a')], role: 'user' }])
    for (const attack of [
      () => ((refs.refs() as MessageRef[])[0] = mine),
      () => ((refs.refs()[0] as { role: string }).role = 'tool'),
      () => ((refs.refs()[0] as MessageRef).blockIds as BlockId[]).push(id('c')),
      () => Object.assign(refs, { append: () => 7 }),
    ])
      expect(attack).toThrow(TypeError)
    expect(refs.len).toBe(1)
  })
  it('refuses an invalid ref and stays unchanged', () => {
    const refs = createRefHistory()
    const wrong: readonly (readonly [unknown, string])[] = [
      [null, 'it should be a ref'],
      [{ blockIds: [], role: 'user' }, 'blockIds should be one or more'],
      [{ blockIds: [id('a'), 'x'], role: 'user' }, 'blockIds[1] should be the id of a block'],
      [{ blockIds: [id('A')], role: 'user' }, 'blockIds[0]'],
      [{ blockIds: [id('a')], role: 'bot' }, 'role should be a role, found "bot"'],
      [user('content'), 'blockIds should be'],
      [{ blockIds: [id('a')], role: 'user', x: 1 }, 'x should be absent, because this format has no such field'],
    ]
    for (const [ref, reason] of wrong) expect(() => refs.append(ref as MessageRef)).toThrow(reason)
    expect(refs.len).toBe(0)
    expect(() => createRefHistory({ scope: '' })).toThrow('scope')
    expect(() => createRefHistory({ session: '\n' })).toThrow('session')
  })
})

describe('persisting refs', () => {
  it('stores everything in one call, duplicates once, and nothing if nothing is new', async () => {
    const { calls, store } = counting()
    const pending = createPendingHistory({ from: [...conversation(), ...conversation()] })
    const stored = await ok(persist(store, pending))
    expect(calls.splice(0)).toEqual(['put 12'])
    await ok(persist(store, stored))
    const hydrated = await ok(hydrate(store, stored.refHistory()))
    await ok(persist(store, hydrated))
    await ok(persist(store, hydrated.extend()))
    expect(calls.splice(0)).toEqual(['get 6'])
    const going = hydrated.extend()
    going.append(user('one more'))
    await ok(persist(store, going))
    expect(calls).toEqual(['put 1'])
  })
  it('extracts attachments from messages and stores each once', async () => {
    const map = new Map<string, Uint8Array>()
    const store = keyValueBlocks(keyValueMap(map))
    const picture = image({
      type: 'base64',
      mediaType: 'image/png',
      data: Buffer.alloc(30_000, 'png').toString('base64'),
    })
    const stored = await ok(
      persist(
        store,
        createPendingHistory({ from: [user('look', picture), user('and again', picture), user(picture, picture)] }),
      ),
    )
    expect(
      stored
        .refHistory()
        .refs()
        .map(({ blockIds }) => blockIds.length),
    ).toEqual([2, 2, 2])
    expect([...map.values()].map(({ length }) => length).filter((length) => length > 1000)).toEqual([30_000])
    expect((await ok(hydrate(store, stored.refHistory()))).view().at(-1)).toEqual(user(picture, picture))
  })
  it('stores everything again in another store', async () => {
    const [first, second] = [memoryStore(), memoryStore()]
    const stored = await ok(persist(first, createPendingHistory({ from: conversation() })))
    const moved = await ok(persist(second, stored))
    expect(moved.refHistory().refs()).toEqual(stored.refHistory().refs())
    expect((await ok(hydrate(second, moved.refHistory()))).view().toArray()).toEqual(conversation())
  })
  it('refuses a store of another scope', async () => {
    const pending = createPendingHistory({ scope: 'a', from: conversation() })
    expect(refsFaultMessage(await fault('OtherScope', persist(memoryStore(), pending)))).toBe(
      'the refs belong to the scope "a", but the store is open for "default": open that scope with store.scoped',
    )
    await fault('OtherScope', hydrate(memoryStore(), createRefHistory({ scope: 'a' })))
    await ok(persist(memoryStore({ scope: 'a' }), pending))
  })
})

describe('histories with content', () => {
  it('never become JSON if unstored or with placeholders', async () => {
    const pending = createPendingHistory({ from: conversation() })
    expect(() => JSON.stringify({ state: pending })).toThrow('it has content that is not stored: persist it')
    const partial = await ok(
      hydratePartial(memoryStore(), createRefHistory({ from: [{ blockIds: [id('a')], role: 'user' }] })),
    )
    expect(() => JSON.stringify(partial)).toThrow('placeholders')
    expect(() => persist(memoryStore(), partial as unknown as PendingHistory)).toThrow(TypeError)
  })
  it('contain only messages', () => {
    const pending = createPendingHistory()
    expect(() => pending.append({ role: 'user', content: 'text' } as never)).toThrow(
      'content should be an array of parts',
    )
    expect(() => pending.append(user('x'), 'nonsense' as never)).toThrow(TypeError)
    expect(() => createPendingHistory({ from: [user('a'), {} as never] })).toThrow('[1]: ')
    expect(pending.len).toBe(0)
  })
  it('keep given page kinds', async () => {
    const store = memoryStore()
    await ok(store.putBlocks([attachment]))
    const pending = createPendingHistory()
    pending.append(user('never push to main'), 'constraint')
    pending.append(everyPart)
    const stored = await ok(persist(store, pending))
    expect((await ok(hydrate(store, stored.refHistory()))).view().pages.at(0)).toBe('constraint')
    expect(createPendingHistory({ from: stored.view() }).view().pages.at(0)).toBe('constraint')
  })
  it('leave their source unchanged when extended', async () => {
    const store = memoryStore()
    const stored = await ok(persist(store, createPendingHistory({ from: conversation() })))
    const [a, b] = [stored.extend(), stored.extend()]
    a.append(user('one'))
    b.append(user('other'))
    stored.refHistory().append({ blockIds: [id('a')], role: 'user' })
    expect([stored.len, stored.view().length, stored.refHistory().len]).toEqual([6, 6, 6])
    expect((await ok(persist(store, b))).view().at(-1)).toEqual(user('other'))
  })
})

describe('hydrating refs', () => {
  const ready = async () => {
    const map = new Map<string, Uint8Array>()
    const store = keyValueBlocks(keyValueMap(map))
    const stored = await ok(persist(store, createPendingHistory({ from: conversation() })))
    const keyOf = (position: number): string => `indelible/default/${stored.refHistory().refs()[position]?.blockIds[0]}`
    return { map, store, refs: stored.refHistory(), keyOf }
  }
  it('requests each block once, and none that a cache has seen', async () => {
    const { calls, store } = counting()
    const cached = cachedBlocks(store, blockCache())
    const stored = await ok(persist(store, createPendingHistory({ from: [...conversation(), ...conversation()] })))
    calls.splice(0)
    const refs = stored.refHistory()
    expect((await ok(hydrate(cached, refs))).len).toBe(12)
    await ok(hydrate(cached, refs))
    const going = (await ok(hydrate(cached, refs))).extend()
    going.append(user('more'))
    await ok(hydrate(cached, (await ok(persist(cached, going))).refHistory()))
    expect(calls).toEqual(['get 6', 'put 1'])
    await ok(hydrate(store, createRefHistory()))
    expect(calls.length).toBe(2)
  })
  it('does not store content again through another handle of one store, but in another store', async () => {
    const { calls, store } = counting()
    const stored = await ok(persist(store, createPendingHistory({ from: conversation() })))
    const cache = blockCache()
    const puts = async (from: BlockStore, to: BlockStore): Promise<readonly string[]> => {
      const going = (await ok(hydrate(from, stored.refHistory()))).extend()
      going.append(user('more'))
      calls.splice(0)
      await ok(persist(to, going))
      return calls
    }
    expect(await puts(cachedBlocks(store, cache), cachedBlocks(store, cache))).toEqual(['put 1'])
    expect(await puts(cachedBlocks(store, cache), store)).toEqual(['put 1'])
    expect(await puts(store, cachedBlocks(cachedBlocks(store, cache), blockCache()))).toEqual(['put 1'])
    const other = memoryStore()
    await ok(persist(other, createPendingHistory({ from: conversation() })))
    expect(await puts(other, store)).toEqual(['put 7'])

    const whole = memoryStore()
    const scoped = (scope: string): Promise<BlockStore> => ok(async () => whole.scoped(scope))
    const [blockStore, again, elsewhere] = [await scoped('a'), await scoped('a'), await scoped('b')]
    expect(sameBlocks(blockStore, again)).toBe(true)
    expect(sameBlocks(blockStore, elsewhere)).toBe(false)
    expect(sameBlocks(blockStore, memoryStore({ scope: 'a' }))).toBe(false)
  })
  it('lists every missing block and returns nothing', async () => {
    const { map, store, refs, keyOf } = await ready()
    for (const position of [1, 4]) map.delete(keyOf(position))
    expect((await fault('MissingBlock', hydrate(store, refs))).ids).toEqual(
      [1, 4].map((position) => refs.refs()[position]?.blockIds[0]),
    )
    const regExp =
      /^2 blocks are not in this scope of the store, the first \w+; nothing was stored or changed: store the/
    expect(refsFaultMessage(await fault('MissingBlock', hydrate(store, refs)))).toMatch(regExp)
  })
  it('refuses bytes that do not match their id', async () => {
    const { map, store, refs, keyOf } = await ready()
    map.set(keyOf(2), new TextEncoder().encode('{"page":"conversation","message":{"role":"assistant","content":[]}}'))
    expect((await fault('DamagedBlock', hydrate(store, refs))).ids).toEqual([refs.refs()[2]?.blockIds[0]])
  })
  it('refuses a block of another type', async () => {
    const store = memoryStore()
    const given = [
      '{}',
      '{"page":"conversation","message":{"role":"assistant"}}',
      '{"page":"conversation","message":{"role":"user","content":[]}}',
      '\ufffd',
    ].map((text) => new TextEncoder().encode(text))
    given.push(Uint8Array.of(0xff, 0xfe))
    for (const [index, reason] of [
      'is not a stored message',
      'content',
      'its role is not assistant',
      'is not a stored message',
      'is not text',
    ].entries()) {
      const [block] = await ok(store.putBlocks([given[index] as Uint8Array]))
      const refs = createRefHistory({ from: [{ blockIds: [block as BlockId], role: 'assistant' }] })
      const malformed = await fault('MalformedBlock', hydrate(store, refs))
      expect(malformed).toMatchObject({ position: 0, id: block })
      expect(refsFaultMessage(malformed)).toContain(reason)
      expect((await ok(hydratePartial(store, refs))).missing).toMatchObject([{ position: 0, ids: [block] }])
    }
  })
  it('refuses a message whose attachments its ref does not list', async () => {
    const store = memoryStore()
    const stored = await ok(persist(store, createPendingHistory({ from: [user('x'.repeat(5000))] })))
    const [whole] = stored.refHistory().refs() as [MessageRef]
    expect(whole.blockIds.length).toBe(2)
    const malformed = await fault(
      'MalformedBlock',
      hydrate(store, createRefHistory({ from: [{ ...whole, blockIds: whole.blockIds.slice(0, 1) }] })),
    )
    expect(malformed.reason).toContain('the ref does not list')
  })
  it('reports blocks that were deleted before an extended history was persisted, and persisting reads none', async () => {
    const { map, store, refs, keyOf } = await ready()
    const { calls, store: counted } = counting(store)
    const extended = (await ok(hydrate(counted, refs))).extend()
    extended.append(user('after'))
    map.delete(keyOf(1))
    calls.length = 0
    const stored = await ok(persist(counted, extended))
    expect(calls).toEqual(['put 1'])
    await fault('MissingBlock', hydrate(store, stored.refHistory()))
  })
  it('refuses a ref with a block that its message does not reference', async () => {
    const store = memoryStore()
    const stored = await ok(persist(store, createPendingHistory({ from: [user('short'), user('x'.repeat(5000))] })))
    const [short, long] = stored.refHistory().refs() as [MessageRef, MessageRef]
    const other = { ...short, blockIds: [...short.blockIds, ...long.blockIds.slice(1)] }
    for (const ref of [other, { ...other, attached: 1 }]) {
      const malformed = await fault('MalformedBlock', hydrate(store, createRefHistory({ from: [ref] })))
      expect(malformed.reason).toContain('the ref lists a block that it does not reference')
    }
  })
  it('returns placeholders on request, which name what is missing and cannot be persisted', async () => {
    const { map, store, refs, keyOf } = await ready()
    map.delete(keyOf(1))
    map.set(keyOf(4), Uint8Array.of(1))
    const partial = await ok(hydratePartial(store, refs))
    expect(partial.view().length).toBe(6)
    expect(partial.view().at(0)).toEqual(conversation()[0])
    expect(partial.missing).toEqual([
      { position: 1, ids: refs.refs()[1]?.blockIds, reason: 'it is not in the store' },
      { position: 4, ids: refs.refs()[4]?.blockIds, reason: 'its bytes do not match its id' },
    ])
    expect(partial.view().at(1)).toMatchObject({
      role: 'user',
      content: [{ text: '[the content of this message is not there: it is not in the store]' }],
    })
    expect('refHistory' in partial || 'extend' in partial || 'append' in partial).toBe(false)
    expect(() => createPendingHistory({ from: partial.view() })).toThrow('[1]: this message is a placeholder')
    expect(() => createPendingHistory().append(partial.view().at(4) as never)).toThrow('placeholder')
    expect([...partial.view()].map((message) => isPlaceholder(message))).toEqual([
      false,
      true,
      false,
      false,
      true,
      false,
    ])
  })
  it('refuses a foreign placeholder', async () => {
    const store = memoryStore()
    const row = JSON.stringify({
      page: 'conversation',
      message: { role: 'user', content: [], meta: { indelible: { missing: [] } } },
    })
    const [block] = await ok(store.putBlocks([new TextEncoder().encode(row)]))
    const malformed = await fault(
      'MalformedBlock',
      hydrate(store, createRefHistory({ from: [{ blockIds: [block as BlockId], role: 'user' }] })),
    )
    expect(malformed.reason).toContain('a placeholder of content that was not found is never stored')
  })
  it('passes store faults on', async () => {
    const broken = keyValueBlocks({ ...keyValueMap(), mget: () => Promise.reject(new Error('no route')) })
    const refs: RefHistory = createRefHistory({ from: [{ blockIds: [id('a')], role: 'user' }] })
    for (const read of [hydrate, hydratePartial])
      expect(refsFaultMessage(await fault('Io', read(broken, refs) as ReturnType<typeof hydrate>))).toBe(
        'the store failed to get blocks: no route',
      )
  })
})

itShared('real conversations come back from their refs as they were', async () => {
  for (const [name, , { messages }] of realConversations(Infinity)) {
    const store = memoryStore()
    const stored = await ok(persist(store, createPendingHistory({ from: messages })))
    const parsed = parseHistoryJson(JSON.stringify(stored))
    if (isLeft(parsed) || parsed.right.kind !== 'refs') throw new Error(name)
    expect(JSON.stringify((await ok(hydrate(store, parsed.right.history))).view())).toBe(JSON.stringify(messages))
  }
})

describe('bytes of refs', () => {
  it('for 400 turns of 2 × 1 kB: under 120 bytes per message, no content, and little overhead in the store', async () => {
    const map = new Map<string, Uint8Array>()
    const store = keyValueBlocks(keyValueMap(map))
    const said = (turn: number, who: string): string => `${who} SECRET ${turn} `.padEnd(1000, `${who} words `)
    const messages = Array.from({ length: 400 }, (_, turn) => [
      user(said(turn, 'user')),
      assistant(said(turn, 'model')),
    ]).flat()
    const stored = await ok(
      persist(store, createPendingHistory({ scope: 'default', session: 'a-session', from: messages })),
    )
    const written = JSON.stringify(stored)
    expect(written.length / messages.length).toBeLessThan(120)
    for (const word of ['SECRET', 'words', 'model', 'text', 'content']) expect(written).not.toContain(word)
    const bytes = [...map].reduce((sum, [key, value]) => sum + key.length + value.length, 0)
    expect(bytes / JSON.stringify(messages).length).toBeLessThan(1.35)
    expect(isLeft(await hydrate(store, stored.refHistory())())).toBe(false)

    const folder = mkdtempSync(join(tmpdir(), 'indelible-refs-'))
    const file = join(folder, 'refs.db')
    await ok((await ok(sqliteStore({ path: file }))).close())
    const empty = statSync(file).size // a page for each table and index
    const sqlite = await ok(sqliteStore({ path: file }))
    for (let turn = 0; turn < 400; turn++)
      await ok(persist(sqlite, createPendingHistory({ from: messages.slice(2 * turn, 2 * turn + 2) })))
    expect(isLeft(await hydrate(sqlite, stored.refHistory())())).toBe(false)
    await ok(sqlite.close())
    expect((statSync(file).size - empty) / JSON.stringify(messages).length).toBeLessThan(1.4) // of messages of 1 kB three fit in a page; with pages of 8 kB, which fit seven, it is 1.22
    rmSync(folder, { recursive: true })
  })
})
