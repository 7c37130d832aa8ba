import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  contentFaultMessage,
  createCallLog,
  createContentStore,
  recordCall,
  type ContentStore,
} from '@indelible/records'

const put = (store: ContentStore, value: unknown): string => {
  const ref = store.put(value)
  if (!isRight(ref)) throw new Error(contentFaultMessage(ref.left))
  return ref.right
}
const has = (store: ContentStore, ref: string): boolean => isRight(store.get(ref))

describe('the content store', () => {
  it('returns stored values as its own JSON data', () => {
    const store = createContentStore()
    const value = { rows: [1, { a: 'ü' }], big: 10n }
    const ref = put(store, value)
    value.rows.push(2)
    expect(store.get(ref)).toEqual({ _tag: 'Right', right: { rows: [1, { a: 'ü' }], big: '10n' } })
    expect(store.bytes).toBe(Buffer.byteLength('{"rows":[1,{"a":"ü"}],"big":"10n"}'))
  })
  it('holds a maximum of entries and evicts the least recently used', () => {
    const store = createContentStore({ entries: 2 })
    const [a, b] = [put(store, 'a'), put(store, 'b')]
    expect(has(store, a)).toBe(true)
    const c = put(store, 'c')
    expect([a, b, c].map((ref) => has(store, ref))).toEqual([true, false, true])
    expect([store.entries, store.bytes]).toEqual([2, 6])
  })
  it('holds a maximum of bytes', () => {
    const store = createContentStore({ bytes: 300 })
    const refs = [put(store, 'x'.repeat(100)), put(store, 'y'.repeat(100)), put(store, 'z'.repeat(150))]
    expect(refs.map((ref) => has(store, ref))).toEqual([false, true, true])
    expect(store.bytes).toBe(102 + 152)
    expect(store.put('x'.repeat(299))).toEqual({ _tag: 'Left', left: { _tag: 'ContentTooLarge', limit: 300 } })
    expect(store.put('ü'.repeat(150))).toMatchObject({ left: { _tag: 'ContentTooLarge' } })
    expect(store.put(Array.from({ length: 1e5 }, () => 1))).toMatchObject({ left: { _tag: 'ContentTooLarge' } })
    expect(refs.map((ref) => has(store, ref))).toEqual([false, true, true])
  })
  it('expires entries after their lifetime', () => {
    let time = 0
    const store = createContentStore({ ttlMs: 100, now: () => time })
    const a = put(store, 'a')
    time = 60
    const b = put(store, 'b')
    time = 99
    expect([a, b].map((ref) => has(store, ref))).toEqual([true, true])
    time = 100
    expect([a, b].map((ref) => has(store, ref))).toEqual([false, true])
    expect([store.entries, store.bytes]).toEqual([1, 3])
  })
  it('reports a miss as a fault with a reason', () => {
    const store = createContentStore({ entries: 1, id: 's1' })
    const gone = put(store, 1)
    put(store, 2)
    expect(store.get(gone)).toEqual({
      _tag: 'Left',
      left: { _tag: 'ContentMiss', ref: 'content:s1:0', reason: 'removed' },
    })
    for (const ref of ['content:s1:2', 'content:s1:', 'content:s1:-1', 'content:s2:0', 'nonsense', ''])
      expect(store.get(ref)).toMatchObject({ left: { reason: 'unknown' } })
    expect(contentFaultMessage({ _tag: 'ContentMiss', ref: 'r', reason: 'removed' })).toMatch(/no longer stored/)
    expect(contentFaultMessage({ _tag: 'ContentMiss', ref: 'r', reason: 'unknown' })).toMatch(/never in this store/)
    expect(contentFaultMessage({ _tag: 'ContentTooLarge', limit: 5 })).toMatch(/limit of 5 bytes/)
  })
})

describe('records with content', () => {
  it('refer to stored content or give the reason why not', async () => {
    const content = createContentStore({ bytes: 300 })
    const log = createCallLog({ content })
    await recordCall(log, { methodName: 'f' }, () => ({ answer: 42 }))
    await recordCall(log, { methodName: 'g' }, () => 'x'.repeat(1000))
    await recordCall(log, { methodName: 'h' }, () => {
      throw new Error('no')
    }).catch(() => undefined)
    const [first, second, third] = log.view().toArray()
    expect(content.get(first?.contentRef ?? '')).toMatchObject({ right: { answer: 42 } })
    expect([second?.contentRef, second?.['contentFault']]).toEqual([undefined, 'ContentTooLarge'])
    expect([third?.contentRef, content.entries]).toEqual([undefined, 1])
  })
})
