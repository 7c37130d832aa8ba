/** The record is Immer's state: what an Immer user expects of it, and what an application's settings do not change. */
import {
  current,
  enablePatches,
  isDraft,
  isDraftable,
  original,
  produce,
  produceWithPatches,
  applyPatches,
  setAutoFreeze,
  setUseStrictShallowCopy,
  type Draft,
} from 'immer'
import { expect, it } from 'vitest'
import { createHistory, type History, type View } from '../../src/history/index.ts'
import { chunkLength } from '../../src/history/internal.ts'
import { emptyContent, lenOf, sealTail, type Content } from '../../src/history/state.ts'
import type { Immutable } from '../../src/json/immutable.ts'

interface Numbered {
  n: number
  list: number[]
}

const historyOf = (count: number): History<Numbered> => {
  const history = createHistory<Numbered>()
  for (let n = 0; n < count; n++) history.append({ n, list: [n] })
  return history
}
const change = (draft: Draft<readonly Immutable<Numbered>[]>): void => {
  const first = draft[0] as Draft<Numbered>
  first.list.push(7)
  draft.pop()
}
const edited = (view: View<Numbered>) => [{ n: 0, list: [0, 7] }, ...view.toArray().slice(1, -1)]

it.each([3, chunkLength + 1, 2 * chunkLength + 3])('%i messages of a view are a state that Immer takes', (count) => {
  const view = historyOf(count).view()
  expect([isDraftable(view.messages), isDraft(view.messages), view.messages === view.messages]).toEqual([
    ...[true, false, true],
  ])
  expect(produce(view.messages, () => undefined)).toBe(view.messages)
  const next = produce(view.messages, (draft) => {
    expect([isDraft(draft), original(draft) === view.messages, isDraft(draft[0])]).toEqual([true, true, true])
    change(draft)
    expect(current(draft)).toEqual(edited(view))
  })
  expect(next).toEqual(edited(view))
  expect([Object.isFrozen(next), next[1] === view.messages[1]]).toEqual([true, true])
  expect(view.toArray()).toEqual(Array.from({ length: count }, (_, n) => ({ n, list: [n] })))
})

it('patches of a recipe lead from the messages to the result and back', () => {
  enablePatches()
  const { messages } = historyOf(chunkLength + 2).view()
  const [next, patches, inverse] = produceWithPatches(messages, (draft) => {
    const [first] = draft
    if (first !== undefined) first.n = 5
  })
  expect(patches).toEqual([{ op: 'replace', path: [0, 'n'], value: 5 }])
  expect(applyPatches(messages, patches)).toEqual(next)
  expect(applyPatches(next, inverse)).toEqual(messages)
})

it('views share their messages, and keep their arrays', () => {
  const history = historyOf(chunkLength + 1)
  const early = history.view()
  const { messages } = early
  history.append({ n: -1, list: [] })
  const late = history.view()
  expect(early.messages).toBe(messages)
  expect(late.messages.slice(0, -1).every((message, index) => message === messages[index])).toBe(true)
  const state = produce({ view: early, n: 1 }, (draft) => void (draft.n = 2))
  expect(state.view).toBe(early)
})

it('the next state shares every full chunk and is frozen all the way down', () => {
  let content: Content<Numbered> = emptyContent()
  const states = [content.state]
  for (let chunk = 0; chunk < 70; chunk++) {
    for (let n = 0; n < chunkLength; n++) {
      content.tail.messages.push(Object.freeze({ n, list: Object.freeze([n]) }))
      content.tail.codes.push(0)
    }
    content = sealTail(content)
    states.push(content.state)
  }
  expect(lenOf(content)).toBe(70 * chunkLength)
  const frozen = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen))
  expect(states.map(frozen)).toEqual(states.map(() => true))
  for (const [index, state] of states.entries()) {
    const later = states.at(-1)
    expect(state.len).toBe(index * chunkLength)
    const chunks = state.groups.flat()
    expect(chunks.every((chunk, at) => chunk === later?.groups.flat()[at])).toBe(true)
    expect(state.groups.slice(0, -1).every((group, at) => group === later?.groups[at])).toBe(true)
  }
})

it("an application's settings of Immer do not reach the record", () => {
  setAutoFreeze(false)
  setUseStrictShallowCopy(true)
  try {
    const history = historyOf(3 * chunkLength + 1)
    const view = history.view()
    const fork = createHistory<Numbered>({ from: view.slice(0, 2 * chunkLength) }).view()
    for (const messages of [view.messages, fork.messages])
      for (const message of messages)
        expect([Object.isFrozen(message), Object.isFrozen(message.list)]).toEqual([true, true])
    expect(() => (view.messages as unknown[]).push(1)).toThrow(TypeError)
    const mine = produce({ list: [1] }, (draft) => void draft.list.push(2))
    expect(Object.isFrozen(mine)).toBe(false) // the setting did apply to the application's own states
  } finally {
    setAutoFreeze(true)
    setUseStrictShallowCopy(false)
  }
})
