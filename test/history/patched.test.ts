/**
 * Code that patches built-ins after the library was loaded: every function and accessor that the global object reaches
 * is replaced, one at a time and in random groups, while the library is called. What is recorded and stored must be what
 * it is without patches.
 */
/* oxlint-disable no-extend-native -- that is what is tested */
import { describe, expect, it } from 'vitest'
import { omitRanges } from 'indelible/history'
import { appendChunk, appendText, chunkLength } from '../../src/history/kit.ts'
import {
  applyDelta,
  assistant,
  createHistory,
  decodeMessage,
  interruptedResults,
  mend,
  openCalls,
  restoreHistory,
  settle,
  textOf,
  toolCall,
  toolCallsOf,
  toolResult,
  user,
  type History,
  type Message,
} from 'indelible'
import { pairCalls, toolResultsOf } from 'indelible/message'
import {
  attachedTo,
  decodeRow,
  encodeRow,
  Recording,
  takeMessage,
  readRow,
  takeRow,
  UnreadRows,
  type EncodedRow,
} from '../../src/entry/kit.ts'
import { admit, formatPath, freezeParsed, inspectJson, jsonEqual, snapshot, textOfJson } from '../../src/json/index.ts'
import { emptyRange, RowTree, hashRow, isBlockId, type BlockId, type HashedRow } from '../../src/proof/kit.ts'
import type { Row } from '../../src/store/index.ts'
import { conversation } from '../messages.ts'
import { isFull, oneIn, rounds } from '../rounds.ts'
import { numbers, places, plain, withPatches, type Patch, type Place } from './built-ins.ts'

// The test's own tools, taken before anything is patched.
const { getOwnPropertyDescriptor, setPrototypeOf } = Object
const { apply } = Reflect
const stringify = JSON.stringify
const parse = JSON.parse

/** A digest that calls nothing: hashing is a dependency's. */
const toyHash = (bytes: Uint8Array): Uint8Array => {
  let state = 7
  for (let index = 0; bytes[index] !== undefined; index++) state = ((state << 5) - state + (bytes[index] as number)) | 0
  const digest = new Bytes(32)
  for (let index = 0; index < 32; index++) digest[index] = state >>> (index % 25)
  return digest
}
const Bytes = Uint8Array

const long = 'a long text, ünï\u0000code 🙂 '.repeat(160)
const image = Buffer.from('x'.repeat(900)).toString('base64')
const texts = conversation().map((message) => stringify(message))

/** What the calls below are given: made anew for each run, before anything is patched. */
const given = () => ({
  messages: conversation(),
  two: { role: 'user', content: 'x' },
  odd: parse(
    '{"__proto__":{"a":[1,2,3,4,5,6,7,8,9]},"toJSON":"data","":null,"n":-0,"deep":[[[[{"x":[]}]]]]}',
  ) as object,
  missing: { a: 1, b: undefined, c: [{ d: undefined }] },
  bad: [new Date(0), () => 1, [undefined], { a: 1n }, { s: '\ud800' }, new Map(), [new (class Mine {})()]] as unknown[],
  halves: { s: 'a\ud800', n: Infinity, list: [1, 2, 3, 4, '\udc00'] },
  delta: { id: 'one', expectedLen: 0, append: conversation() },
  other: { id: 'two', expectedLen: 0, append: [user('other')] },
  late: { id: 'late', expectedLen: 99, append: [user('late')] },
  saved: { messages: parse(`[${texts.join(',')}]`) as unknown[], pages: ['plan', 'preference'] },
  damaged: [
    toolResult('c0', 'before its call'),
    assistant(toolCall('c0', 'f', {}), toolCall('c0', 'f', {})),
    user('x'),
    toolResult('c0', 'late'),
    toolResult('c9', 'orphan'),
  ],
  stored: [
    ...conversation(),
    user(long),
    {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'base64', data: image, mediaType: 'image/png' } },
        { type: 'file', source: { type: 'block', id: 'ab'.repeat(32) as BlockId } },
        { type: 'file', source: { type: 'block', id: 'ab'.repeat(32) as BlockId } },
      ],
      meta: { a: { long, list: [long, 'short'] } },
    } as Message,
  ],
  spelled: '{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"b"}]}',
  chunk: Array.from({ length: chunkLength }, (_, at) => ({
    stored: at === 0 ? '{"in":["",{"b":1}]}' : `${at}`,
    page: 'plan' as const,
    fills: () => (at === 0 ? [{ path: ['in', 0], text: 'filled' }] : []),
  })),
  noChunk: Array.from({ length: chunkLength }, () => ({ stored: '{', page: 'plan' as const, fills: () => [] })),
})

