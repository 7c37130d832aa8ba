import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { classify, createHistory, degradationPath, minFidelity } from 'indelible'
import { isPageKind, pageKinds, residencyLevels } from 'indelible/pages'
import { conversation } from '../messages.ts'

describe('page kinds and residency', () => {
  it('keep bootstrap and constraint at least structured, and the others at least as pointers', () => {
    expect(Object.fromEntries(pageKinds.map((kind) => [kind, minFidelity(kind)]))).toEqual({
      bootstrap: 'structured',
      constraint: 'structured',
      plan: 'pointer',
      preference: 'pointer',
      evidence: 'pointer',
      conversation: 'pointer',
    })
  })
  it('degrade from full to the minimum', () => {
    expect(pageKinds.map((kind) => degradationPath(kind).join(' '))).toEqual([
      'full structured',
      'full structured',
      'full structured pointer',
      'full compressed structured pointer',
      'full compressed structured pointer',
      'full compressed structured pointer',
    ])
    for (const kind of pageKinds) {
      expect(degradationPath(kind).at(-1)).toBe(minFidelity(kind))
      expect(Object.isFrozen(degradationPath(kind))).toBe(true)
    }
    expect([Object.isFrozen(pageKinds), Object.isFrozen(residencyLevels)]).toEqual([true, true])
  })
  it("give no access to the record from a view's kinds", () => {
    const { pages } = createHistory({ from: conversation() }).view()
    expect([Object.isFrozen(pages), pages.constructor === Object, /^Pages\(\d+\) \[/.test(inspect(pages))]).toEqual([
      true,
      true,
      true,
    ])
    for (let of: object = pages; of !== Object.prototype; of = Object.getPrototypeOf(of) as object)
      expect(Object.isFrozen(of)).toBe(true)
  })
  it('distinguish names from other values', () => {
    expect([...pageKinds, ...residencyLevels].map(isPageKind)).toEqual([
      ...pageKinds.map(() => true),
      ...residencyLevels.map(() => false),
    ])
    for (const other of ['', 'Plan', 'constructor', 0, null, undefined, {}]) expect(isPageKind(other)).toBe(false)
  })
})

describe('classify', () => {
  it.each<readonly [unknown, string]>([
    [{ role: 'system', content: [] }, 'bootstrap'],
    [{ role: 'developer', content: 'x' }, 'bootstrap'],
    [{ role: 'tool', content: 'x' }, 'evidence'],
    [{ role: 'user', content: [{ type: 'text' }, { type: 'tool_result' }] }, 'evidence'],
    [{ role: 'user', content: [{ type: 'tool_result' }, { type: 'text' }] }, 'evidence'],
    [{ role: 'system', content: [{ type: 'tool_result' }] }, 'bootstrap'],
    [{ role: 'user', content: [{ type: 'text', text: 'you must never delete files' }] }, 'conversation'],
    [{ role: 'assistant', content: [{ type: 'tool_call' }] }, 'conversation'],
    [{ role: 'user' }, 'conversation'],
    [{ content: [null, 1, 'tool_result', ['tool_result']] }, 'conversation'],
    [null, 'conversation'],
    ['system', 'conversation'],
    [['tool_result'], 'conversation'],
    [1, 'conversation'],
    [undefined, 'conversation'],
    [{ role: 'system', meta: { indelible: { interrupted: true } } }, 'conversation'],
    [{ role: 'developer', meta: { indelible: { interrupted: true } } }, 'conversation'],
    ...[null, 'interrupted', {}, { interrupted: true }, { indelible: null }, { indelible: true }].map(
      (meta) => [{ role: 'system', meta }, 'bootstrap'] as const,
    ),
    [{ role: 'system', meta: { indelible: { interrupted: 'true' } } }, 'bootstrap'],
  ])('%j is %s', (message, kind) => expect(classify(message)).toBe(kind))
  it('never guesses constraint, plan or preference', () => {
    for (const text of ['constraint', 'plan', 'preference', 'IMPORTANT: always', 'I prefer tabs'])
      for (const role of ['user', 'assistant'])
        expect(classify({ role, content: [{ type: 'text', text }] })).toBe('conversation')
  })
  it('gives each message exactly one kind', () => {
    expect(conversation().map((message) => classify(message))).toEqual([
      ...['bootstrap', 'conversation', 'conversation', 'evidence', 'evidence', 'conversation'],
    ])
  })
})

describe('the page kinds of a view', () => {
  it('are complete at every record length', () => {
    const history = createHistory<number>()
    const kinds = Array.from({ length: 1000 }, (_, index) => pageKinds[(index * 7) % 6] ?? 'plan')
    const views = kinds.map((kind, index) => {
      history.append(index, kind)
      return history.view().pages
    })
    expect(history.view().pages.toArray()).toEqual(kinds)
    for (const at of [0, 15, 16, 17, 127, 128, 129, 500]) expect(views[at]?.toArray()).toEqual(kinds.slice(0, at + 1))
    for (const at of [0, 127, 128, 255, 256, 999]) expect(history.view().pages.at(at)).toBe(kinds[at])
  })
  it('are sliced like arrays', () => {
    const history = createHistory<number>()
    for (const kind of pageKinds) history.append(0, kind)
    for (const [from, to] of [
      [0, 2],
      [-2, undefined],
      [undefined, -4],
      [4, 2],
      [-99, 99],
      [1.9, 3.9],
    ] as const)
      expect(history.view().slice(from, to).pages.toArray()).toEqual(pageKinds.slice(from, to))
  })
  it('are counted and listed in any range', () => {
    const kinds = Array.from({ length: 1000 }, (_, index) => pageKinds[(index * index) % 6] ?? 'plan')
    const history = createHistory<number>()
    for (const [index, kind] of kinds.entries()) history.append(index, kind)
    for (const [from, to] of [
      [0, 1000],
      [0, 0],
      [0, 1],
      [127, 129],
      [128, 256],
      [100, 300],
      [990, 1000],
      [5, 900],
    ] as const) {
      const { pages } = history.view().slice(from, to)
      const expected = kinds.slice(from, to)
      expect([pages.length, pages.kinds, [...pages], JSON.stringify(pages)]).toEqual([
        to - from,
        expected,
        expected,
        JSON.stringify(expected),
      ])
      expect([pages.kinds === pages.kinds, Object.isFrozen(pages.kinds)]).toEqual([true, true])
      for (const kind of pageKinds) expect(pages.count(kind)).toBe(expected.filter((one) => one === kind).length)
    }
    const { pages } = history.view()
    expect(() => pages.count('rule' as never)).toThrow(
      '"rule" is not a page kind; expected one of bootstrap, constraint, plan, preference, evidence, conversation',
    )
    expect(() => degradationPath(1 as never)).toThrow('a number is not a page kind')
  })
  it('are undefined at a fractional index', () => {
    const { pages } = createHistory<number>({ from: [1, 2] }).view()
    expect([pages.at(0.5), pages.at(-0.5), pages.at(NaN)]).toEqual([undefined, undefined, undefined])
  })
})
