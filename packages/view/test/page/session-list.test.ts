/** The list of sessions: its order, which of them match, its tree and its lines. */
import { afterEach, describe, expect, it } from 'vitest'
import { displayNameOf, overviews } from '../../page/src/data/overviews.ts'
import {
  alikeIn,
  inOrder,
  keyOf,
  linesOf,
  matches,
  modelsIn,
  parentsIn,
  programOf,
  projectsIn,
  treeOf,
  type Order,
  type SessionFilter,
} from '../../page/src/list/session-list.ts'
import type { Overview, ViewedSession } from '../../src/protocol.ts'

const session = (id: string, fields: Partial<ViewedSession> = {}): ViewedSession => ({
  id,
  len: 1,
  head: { size: 1, root: '' },
  created: 1,
  appended: 1,
  metadata: {},
  ...fields,
})
const overview = (id: string, fields: Partial<Overview> = {}): Overview => ({
  id,
  words: '',
  models: [],
  input: 0,
  output: 0,
  ...fields,
})
const byId = (...all: readonly Overview[]): ReadonlyMap<string, Overview> => new Map(all.map((one) => [one.id, one]))
const subAgent = (id: string, parent: string): ViewedSession =>
  session(id, { metadata: { from: { id, metadata: { parent_id: parent } } } })
const forkOf = (id: string, parent: string): ViewedSession => session(id, { forkedFrom: { id: parent, at: 1 } })

describe('the order', () => {
  const all = [
    session('a', { created: 3, appended: 10, len: 5, tokens: 7, metadata: { title: 'émile' } }),
    session('b', { created: 1, appended: 30, len: 9, metadata: { title: 'Zoe' } }), // encrypted: no tokens of its own
    session('c', { created: 2, appended: 20, len: 5, tokens: 90, metadata: { title: 'eve' } }),
  ]
  const known = byId(
    overview('a', { dollars: 0.5 }),
    overview('b', { input: 30, output: 20 }),
    overview('c', { dollars: 2 }),
  )
  it.each<[Order, string]>([
    ['appended', 'b c a'],
    ['created', 'a c b'],
    ['messages', 'b a c'], // as many messages: as they were
    ['title', 'a c b'], // as people sort letters with accents
    ['tokens', 'c b a'],
    ['money', 'c a b'], // without a price: last
  ])('by %s', (order, ids) => {
    expect(
      inOrder(all, order, known)
        .map(({ id }) => id)
        .join(' '),
    ).toBe(ids)
  })
  it('is by the end of an imported conversation, unless it was appended to', () => {
    const ended = { from: { ended: '1970-01-01T00:00:00.050Z' } }
    const imported = session('imported', { created: 900, appended: 900, metadata: ended })
    const continued = session('continued', { created: 900, appended: 901, metadata: ended })
    const recent = session('recent', { appended: 100 })
    expect(inOrder([imported, recent, continued], 'appended', new Map()).map(({ id }) => id)).toEqual([
      'continued',
      'recent',
      'imported',
    ])
  })
})

describe('a filter', () => {
  const any: SessionFilter = { words: '', oldest: -Infinity, cost: 0, model: '', host: '' }
  const one = session('refund-7', {
    appended: 500,
    metadata: {
      title: 'Broken Lamp',
      cwd: '/home/ada/shop',
      host: 'laptop',
      keptFrom: [{ host: 'server' }, 'odd', {}],
    },
  })
  const known = overview('refund-7', { words: 'The lamp flickers', models: ['opus'], dollars: 2 })
  const isIn = (filter: Partial<SessionFilter>, of: Overview | undefined = known): boolean =>
    matches(one, of, { ...any, ...filter })

  it('without wishes lets everything through', () =>
    expect([isIn({}), matches(session('x'), undefined, any)]).toEqual([true, true]))
  it('finds all words, in any case, in the id, the title, the folder, the hosts and the overview', () => {
    expect([isIn({ words: 'REFUND lamp  shop server flickers opus' }), isIn({ words: 'lamp chair' })]).toEqual([
      true,
      false,
    ])
  })
  it('finds the words of an overview only once it has come', () => {
    expect(matches(one, undefined, { ...any, words: 'flickers' })).toBe(false)
  })
  it('compares the last activity, including the bound', () => {
    expect([isIn({ oldest: 500 }), isIn({ oldest: 501 })]).toEqual([true, false])
  })
  it('compares the cost', () => {
    expect([isIn({ cost: 2 }), isIn({ cost: 2.01 }), matches(one, undefined, { ...any, cost: 0.1 })]).toEqual([
      true,
      false,
      false,
    ])
  })
  it('takes whole names of models and hosts', () => {
    expect([isIn({ model: 'opus' }), isIn({ model: 'op' })]).toEqual([true, false])
    expect([isIn({ host: 'laptop' }), isIn({ host: 'server' }), isIn({ host: 'lap' })]).toEqual([true, true, false])
  })
  it('takes the models of a file until the overview has come', () => {
    const imported = session('i', { metadata: { from: { models: ['haiku', 5] } } })
    expect(modelsIn([imported, one], byId(known))).toEqual(['haiku', 'opus'])
    expect(matches(imported, undefined, { ...any, model: 'haiku' })).toBe(true)
    expect(matches(imported, overview('i', { models: ['opus'] }), { ...any, model: 'haiku' })).toBe(false)
  })
})