/** Every call, in order; what each gave, or that it threw. Nothing here uses a built-in that may be patched. */
const calls = (of: ReturnType<typeof given>, out: unknown[]): void => {
  const call = (run: () => unknown): void => {
    try {
      out[out.length] = run()
    } catch {
      out[out.length] = 'threw'
    }
  }
  const history = createHistory<Message>()
  for (let at = 0; at < of.messages.length; at++) call(() => history.append(of.messages[at] as Message))
  call(() => history.append(user('tagged'), 'constraint'))
  call(() => history.append(assistant('made', toolCall('c', 'f', { a: [1, { b: 2 }] }))))
  call(() => history.append(toolResult('c', 'done', { isError: true })))
  call(() => history.append(user('1', '2', '3', '4', '5', '6', '7')))
  const any = createHistory<unknown>()
  call(() => any.append(of.two))
  call(() => any.append(of.odd))
  call(() => any.append(of.missing))
  for (let at = 0; at < of.bad.length; at++) call(() => any.append(of.bad[at]))
  call(() => appendText(any, of.spelled, { fills: [{ path: ['content', 0, 'text'], text: 'filled' }] }))
  call(() => appendText(any, of.spelled, { fills: [{ path: ['content', 0, 'text'], text: 1 as unknown as string }] }))
  call(() => appendText(any, '{"a":', { page: 'plan' }))
  call(() => appendText(any, '{"a":[1,2,3,4,5,6]}', { page: 'plan' }))
  const stepped = createHistory<Message>()
  for (const delta of { __proto__: null, [symbolIterator]: () => deltas(of) } as unknown as Iterable<typeof of.delta>)
    call(() => applyDelta(stepped, delta))
  const unread = createHistory<unknown>()
  const reader = {
    textOf: (stored: string) => stored,
    check: () => undefined,
    errorOf: () => new TypeError('no message'),
  }
  call(() => appendChunk(unread, of.chunk, reader))
  call(() => unread.view().at(0))
  call(() => appendChunk(unread, of.noChunk, reader))
  call(() => unread.view().at(-1))
  call(() => unread.view().slice(0, chunkLength).toArray())
  call(() => restoreHistory<Message>(of.saved, decodeMessage))
  call(() => createHistory<Message>({ from: history.view() }))
  call(() => createHistory<Message>({ from: of.messages }))
  call(() => decodeMessage(of.messages[2]))
  call(() => decodeMessage({ role: 'robot' }))
  call(() => settle(history.view()))
  call(() => settle(of.damaged))
  call(() => mend(history.view()).repairs)
  call(() => mend([toolResult('nothing asked', 'for this')]).repairs)
  call(() => openCalls(of.damaged))
  call(() => pairCalls(history.view()))
  call(() => interruptedResults(openCalls(of.damaged), 'interrupted'))
  call(() => textOf(of.messages[1] as Message))
  call(() => toolCallsOf(of.messages[2] as Message))
  call(() => toolResultsOf(of.messages[3] as Message))
  call(() => snapshot(of.odd))
  call(() => admit(of.halves))
  call(() => jsonEqual(of.odd as never, of.two))
  call(() => textOfJson(of.odd as never))
  call(() => formatPath(['a', 0, 'b c']))
  call(() => inspectJson(of.spelled))
  call(() => freezeParsed({ a: [{ b: 'c' }] }))
  const read = createHistory<Message>()
  for (let at = 0; at < of.stored.length; at++)
    call(() => {
      const message = of.stored[at] as Message
      const encoded = encodeRow(message, 'evidence', at === 1, toyHash)
      out[out.length] = encoded
      out[out.length] = attachedTo(message)
      if (encoded._tag === 'Left') return undefined
      const decoded = decodeRow(encoded.right.row.body)
      if (decoded._tag === 'Left') return decoded
      return takeMessage(read, decoded.right, blocksOf(encoded.right))
    })
  const rows = createHistory<Message>()
  const laterRows = createHistory<Message>()
  const recording = new Recording()
  for (let at = 0; at < of.stored.length; at++)
    call(() => Recording.add(recording, of.stored[at] as Message, 'evidence', at === 1, toyHash))
  call(() => {
    const ready = Recording.rowsOf(recording)
    const hashed = setPrototypeOf([] as HashedRow[], null) as HashedRow[]
    for (let at = 0; at < ready.rows.length; at++) {
      const { kind, body } = ready.rows[at] as Row
      const salt = at === 1 ? '0123456789abcdef0123456789abcdef' : undefined
      hashed[at] = hashRow({ kind, body, at: 1_780_000_000_000 + at, salt, erased: undefined }, [], toyHash)
    }
    const grown = new RowTree(emptyRange, hashed, toyHash)
    const later = new UnreadRows(laterRows, () => new TypeError('no message'))
    out[out.length] = [grown.root, grown.nodes, Recording.isIn(recording, grown, emptyRange, false)]
    for (let at = 0; at < hashed.length; at++) {
      const stored = readRow(hashed[at] as HashedRow)
      out[out.length] =
        stored._tag === 'Left' ? stored : takeRow(rows, stored.right, blocksOf(blocksIn(ready, at)), toyHash)
      if (stored._tag === 'Right')
        out[out.length] = UnreadRows.take(later, stored.right, blocksOf(blocksIn(ready, at)), toyHash)
    }
    out[out.length] = UnreadRows.end(later)
    Recording.addTo(recording, rows)
  })
  call(() => isBlockId('g'.length === 1 ? `${'0'}` : ''))
  const views = [history, any, stepped, read, rows, laterRows] as unknown as History<unknown>[]
  for (let at = 0; at < 6; at++) {
    const view = (views[at] as History<unknown>).view()
    call(() => view.toArray())
    call(() => view.pages.toArray())
    call(() => view.slice(1, -1).toJSON())
    call(() =>
      omitRanges(view, [
        { from: 3, to: 4 },
        { from: 1, to: 2 },
      ])
        .slice(1)
        .toArray(),
    )
    call(() => omitRanges(view, [{ from: 1, to: 2 }]).pages.toArray())
    call(() => [view.positionAt(1), view.before(1)])
    call(() => {
      let kept = 0
      for (const message of view) if (message !== undefined) kept++
      return kept
    })
  }
}

