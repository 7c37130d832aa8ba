/** Reads the notes of a thread's record. */
import { expect, it } from 'vitest'
import type { Note } from 'indelible/internal/notes'
import type { Session } from 'indelible'
import type { Item } from '../src/items.ts'
import { dumpedOf, itemsOf, notedList, noteOf, Thread, type NotedValue, type Value } from '../src/thread.ts'

const dumped = (text: string) => ['json', text] as const
const session = (notes: readonly Note[]): Session =>
  ({ notes: () => notes, view: () => ({ at: () => undefined }) }) as unknown as Session

const checkpoint = (
  id: string,
  values: { readonly [channel: string]: NotedValue },
  { ns = '', base = null as string | null, parent = null as string | null, versions = {} as object } = {},
) =>
  noteOf({
    type: 'checkpoint',
    ns,
    id,
    parent,
    base,
    rest: dumped(`"rest ${id}"`),
    metadata: dumped(`"metadata ${id}"`),
    values,
    versions: versions as { readonly [channel: string]: number },
  })

/** The texts of a checkpoint's channels. */
const shown = (thread: Thread, ns: string, id: string | undefined): unknown => {
  const found = thread.checkpoint(ns, id)
  return (
    found && [found.id, Object.fromEntries([...found.values].map(([name, value]) => [name, dumpedOf(value, thread.session)[1]]))] // oxfmt-ignore
  )
}

it('each checkpoint has its values: whole, as those before it, of an earlier version, or as additions to a list', () => {
  const thread = new Thread(
    session([
      checkpoint(
        '1',
        { a: { whole: dumped('1') }, l: { keep: 0, add: ['1', '2', '3'] } },
        { versions: { a: 1, l: 1 } },
      ),
      checkpoint(
        '2',
        { a: { same: true }, l: { keep: 2, add: ['4'] }, b: { whole: dumped('2') } },
        { base: '1', parent: '1', versions: { a: 1, l: 2, b: 1 } },
      ),
      checkpoint(
        '3',
        { a: { same: true }, l: { at: 1 }, b: { same: true }, c: { same: true } },
        { versions: { l: 1 } },
      ),
      checkpoint('4', { l: { at: 1 }, b: { at: '1' }, a: { at: 9 } }, { versions: { l: 1 } }),
      checkpoint('5', { l: { keep: 1, add: ['5'], snapshot: true } }, { base: '2', versions: { l: 3 } }),
      checkpoint('6', { l: { keep: 1, add: [] } }, { base: '4' }),
      checkpoint(
        '7',
        { l: { keep: 5, add: ['7'] }, a: { keep: 0, add: ['8'] }, b: { keep: 1, add: ['9'] } },
        { base: '1' },
      ),
      checkpoint('x', { a: { same: true }, l: { at: 1 } }, { ns: 'child', base: '1' }),
    ]),
  ).update()
  expect(['1', '2', '3', '4', '5', '6', '7'].map((id) => shown(thread, '', id))).toEqual([
    ['1', { a: '1', l: '[1,2,3]' }],
    ['2', { a: '1', l: '[1,2,4]', b: '2' }],
    ['3', { l: '[1,2,3]' }],
    ['4', { l: '[1,2,3]' }],
    ['5', { l: '{"lc":2,"type":"delta_snapshot","value":[1,5]}' }],
    ['6', { l: '[1]' }],
    ['7', { l: '[1,2,3,7]', a: '[8]' }],
  ])
  expect(shown(thread, 'child', 'x')).toEqual(['x', {}])
  expect(thread.checkpoint('', '2')).toMatchObject({
    ns: '',
    id: '2',
    parent: '1',
    rest: dumped('"rest 2"'),
    metadata: dumped('"metadata 2"'),
    versions: { a: 1, l: 2, b: 1 },
  })
  expect(thread.checkpoint('', '1')?.parent).toBeUndefined()
  const valueAt = (...at: Parameters<Thread['valueAt']>): string | undefined => {
    const value = thread.valueAt(...at)
    return value && dumpedOf(value, thread.session)[1]
  }
  expect([valueAt('', 'l', 2), valueAt('', 'l', '2'), valueAt('', 'l', undefined), valueAt('child', 'l', 2)]).toEqual([
    '[1,2,4]',
    undefined,
    undefined,
    undefined,
  ])
})

