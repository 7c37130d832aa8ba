/** What is recorded and read back is what was given, whatever is added to prototypes; Immer's own two symbols apart. */
/* oxlint-disable no-extend-native -- that is what is tested */
import { expect, it } from 'vitest'
import { applyDelta, createHistory, omitRanges, omittedRanges, restoreHistory } from '../../src/history/index.ts'
import { appendChunk, appendText, chunkLength } from '../../src/history/internal.ts'
import type { PageKind } from '../../src/pages/index.ts'
import { changedBy } from '../pollution.ts'

interface Numbered {
  readonly role: string
  readonly n?: number
  readonly list?: readonly number[]
}
const message = (n: number): Numbered => ({ role: n % 2 === 0 ? 'user' : 'tool', n, list: [n, n + 1] })
/** More than one chunk. */
const count = chunkLength + 5
// oxlint-disable-next-line no-sparse-arrays -- a hole is what an element of a prototype shows through
const sparse = [message(0), , message(2)] as Numbered[]
const names = [
  ...['from', 'classify', 'page', 'pages', 'messages', 'fills', 'check', 'resume', 'id', 'expectedLen', 'append'],
  ...['role', 'n', 'list', 'content', 'len', 'groups', 'kinds', 'codes', 'tail', 'state', 'whole', 'deltas', 'to'],
]

it('nothing that history does reads a property of a prototype', () => {
  const decode = (value: unknown) => ({ _tag: 'Right', right: value as Numbered }) as const
  const texts = Array.from({ length: chunkLength }, (_, n) => ({
    text: `{"n":${n}}`,
    page: 'plan' as PageKind,
    fills: () => [],
  }))
  const run = (): unknown => {
    const out: unknown[] = []
    const attempt = (work: () => unknown): void => {
      try {
        out.push(work() ?? 'undefined')
      } catch (error) {
        out.push((error as Error).message)
      }
    }
    const history = createHistory<Numbered>()
    for (let n = 0; n < count; n++) history.append(message(n))
    history.append(message(count), 'plan')
    attempt(() => applyDelta(history, { id: 'd', expectedLen: history.len, append: [message(1), { role: 'x' }] }))
    attempt(() => applyDelta(history, { id: 'd', expectedLen: history.len - 2, append: [message(1), { role: 'x' }] }))
    attempt(() => applyDelta(history, { id: 'e', expectedLen: history.len, append: sparse }))
    attempt(() => applyDelta(history, {} as never))
    const saved = { messages: history.view().toArray(), pages: history.view().pages.toArray().slice(0, 3) }
    const restored = restoreHistory<Numbered>(saved, decode)
    if (restored._tag === 'Right') out.push(restored.right.history.view().messages, restored.right.classifiedFrom)
    attempt(() => restoreHistory<Numbered>({ messages: [message(0)] }, decode)._tag)
    attempt(() => restoreHistory<Numbered>({ messages: sparse }, decode))
    attempt(() => restoreHistory<Numbered>({ messages: [], pages: ['x'] }, decode))
    attempt(() => restoreHistory<Numbered>({ messages: sparse, pages: sparse }, decode))
    attempt(() => restoreHistory<Numbered>({} as never, decode))
    attempt(() => createHistory<Numbered>({ from: sparse }))
    attempt(() => appendText(history, '{"role":"user"}'))
    attempt(() => appendText(history, '{"role":""}', { fills: [{ path: ['role'], text: 'filled' }] }))
    attempt(() => appendText(history, '{}', { fills: [{ path: ['role'], text: 'filled' }] }))
    const unread = createHistory<Numbered>()
    appendChunk(unread, texts, { check: () => undefined, errorOf: () => new Error('unread') })
    const view = history.view()
    const part = omitRanges(view, [{ from: 1, to: 3 }]).slice(1, -2)
    const fork = createHistory<Numbered>({ from: view })
    fork.append(message(7))
    for (const each of [view, part, fork.view(), unread.view(), createHistory<Numbered>({ from: part }).view()])
      out.push(each.messages, [...each], each.pages.kinds, each.pages.count('plan'), each.at(-1), each.positionAt(2))
    out.push(omittedRanges(part), part.before(5), history.len, `${history[Symbol.toPrimitive as never] === undefined}`)
    return out
  }
  expect(changedBy(names, run)).toEqual([])
})

it.each([Symbol.for('immer-state'), Symbol.for('immer-draftable')])(
  'with %s on Object.prototype an append may throw; then nothing is recorded',
  (symbol) => {
    const history = createHistory<Numbered>()
    for (let n = 0; n < chunkLength - 1; n++) history.append(message(n))
    const before = history.view()
    let appended = 0
    Object.defineProperty(Object.prototype, symbol, { value: true, configurable: true })
    try {
      for (let n = 0; n < 3; n++) {
        history.append(message(n))
        appended++
      }
    } catch {
      appended += 0 // outside of what is promised
    } finally {
      Reflect.deleteProperty(Object.prototype, symbol)
    }
    expect([history.len, history.view().length, history.view().pages.length]).toEqual(
      Array.from({ length: 3 }, () => chunkLength - 1 + appended),
    )
    expect(before.toArray()).toEqual(Array.from({ length: chunkLength - 1 }, (_, n) => message(n)))
    history.append(message(9))
    expect(history.view().at(-1)).toEqual(message(9))
    for (const each of history.view()) expect(Object.isFrozen(each)).toBe(true)
  },
)