const symbolIterator: typeof Symbol.iterator = Symbol.iterator
const deltas = (of: ReturnType<typeof given>) => {
  const list = [of.delta, of.delta, of.other, of.late, { ...of.delta, id: 'twin' }]
  let at = 0
  return { next: () => (at < 5 ? { done: false, value: list[at++] } : { done: true, value: undefined }) }
}

const { set: setInMap } = Map.prototype
const Blocks = Map
/** One row, with all blocks of the append: those that it names come first. */
const blocksIn = (
  { rows, blocks }: ReturnType<typeof Recording.rowsOf>,
  at: number,
): Pick<EncodedRow, 'row' | 'blocks'> => {
  const row = rows[at] as Row
  let before = 0
  for (let index = 0; index < at; index++) before += ownOf(rows[index] as Row)
  const own = setPrototypeOf([] as Uint8Array[], null) as Uint8Array[]
  for (let index = 0; index < ownOf(row); index++) own[index] = blocks[before + index] as Uint8Array
  return { row, blocks: own }
}
/** How many blocks were taken out of a message: its attachments are no blocks of the append. */
const ownOf = ({ blocks = [] }: Row): number => {
  let count = 0
  for (let index = 0; index < blocks.length; index++) if (blocks[index] !== attachment) count += 1
  return count
}
const attachment = 'ab'.repeat(32)

const blocksOf = ({ row, blocks }: Pick<EncodedRow, 'row' | 'blocks'>): ReadonlyMap<BlockId, Uint8Array> => {
  const found = new Blocks<BlockId, Uint8Array>()
  for (let at = 0; at < blocks.length; at++) apply(setInMap, found, [row.blocks?.[at], blocks[at]])
  return found
}

/** What was given, as text. Called when nothing is patched any more. */
const told = (out: readonly unknown[]): string => {
  const toJSON = function (this: Uint8Array): string {
    return `bytes ${Buffer.from(this.buffer).toString('base64').slice(0, 60)}`
  }
  Object.defineProperty(Bytes.prototype, 'toJSON', { value: toJSON, configurable: true })
  try {
    return stringify(out)
  } finally {
    Reflect.deleteProperty(Bytes.prototype, 'toJSON')
  }
}

const forged = { role: 'system', content: [{ type: 'text', text: 'forged' }] }

/** What a patch does in place of the function. */
const manners: readonly ((original: unknown) => (...args: unknown[]) => unknown)[] = [
  () => () => undefined,
  () => () => true,
  () => () => false,
  () => () => 0,
  () => () => stringify(forged),
  () => () => forged,
  () => () => [],
  () => () => ({ next: () => ({ done: true, value: undefined }) }),
  () => (first) => first,
  () => () => {
    throw new RangeError('patched')
  },
  (original) =>
    function (this: unknown, ...args: unknown[]) {
      const result: unknown = typeof original === 'function' ? apply(original, this, args) : undefined
      for (const value of [this, args[0], args[1], result]) tamper(value)
      return result
    },
]

const tamper = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return
  try {
    ;(value as { role: string }).role = 'forged'
    ;(value as { text: string }).text = 'forged'
    ;(value as unknown[])[0] = 'forged'
    ;(value as unknown[]).length = 1
  } catch {
    return // frozen
  }
}

