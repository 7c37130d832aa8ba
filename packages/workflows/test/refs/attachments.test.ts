/** Stored files that messages name as their sources: part of a ref, brought along, and never silently left behind. */
import { blockCache, cachedBlocks, keyValueBlocks, type BlockStore } from 'indelible/store'
import { storeTask } from '../../../../src/store/internal.ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { copySession, describeSession } from 'indelible/session'
import {
  createPendingHistory,
  createRefHistory,
  hydrate,
  hydratePartial,
  parseHistoryJson,
  persist,
  type MessageRef,
} from '@indelible/workflows/refs'
import {
  createSession,
  file,
  image,
  memoryStore,
  openSession,
  user,
  verifySession,
  exportSession,
  type Message,
} from 'indelible'
import { blockIdOf, type BlockId } from '../../../../src/proof/internal.ts'
import { exportLines, importTranscript, readTranscript } from '@indelible/transcripts'
import { fault, ok } from '../../../../test/task-results.ts'
import { attachment, attachmentId } from '../../../../test/messages.ts'
import { keyValueMap } from '../../../../test/store/key-value-map.ts'

const asked = (inner: BlockStore = memoryStore()) => {
  const calls: string[] = []
  const store: BlockStore = {
    ...inner,
    putBlocks: (blocks) => (calls.push(`put ${blocks.length}`), inner.putBlocks(blocks)),
    getBlocks: (ids) => (calls.push(`get ${ids.length}`), inner.getBlocks(ids)),
    hasBlocks: (ids) => (calls.push(`has ${ids.length}`), inner.hasBlocks(ids)),
  }
  return { calls, store }
}

const named = image({ type: 'block', id: attachmentId, mediaType: 'image/png' })
const asking: Message = user(
  'What is in this?',
  file({ type: 'block', id: attachmentId, mediaType: 'application/pdf' }),
  named,
)
const answering: Message = {
  role: 'tool',
  content: [{ type: 'tool_result', callId: 'c', content: [{ type: 'text', text: 'long '.repeat(1000) }, named] }],
}
const both = [asking, answering]

describe('a message ref', () => {
  it("lists its message's attachments last, with their count", async () => {
    const store = memoryStore()
    await ok(store.putBlocks([attachment]))
    const stored = await ok(persist(store, createPendingHistory({ from: [...both, user('none')] })))
    const refs = stored.refHistory().refs()
    expect(refs.map(({ blockIds, attached }) => [blockIds.length, blockIds.indexOf(attachmentId), attached])).toEqual([
      [2, 1, 1],
      [3, 2, 1],
      [1, -1, undefined],
    ])
    const parsed = parseHistoryJson(JSON.stringify(stored))
    expect(!isLeft(parsed) && parsed.right.kind === 'refs' && parsed.right.history.refs()).toEqual(refs)
    const others = parseHistoryJson({
      type: 'llm2',
      refs: refs.map(({ blockIds, role }) => ({ blockKeys: blockIds, role })),
    })
    if (isLeft(others) || others.right.kind !== 'refs') throw new Error('not read')
    expect((await ok(hydrate(store, others.right.history))).view().toArray()).toEqual([...both, user('none')])
  })
  it('cannot list only attachments or too many', () => {
    const [a, b] = ['a', 'b'].map((digit) => digit.repeat(64)) as [BlockId, BlockId]
    const refs = createRefHistory()
    for (const attached of [-1, 0.5, 2, 3, NaN, '1', null])
      expect(() => refs.append({ blockIds: [a, b], role: 'user', attached } as MessageRef)).toThrow(
        'attached should be the number of attachments',
      )
    refs.append({ blockIds: [a, b], role: 'user', attached: 0 })
    expect(refs.refs()).toEqual([{ blockIds: [a, b], role: 'user' }])
  })
  it("without its message's attachments is not its ref", async () => {
    const store = memoryStore()
    await ok(store.putBlocks([attachment]))
    const [ref] = (await ok(persist(store, createPendingHistory({ from: [asking] })))).refHistory().refs() as [
      MessageRef,
    ]
    const without = createRefHistory({ from: [{ blockIds: ref.blockIds.slice(0, 1), role: 'user' }] })
    expect((await fault('MalformedBlock', hydrate(store, without))).reason).toContain(
      'references a block that the ref does not list',
    )
    const [long] = (await ok(persist(store, createPendingHistory({ from: [user('long '.repeat(1000))] }))))
      .refHistory()
      .refs() as [MessageRef]
    expect(
      (await fault('MalformedBlock', hydrate(store, createRefHistory({ from: [{ ...long, attached: 1 }] })))).reason,
    ).toContain('references a block that the ref does not list')
  })
})