describe('the tree', () => {
  const shown = (...all: readonly ViewedSession[]): readonly string[] =>
    treeOf(all, parentsIn(all)).map(({ session: { id }, depth }) => `${depth} ${id}`)
  it('has forks and sub-agents below their parents, in the order of the list', () => {
    expect(shown(forkOf('b2', 'b'), session('a'), subAgent('b1', 'b'), session('b'), forkOf('b21', 'b2'))).toEqual([
      '0 a',
      '0 b',
      '1 b2',
      '2 b21',
      '1 b1',
    ])
  })
  it('has those at its root whose parent is not in the list', () => {
    expect(shown(forkOf('a', 'gone'), forkOf('b', 'a'))).toEqual(['0 a', '1 b'])
  })
  it('shows a circle of parents flat, and what hangs from it below', () => {
    expect(shown(forkOf('a', 'b'), forkOf('b', 'a'), forkOf('c', 'b'), forkOf('self', 'self'))).toEqual([
      '0 a',
      '0 b',
      '1 c',
      '0 self',
    ])
  })
  it('finds a parent by the name that its file has; of two, the first in the list', () => {
    const named = (id: string): ViewedSession => session(id, { metadata: { from: { id: 'native' } } })
    expect(shown(named('first'), named('second'), subAgent('child', 'native'))).toEqual([
      '0 first',
      '1 child',
      '0 second',
    ])
  })
})

describe('the lines', () => {
  const rows = [session('a', { metadata: { client: 'codex' } }), session('b'), session('c', { metadata: { client: 'codex' } })]
    .map((one) => ({ session: one, depth: 0 })) // prettier-ignore
  const hit = { session: 'a', position: 4, role: 'user', text: 'lamp', marks: [] } as const
  const shown = (...of: Parameters<typeof linesOf>): readonly (string | undefined)[] =>
    linesOf(...of).map((line) => (line.type === 'heading' ? `# ${line.text}` : keyOf(line)))
  const none = { state: 'none', hits: [] } as const

  it('are the sessions', () => expect(shown(rows, none, undefined)).toEqual(['a', 'b', 'c']))
  it('have a heading for each group', () => {
    expect(shown(rows, none, programOf)).toEqual(['# codex · 2 sessions', 'a', 'c', '# Not known · 1 session', 'b'])
  })
  it('say how the search of the messages stands', () => {
    expect(shown([], { state: 'busy', hits: [] }, undefined)).toEqual(['# Searching the messages…'])
    expect(shown([], { state: 'done', hits: [] }, undefined)).toEqual(['# No message has these words'])
    expect(shown([], { state: 'done', hits: [], fault: 'gone' }, undefined)).toEqual([
      '# The messages could not be searched: gone',
    ])
    expect(shown([], { state: 'done', hits: [hit] }, undefined)).toEqual(['# Found in 1 message', 'a\n4'])
    expect(shown([], { state: 'done', hits: [hit], more: () => {} }, undefined)).toEqual([
      '# Found in 1 message and more',
      'a\n4',
    ])
  })
  it('have different keys', () => {
    const keys = linesOf(rows, { state: 'done', hits: [hit, { ...hit, position: 5 }] }, programOf).map(keyOf)
    expect([keys.length, new Set(keys).size]).toEqual([8, 8])
  })
})

describe('names', () => {
  afterEach(() => void (overviews.value = new Map()))
  it('of projects are as long as they must be to differ', () => {
    const [a, b, c] = ['/work/shop/api', '/work/blog/api', '/work/docs'].map((cwd, index) =>
      session(`${index}`, { metadata: { cwd } }),
    )
    const all = [a, b, c, session('none')] as readonly ViewedSession[]
    expect(all.map(projectsIn(all))).toEqual(['shop/api', 'blog/api', 'docs', ''])
  })
  it('of several sessions are alike by their titles, or by their first words', () => {
    overviews.value = byId(overview('c', { words: 'Lamp' }), overview('d', { words: 'Chair' }))
    const all = [session('a', { metadata: { title: 'Lamp' } }), session('c'), session('d')]
    expect(all.map(displayNameOf)).toEqual(['Lamp', 'Lamp', 'Chair'])
    expect(all.map(alikeIn(all))).toEqual([true, true, false])
  })
})