const patchOf = ({ target, key }: Place, manner: number): Patch => {
  const before = getOwnPropertyDescriptor(target, key) as PropertyDescriptor
  const patch = manners[manner % manners.length]?.(before.get ?? before.value) as () => unknown
  const after =
    before.get === undefined
      ? { ...before, value: patch }
      : { get: patch, set: before.set, configurable: true, enumerable: before.enumerable }
  return { target, key, before: plain(before), after: plain(after as PropertyDescriptor) }
}

/** What the calls give while these patches are in place. */
const under = (patches: readonly Patch[]): string => {
  const of = given()
  const out: unknown[] = setPrototypeOf([], null)
  withPatches(patches, () => calls(of, out))
  return told(setPrototypeOf(out, Array.prototype))
}

const expected = under([])

describe('recorded and stored data with patched built-ins', () => {
  it('the calls work without patches', () => {
    expect(places.length).toBeGreaterThan(1500)
    expect(expected).toContain('"applied"')
    expect(expected).toContain('"duplicate"')
    expect(expected).toContain('UnansweredCall')
    expect(expected.match(/"threw"/g)?.length).toBe(8) // what is no JSON
    expect(under([])).toBe(expected)
  })

  it('no patchable built-in is called', () => {
    const called = new Set<string>()
    const add = called.add.bind(called)
    const patches = places
      .filter(({ target }) => target !== globalThis)
      .map((place): Patch => {
        const before = getOwnPropertyDescriptor(place.target, place.key) as PropertyDescriptor
        const original = (before.get ?? before.value) as (...args: unknown[]) => unknown
        const spy = function (this: unknown, ...args: unknown[]) {
          add(place.name)
          return apply(original, this, args) as unknown
        }
        const after = before.get === undefined ? { ...before, value: spy } : { ...before, get: spy }
        return { target: place.target, key: place.key, before: plain(before), after: plain(after) }
      })
    expect(under(patches)).toBe(expected)
    expect([...called]).toEqual([])
  })

  it('is the same with each function and accessor patched, one at a time', () => {
    const differs = (place: Place, manner: number): boolean => under([patchOf(place, manner)]) !== expected
    // A sample: with chunks of two messages other places than with those of 128.
    const first = chunkLength === 2 ? 5 : 0
    const wrong = places.filter((place, at) =>
      isFull ? manners.some((_, manner) => differs(place, manner)) : at % 10 === first && differs(place, at / 5),
    )
    expect(wrong.map(({ name }) => name)).toEqual([])
  })

  it('is the same with random groups patched', () => {
    const random = numbers(16)
    for (let round = 0; round < rounds(6, 60); round++) {
      const share = random() ** 2
      const group = places.filter(() => random() < share)
      const patches = group.map((place) => patchOf(place, Math.floor(random() * manners.length)))
      expect(under(patches) === expected ? [] : [round, group.map(({ name }) => name)]).toEqual([])
    }
  })

  it('is the same with polluted prototypes', () => {
    const keys: readonly PropertyKey[] = [
      ...[
        '0',
        '1',
        '5',
        'toJSON',
        'from',
        'classify',
        'page',
        'pages',
        'fills',
        'check',
        'get',
        'set',
        'value',
        'meta',
      ],
      ...['type', 'role', 'content', 'id', 'tag', 'blocks', 'text', 'path', 'then', 'indelible', 'messages', 'isError'],
      ...['name', 'writable', 'enumerable', 'configurable', 'base_', 'wellFormed', '__proto__x'],
      Symbol.for('immer-state'),
      Symbol.for('immer-draftable'),
      Symbol.iterator,
      Symbol.toPrimitive,
      Symbol.isConcatSpreadable,
    ]
    const forms = [forged, () => forged].flatMap((value): readonly PropertyDescriptor[] => [
      { get: () => value, set: tamper, configurable: true },
      { value, writable: true, configurable: true, enumerable: true },
    ])
    // With chunks of two messages half of the keys, with those of 128 the other half.
    const half = chunkLength === 2 ? 1 : 0
    const targets = [Object.prototype, Array.prototype, String.prototype, Function.prototype]
    for (const [at, target] of targets.entries())
      for (const [index, key] of keys.entries()) {
        if ((!isFull && index % 2 !== half) || getOwnPropertyDescriptor(target, key) !== undefined) continue
        for (let form = (at + (index >> 1)) % oneIn(4); form < 4; form += oneIn(4)) {
          const after = plain(forms[form] as PropertyDescriptor)
          if (under([{ target, key, before: undefined, after }]) !== expected)
            expect.fail(`${String(key)} on prototype ${at}, in form ${form}`)
        }
      }
  })
})
