/** Chunks of messages that are appended as JSON text: what is parsed, when, and what happens where that fails. */
import { describe, expect, it } from 'vitest'
import { createHistory, type History, type PageKind, type View } from 'indelible'
import { omitRanges } from 'indelible/history'
import { pageKinds } from 'indelible/pages'
import {
  appendChunk,
  appendTexts,
  chunkLength,
  contentLengths,
  type ChunkReader,
  type ChunkText,
} from '../../src/history/internal.ts'

interface Item {
  readonly at: number
  readonly in: readonly string[]
}
const item = (at: number): Item => ({ at, in: [`${at}`, 'ünï 🙂'] })
const kindAt = (position: number): PageKind => pageKinds[position % 6] as PageKind
const textAt = (position: number): ChunkText => ({
  text: JSON.stringify(item(position)),
  page: kindAt(position),
  fills: () => [],
})
const positions = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index)

/** A history of so many chunks, and how many of its messages were checked: each is when it is read. */
const unparsedHistory = (chunks: number, change: (text: ChunkText, position: number) => ChunkText = (text) => text) => {
  const history = createHistory<Item>()
  const read = { count: 0 }
  const reader: ChunkReader = {
    check: (message) => {
      read.count += 1
      return typeof message === 'object' ? undefined : 'no item'
    },
    errorOf: (fault) => new RangeError(JSON.stringify(fault)),
  }
  for (let start = 0; start < chunks * chunkLength; start += chunkLength)
    appendChunk(
      history,
      positions(start, start + chunkLength).map((position) => change(textAt(position), position)),
      reader,
    )
  return { history, read, reader }
}
const expectItems = (history: History<Item>, len: number): void => {
  const [view, all] = [history.view(), positions(0, len)]
  expect(view.length).toBe(len)
  expect(view.toArray()).toEqual(all.map(item))
  expect([...view]).toEqual(all.map(item))
  expect(view.pages.toArray()).toEqual(all.map(kindAt))
}

it.each([1, 2, 3, 4, 65])('%i chunks of JSON texts read as their messages', (chunks) => {
  const len = chunks * chunkLength
  const { history } = unparsedHistory(chunks)
  const view = history.view()
  for (let more = 0; more < 3; more++) expect(history.append(item(len + more), kindAt(len + more))).toBe(len + more)
  expect(view.toArray()).toEqual(positions(0, len).map(item))
  expectItems(history, len + 3)
})

it('the lengths of messages are those of a record that was parsed, without parsing one', () => {
  const filled = (text: ChunkText, position: number): ChunkText =>
    position % 3 > 0
      ? text
      : {
          ...text,
          text: '{"at":1,"meta":{"kept":["",{}]},"in":["",{"data":""}]}',
          fills: () => [
            { path: ['in', 0], text: 'a\n"b"' },
            { path: ['meta', 'kept', 0], text: 'what a program keeps' },
            { path: ['in', 1, 'data'], text: 'AAAA'.repeat(position * 100) },
          ],
        }
  const { history, read } = unparsedHistory(3, filled)
  for (let more = 0; more < 3; more++) history.append(item(more))
  const views = [
    history.view(),
    history.view().slice(2, -2),
    omitRanges(history.view(), [
      { from: 1, to: 3 },
      { from: chunkLength - 1, to: 2 * chunkLength + 1 },
    ]),
  ]
  const from = (view: View<Item>, index: number): readonly number[] => {
    const lengths: number[] = []
    for (const run of contentLengths(view, index)) {
      const own = [...run.lengths()]
      expect(run.count).toBe(own.length)
      expect(run.length).toBe(own.reduce((sum, length) => sum + length, 0))
      lengths.push(...own)
    }
    return lengths
  }
  const lengthsOf = (): readonly (readonly number[])[] =>
    views.flatMap((view) => [0, 1, view.length].map((index) => from(view, index)))
  const before = lengthsOf()
  expect(read.count).toBe(0)
  expect(before.map(({ length }) => length)).toEqual(
    views.flatMap(({ length }) => [length, Math.max(0, length - 1), 0]),
  )
  const copies = views.map((view) => createHistory<Item>({ from: [...view] }).view())
  expect(read.count).toBeGreaterThan(0)
  expect(lengthsOf()).toEqual(before)
  expect(copies.map((view) => from(view, 0))).toEqual(before.filter((_, index) => index % 3 === 0))
})