it('without an id, the checkpoint of a namespace is the one with the greatest id', () => {
  const thread = new Thread(session(['2', '3', '1'].map((id) => checkpoint(id, {})))).update()
  expect(shown(thread, '', undefined)).toEqual(['3', {}])
  expect([thread.checkpoint('', '4'), thread.checkpoint('child', undefined), thread.checkpoint('child', '1')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

const writes = (
  id: string,
  task: string,
  path: string,
  ...values: readonly (readonly [number, string, NotedValue])[]
) => noteOf({ type: 'writes', ns: '', id, task, path, writes: values })

it('a checkpoint has the last write of each task and index, until it is pruned', () => {
  const notes: Note[] = [
    writes('1', 't', '', [0, 'a', { whole: dumped('1') }], [1, 'b', { keep: 0, add: ['2'] }]),
    writes('1', 'u', 'p', [0, 'a', { whole: dumped('3') }], [2, 'c', { at: 1 }], [3, 'c', { same: true }]),
    writes('1', 't', 'q', [0, 'a', { whole: dumped('4') }]),
    writes('2', 't', '', [0, 'a', { whole: dumped('5') }]),
    checkpoint('1', {}),
    checkpoint('2', {}),
  ]
  const thread = new Thread(session(notes)).update()
  const shownWrites = (id: string, ns = ''): unknown =>
    [...thread.writesOf(ns, id).values()].map(({ task, idx, path, channel, value }) =>
      [task, idx, path, channel, dumpedOf(value, thread.session)[1]].join(' '),
    )
  expect(shownWrites('1')).toEqual(['t 0 q a 4', 't 1  b [2]', 'u 0 p a 3'])
  expect([shownWrites('2'), shownWrites('3'), shownWrites('1', 'child')]).toEqual([['t 0  a 5'], [], []])
  notes.push(noteOf({ type: 'prune', ns: 'child', ids: ['1'] }), noteOf({ type: 'prune', ns: '', ids: ['1', 'none'] }))
  thread.update()
  expect([shownWrites('1'), shownWrites('2'), thread.checkpoint('', '1'), thread.checkpoint('', '2')?.id]).toEqual([
    [],
    ['t 0  a 5'],
    undefined,
    '2',
  ])
})

it('each note is read once, and those of others are left out', () => {
  const notes: Note[] = [
    { type: 'pin', position: 0 },
    { type: 'application', namespace: 'other', content: checkpoint('1', {}).content },
    { type: 'application', namespace: 'langgraph', content: 'text' },
    checkpoint('2', { l: { keep: 0, add: ['1'] } }),
  ]
  const thread = new Thread(session(notes))
  expect(thread.update()).toBe(thread)
  expect([...(thread.checkpoints.get('')?.keys() ?? [])]).toEqual(['2'])
  const first = thread.checkpoint('', '2')
  notes.push(checkpoint('3', {}))
  thread.update()
  expect([...(thread.checkpoints.get('')?.keys() ?? [])]).toEqual(['2', '3'])
  expect(thread.checkpoint('', '2')).toBe(first)
})

it.each<readonly [number, readonly string[], readonly string[]]>([
  [0, ['a'], ['a']],
  [1, [], ['1']],
  [2, ['a', 'b'], ['1', '2', 'a', 'b']],
  [3, [], ['1', '2', '3']],
  [4, ['a'], ['1', '2', '3', '4', 'a']],
  [9, ['a'], ['1', '2', '3', '4', 'a']],
])('a list that keeps %i items of one before it and adds %j is %j, read in any order', (keep, add, items) => {
  const notes = (): readonly Note[] => [
    checkpoint('1', { l: { keep: 0, add: ['1', '2', '3'] } }),
    checkpoint('2', { l: { keep: 3, add: ['4'] } }, { base: '1' }),
    checkpoint('3', { l: { keep, add } }, { base: '2' }),
  ]
  for (const order of ['3', '13', '23', '123', '213']) {
    const thread = new Thread(session(notes())).update()
    const read = order.split('').map((id) => {
      const value = thread.checkpoint('', id)?.values.get('l') as Extract<Value, { kind: 'list' }>
      expect(itemsOf(value)).toBe(itemsOf(value))
      return itemsOf(value).map(({ ref }) => ref)
    })
    expect(read.at(-1)).toEqual(items)
  }
  const before = new Thread(session(notes())).update().checkpoint('', '2')?.values.get('l')
  const list = items.map((text) => ({ ref: text, text }))
  const noted = { keep: items.length - add.length, add }
  const isSame = (a: Item, b: Item): boolean => a.ref === b.ref
  expect(notedList(list, before, false, isSame)).toEqual(noted)
  expect(notedList(list, before, true, isSame)).toEqual({ ...noted, snapshot: true })
  expect(notedList(list, undefined, false, isSame)).toEqual({ keep: 0, add: items })
})

it('a list as it was before is noted as the same, unless it is a snapshot now', () => {
  const thread = new Thread(session([checkpoint('1', { l: { keep: 0, add: ['1', '2'] } })])).update()
  const before = thread.checkpoint('', '1')?.values.get('l') as Extract<Value, { kind: 'list' }>
  const isSame = (a: Item, b: Item): boolean => a.ref === b.ref
  expect(notedList(itemsOf(before), before, false, isSame)).toEqual({ same: true })
  expect(notedList(itemsOf(before), before, true, isSame)).toEqual({ keep: 2, add: [], snapshot: true })
  expect(notedList(itemsOf(before).slice(1), before, false, isSame)).toEqual({ keep: 0, add: ['2'] })
})

it('without a prune no note is dead: a checkpoint that was stored again is still the base of others', () => {
  const notes = [
    checkpoint('1', { a: { whole: dumped('1') } }, { versions: { a: 1 } }),
    checkpoint('2', { a: { same: true } }, { base: '1', parent: '1', versions: { a: 1 } }),
    checkpoint('1', {}, { versions: {} }),
  ]
  expect(new Thread(session(notes)).update().deadNotes()).toEqual([])
  const pruned = noteOf({ type: 'prune', ns: '', ids: ['2'] })
  expect(new Thread(session([...notes, pruned])).update().deadNotes()).toEqual([1, 3])
  const again = noteOf({ type: 'prune', ns: '', ids: ['2'], again: true })
  const remaining = checkpoint('1', {}, { versions: {} })
  expect(new Thread(session([...notes, again, remaining])).update().deadNotes()).toEqual([0, 1, 2, 3])
})