describe('persist with attachments', () => {
  it('checks attachments once and stores nothing if one is missing', async () => {
    const { calls, store } = asked()
    const pending = createPendingHistory({ from: both })
    expect((await fault('MissingBlock', persist(store, pending))).ids).toEqual([attachmentId])
    expect(calls.splice(0)).toEqual(['has 1'])
    await ok(store.putBlocks([attachment]))
    calls.splice(0)
    const stored = await ok(persist(store, pending))
    expect(calls.splice(0)).toEqual(['has 1', 'put 3'])
    const going = stored.extend()
    going.append(user('more'))
    await ok(persist(store, going))
    expect(calls).toEqual(['put 1'])
  })
  it('does not require attachments stored with it', async () => {
    const store = memoryStore()
    const text = 'a long text, '.repeat(500)
    const id = blockIdOf(new TextEncoder().encode(text), store.hash)
    const stored = await ok(
      persist(
        store,
        createPendingHistory({ from: [user(file({ type: 'block', id, mediaType: 'text/plain' })), user(text)] }),
      ),
    )
    expect((await ok(hydrate(store, stored.refHistory()))).len).toBe(2)
  })
  it("copies attachments from the history's store", async () => {
    const [first, second] = [memoryStore(), memoryStore()]
    await ok(first.putBlocks([attachment]))
    const stored = await ok(persist(first, createPendingHistory({ from: both })))
    const hydrated = await ok(hydrate(cachedBlocks(first, blockCache()), stored.refHistory()))
    const going = hydrated.extend()
    going.append(user('more', named))
    for (const history of [stored, going]) {
      const other = memoryStore()
      const moved = await ok(persist(other, history))
      expect(await ok(other.getBlocks([attachmentId]))).toEqual([attachment])
      expect((await ok(hydrate(other, moved.refHistory()))).view().toArray()).toEqual(history.view().toArray())
    }
    const elsewhere = createPendingHistory({ from: hydrated.view() }) // a view does not say where it is from
    await fault('MissingBlock', persist(second, elsewhere))
  })
  it('copies no deleted attachment', async () => {
    const map = new Map<string, Uint8Array>()
    const first = keyValueBlocks(keyValueMap(map))
    await ok(first.putBlocks([attachment]))
    const stored = await ok(persist(first, createPendingHistory({ from: both })))
    map.delete(`indelible/default/${attachmentId}`)
    const { calls, store } = asked()
    expect((await fault('MissingBlock', persist(store, stored))).ids).toEqual([attachmentId])
    expect(calls).toEqual(['has 1'])
  })
})

describe('hydrate with attachments', () => {
  it('checks attachments without reading them and names missing ones', async () => {
    const map = new Map<string, Uint8Array>()
    const { calls, store } = asked(keyValueBlocks(keyValueMap(map)))
    await ok(store.putBlocks([attachment]))
    const refs = (await ok(persist(store, createPendingHistory({ from: [...both, user('none')] })))).refHistory()
    calls.splice(0)
    expect((await ok(hydrate(store, refs))).view().toArray()).toEqual([...both, user('none')])
    expect(calls.toSorted()).toEqual(['get 4', 'has 1'])
    map.delete(`indelible/default/${attachmentId}`)
    expect((await fault('MissingBlock', hydrate(store, refs))).ids).toEqual([attachmentId])
    const partial = await ok(hydratePartial(store, refs))
    expect(partial.missing).toEqual(
      [0, 1].map((position) => ({ position, ids: [attachmentId], reason: 'it is not in the store' })),
    )
    expect(partial.view().at(2)).toEqual(user('none'))
  })
})

describe('a session with attachments', () => {
  it('refuses a message with a missing attachment, and keeps attachments as long as itself', async () => {
    const store = memoryStore()
    const session = await ok(createSession(store, { id: 's' }))
    expect((await fault('MissingBlock', session.append(asking))).ids).toEqual([attachmentId])
    expect(session.len).toBe(0)
    // The rows of another log are all that keeps it.
    const log = await ok(store.create({ id: 'log', encrypt: false }))
    await ok(
      store.append('log', {
        expected: log.head,
        rows: [{ kind: 'entry', body: '', blocks: [attachmentId] }],
        blocks: [attachment],
      }),
    )
    await ok(session.append(both))
    await ok(store.remove('log'))
    expect(await ok(store.hasBlocks([attachmentId]))).toEqual([true])
    expect((await ok(openSession(store, 's'))).view().toArray()).toEqual(both)
    await ok(verifySession(store, 's'))
    await ok(store.remove('s'))
    expect(await ok(store.hasBlocks([attachmentId]))).toEqual([false])
  })
  it('is copied with its attachments, and imported where they exist', async () => {
    const [from, to] = [memoryStore(), memoryStore()]
    await ok(from.putBlocks([attachment]))
    const session = await ok(createSession(from, { id: 's' }))
    await ok(session.append([...both, asking]))
    const info = await ok(copySession(from, to, 's'))
    expect(info.head).toEqual(session.head())
    expect(await ok(to.getBlocks([attachmentId]))).toEqual([attachment])

    const transcript = readTranscript([...exportLines(await exportSession(from, 's'))].join(''))
    if (isLeft(transcript)) throw new Error('not read')
    const elsewhere = memoryStore()
    expect((await fault('MissingBlock', importTranscript(elsewhere, transcript.right))).ids).toEqual([attachmentId])
    await fault('NoSuchLog', describeSession(elsewhere, 's'))
    await ok(elsewhere.putBlocks([attachment]))
    expect((await ok(importTranscript(elsewhere, transcript.right))).head).toEqual(info.head)
  })
  it('does not verify without them', async () => {
    const inner = memoryStore()
    await ok(inner.putBlocks([attachment]))
    const session = await ok(createSession(inner, { id: 's' }))
    await ok(session.append([user('a'), asking]))
    const store = {
      ...inner,
      getBlocks: (ids: readonly BlockId[]) =>
        storeTask(async () => ({ _tag: 'Right' as const, right: ids.map(() => undefined) }), 'store.getBlocks'),
    }
    expect(await fault('DamagedLog', verifySession(store, 's'))).toMatchObject({
      position: 1,
      reason: `block ${attachmentId} is missing`,
    })
  })
})