describe('an unparsed chunk is parsed', () => {
  it('on the first read of one of its messages, once and completely', () => {
    const { history, read } = unparsedHistory(3)
    const view = history.view()
    expect([view.length, view.pages.count('plan') > 0, view.pages.at(0), view.slice(1).length]).toEqual([
      3 * chunkLength,
      true,
      kindAt(0),
      3 * chunkLength - 1,
    ])
    expect(read.count).toBe(0)
    const first = view.at(chunkLength)
    expect(first).toEqual(item(chunkLength))
    expect(read.count).toBe(chunkLength)
    expect(
      history
        .view()
        .slice(1)
        .at(chunkLength - 1),
    ).toBe(first)
    expect(view.at(2 * chunkLength - 1)).toEqual(item(2 * chunkLength - 1))
    expect(read.count).toBe(chunkLength)
    view.toArray()
    view.toArray()
    expect(read.count).toBe(3 * chunkLength)
  })
  it('once for all forks, and not by forking', () => {
    const { history, read } = unparsedHistory(3)
    const forks = [0, 1].map(() => createHistory<Item>({ from: history.view().slice(0, 2 * chunkLength) }))
    for (const fork of forks) fork.append(item(2 * chunkLength), kindAt(2 * chunkLength))
    expect(read.count).toBe(0)
    for (const fork of forks) expectItems(fork, 2 * chunkLength + 1)
    expect(read.count).toBe(2 * chunkLength)
  })
  it('separately for a fork that ends within it or omits messages after it', () => {
    const { history, read } = unparsedHistory(3)
    expectItems(createHistory<Item>({ from: history.view().slice(0, chunkLength - 1) }), chunkLength - 1)
    expect(read.count).toBe(chunkLength)
    const rest = omitRanges(history.view(), [{ from: chunkLength, to: 3 * chunkLength }])
    expect(rest.toArray()).toEqual(positions(0, chunkLength).map(item))
    expect(read.count).toBe(chunkLength)
  })
})

it('parsed messages are frozen copies of the texts at that time', () => {
  const history = createHistory<Item>()
  const texts = positions(0, chunkLength).map(textAt)
  const reader = { check: () => undefined, errorOf: () => new Error('unread') }
  appendChunk(history, texts, reader)
  Object.assign(texts[0] as object, { text: '"changed"', page: 'plan' })
  texts.length = 0
  reader.check = () => 'changed' as never
  expectItems(history, chunkLength)
  const [first] = history.view().toArray()
  expect([Object.isFrozen(first), Object.isFrozen(first?.in)]).toEqual([true, true])
})

it('only extracted texts are restored', () => {
  const filling = (text: unknown) => ({
    text: '{"at":0,"in":[""]}',
    page: 'plan',
    fills: () => [{ path: ['in', 0], text }],
  })
  const filled = unparsedHistory(1, (text, position) => (position === 1 ? (filling('said') as ChunkText) : text))
  expect(filled.history.view().at(1)).toEqual({ at: 0, in: ['said'] })
  for (const live of [new Date(0), ['x'], 1, undefined]) {
    const { history } = unparsedHistory(1, (text, position) => (position === 1 ? (filling(live) as ChunkText) : text))
    expect(() => history.view().at(0)).toThrow('can only be filled with a string')
  }
})

describe('an invalid message text', () => {
  const bad = chunkLength + 1
  it.each([
    ['no JSON', '{"at":'],
    ['half a pair', '"\\ud800"'],
    ['no item', '1'],
    ['a text of a block that is none', '{}', () => undefined],
  ])(
    '%s: makes each read of its chunk throw the same error and affects nothing else',
    (_, text, fills: ChunkText['fills'] = () => []) => {
      const { history, read } = unparsedHistory(3, (chunkText, position) =>
        position === bad ? { ...chunkText, text, fills } : chunkText,
      )
      const view = history.view()
      expect(view.length).toBe(3 * chunkLength)
      for (const attempt of [
        () => view.at(bad),
        () => view.at(chunkLength),
        () => view.toArray(),
        () => view.messages,
        () => [...view],
        () => createHistory<Item>({ from: view.slice(0, bad) }),
      ]) {
        expect(attempt).toThrow(RangeError)
        expect(attempt).toThrow(`"position":${bad}`)
      }
      expect(view.slice(0, chunkLength).toArray()).toEqual(positions(0, chunkLength).map(item))
      expect(view.slice(-chunkLength).toArray()).toEqual(positions(2 * chunkLength, 3 * chunkLength).map(item))
      expect(view.pages.toArray()).toEqual(positions(0, 3 * chunkLength).map(kindAt))
      expect(history.append(item(3 * chunkLength))).toBe(3 * chunkLength)
      expect(history.view().at(-1)).toEqual(item(3 * chunkLength))
      expect(read.count).toBeGreaterThan(0)
    },
  )
  it('is checked again on the next read if the check itself threw', () => {
    let isTired = true
    const history = createHistory<Item>()
    const check = (): undefined => {
      if (isTired) throw new EvalError('no stack left')
    }
    appendChunk(history, positions(0, chunkLength).map(textAt), { check, errorOf: () => new Error('unread') })
    expect(() => history.view().at(0)).toThrow(EvalError)
    isTired = false
    expectItems(history, chunkLength)
  })
})

it('only whole chunks are accepted, by a history of whole chunks', () => {
  const { history, reader } = unparsedHistory(1)
  const texts = positions(chunkLength, 2 * chunkLength).map(textAt)
  const refused = (to: History<Item>, given: readonly ChunkText[]): void => {
    const { len } = to
    expect(() => appendChunk(to, given, reader)).toThrow(TypeError)
    expect(to.len).toBe(len)
  }
  refused(history, texts.slice(1))
  refused(history, [...texts, textAt(0)])
  refused(history, [{ ...textAt(0), page: 'gossip' as PageKind }, ...texts.slice(1)])
  for (const forged of [{ ...history }, Object.create(history), {}]) refused(forged as History<Item>, texts)
  history.append(item(chunkLength), kindAt(chunkLength))
  refused(history, texts)
  // A tail that is full is a whole chunk.
  for (let position = chunkLength + 1; position < 2 * chunkLength; position++)
    history.append(item(position), kindAt(position))
  expectItems(history, 2 * chunkLength)
  appendChunk(history, positions(2 * chunkLength, 3 * chunkLength).map(textAt), reader)
  expectItems(history, 3 * chunkLength)
})

it('the texts after the last chunk are all recorded, or none of them', () => {
  const { history, reader } = unparsedHistory(1)
  const texts = positions(chunkLength, 2 * chunkLength - 1).map(textAt)
  const bad = { ...textAt(0), text: '{"at":' }
  expect(appendTexts(history, [...texts, bad], reader)).toMatchObject({ position: 2 * chunkLength - 1 })
  expect(() => appendTexts(history, [...texts, bad, bad], reader)).toThrow(TypeError)
  expectItems(history, chunkLength)
  expect(appendTexts(history, texts, reader)).toBe(undefined)
  expectItems(history, 2 * chunkLength - 1)
  expect(() => appendTexts(history, texts, reader)).toThrow(TypeError)
  history.append(item(2 * chunkLength - 1), kindAt(2 * chunkLength - 1))
  expectItems(history, 2 * chunkLength)
})
