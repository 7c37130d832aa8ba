/** Deriving by example: what a context holds, what is enforced, and what is told when it can't be. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  faultMessage,
  assistant,
  createHistory,
  settle,
  system,
  text,
  toolCall,
  toolResult,
  user,
  type Message,
  type View,
} from 'indelible'
import { placeNote, rangeDigest, type Note } from '../../src/notes/internal.ts'
import {
  deriveContext,
  estimateTokens,
  prepareSummaries,
  pricesOf,
  recall,
  recallTool,
  summariesInBackground,
  type DerivedContext,
  type DeriveOptions,
} from 'indelible/context'
import { conversation } from '../messages.ts'
import { expectLawful, recordOf } from './conversations.ts'
import { rounds } from '../rounds.ts'

const derive = (view: View<Message>, options: DeriveOptions): DerivedContext => {
  const derived = deriveContext(view, options)
  if (isLeft(derived)) throw new Error(faultMessage(derived.left))
  return derived.right
}

const textsOf = (context: DerivedContext): readonly string[] =>
  [...context.messages].map(({ content }) =>
    content.map((part) => (part.type === 'text' ? part.text : part.type)).join('|'),
  )

/** A long turn of an agent: each step reads a file of its own. */
const steps = (count: number, name = 'call'): Message[] =>
  Array.from({ length: count }, (_, index) => [
    assistant('Looking.', toolCall(`${name}_${index}`, 'read_file', { path: `src/${index}.ts` })),
    toolResult(
      `${name}_${index}`,
      Array.from({ length: 70 }, (_, line) => `export const name${line} = ${line * index}\n`).join(''),
    ),
  ]).flat()

describe('a record that fits', () => {
  it('an empty record gives an empty context', () => {
    expect(derive(recordOf([]), { budget: 0 })).toMatchObject({ tokens: 0, length: 0, dropped: [] })
  })
  it('reports the previously sent messages as the prefix, at cached prices', () => {
    const view = recordOf(conversation())
    const first = derive(view.slice(0, 2), { budget: 10_000 })
    const second = derive(view.slice(0, 5), { budget: 10_000, previous: first })
    expect(second).toMatchObject({ stablePrefix: 2, stableTokens: first.tokens })
    expect(second.cost).toBeCloseTo(first.tokens * 0.1 + (second.tokens - first.tokens) * 1.25)
    expect(derive(view, { budget: 10_000, previous: first, prices: { cached: 0, fresh: 1 } }).cost).toBe(
      derive(view, { budget: 10_000 }).tokens - first.tokens,
    )
  })
  it('counts tools and system prompt against the budget', () => {
    const view = recordOf([...conversation(), ...steps(3)])
    const { tokens } = derive(view, { budget: 10_000 })
    expect(derive(view, { budget: tokens + 50, toolTokens: 30, systemTokens: 20 })).toMatchObject({
      budget: tokens,
      epoch: 0,
    })
    expect(derive(view, { budget: tokens + 49, toolTokens: 30, systemTokens: 20 }).epoch).toBe(1)
    expect(() => deriveContext(view, { budget: 100, toolTokens: -1 })).toThrow('toolTokens is -1')
  })
  it('accepts any estimator', () => {
    const view = recordOf(conversation())
    expect(derive(view, { budget: 6, estimate: () => 1 }).tokens).toBe(6)
  })
})

/** The positions that have a message of their own in a context. */
const positionsOfMessages = ({ sources }: DerivedContext): readonly number[] =>
  [...sources].flatMap((source) => {
    if (source.type === 'clone') return [source.position]
    return source.type === 'representation' && source.level !== 'pointer' ? [source.from] : []
  })

describe('a record that does not fit', () => {
  it('cuts a result that alone exceeds the budget to head and tail, and names what does not fit', () => {
    const result = `first line ${'x'.repeat(40_000)} last line`
    const view = recordOf([user('Read it.'), assistant(toolCall('c', 'read', '{}')), toolResult('c', result)])
    const context = derive(view, { budget: 2000 })
    expectLawful(context, view)
    expect(JSON.stringify(context.messages)).toMatch(
      /first line x+\\n\[… .* omitted; call recall with .* …\]\\nx+ last line/,
    )
    expect([...context.residency]).toEqual(['full', 'full', 'compressed'])
    const rule = recordOf(
      [user('Go.'), system(`You must never push. ${'Use tabs. '.repeat(50)}`), user('Now?')],
      [undefined, 'constraint'],
    )
    const refused = deriveContext(rule, { budget: 60 })
    expect(refused).toMatchObject({ left: { _tag: 'MinimumDoesNotFit', budget: 60 } })
    if (isLeft(refused)) {
      expect(refused.left.pages[0]).toMatchObject({ from: 1, to: 2, kinds: ['constraint'] })
      expect(deriveContext(rule, { budget: refused.left.needed })._tag).toBe('Right')
    }
  })
  const messages = [
    system('You fix bugs.'),
    user('Never push to main.'),
    user('Fix the build.'),
    ...steps(40),
    assistant('Fixed.'),
    user('Now the docs.'),
    ...steps(2, 'docs'),
  ]

  it('treats a short "go on" as part of the active turn', () => {
    const view = recordOf([...messages, assistant('Shall I go on?'), user('ok, continue')])
    const context = derive(view, { budget: 4000 })
    const task = messages.findLastIndex(({ role }) => role === 'user')
    for (let position = task; position < view.length; position++) expect(context.residency.at(position)).toBe('full')
  })
  it('fits at exactly the token count that the fault names', () => {
    const view = recordOf([user('Rule. '.repeat(100)), ...conversation().slice(1)], ['constraint'])
    const derived = deriveContext(view, { budget: 100 })
    const needed = isLeft(derived) ? derived.left.needed : NaN
    expect(derive(view, { budget: needed }).tokens).toBe(needed)
    expect(deriveContext(view, { budget: needed - 1 })._tag).toBe('Left')
  })
})

it('what a program keeps in `meta` changes nothing that is shown', () => {
  const bare = [user('Fix the build.'), ...steps(40), assistant('Fixed.'), user('Now the docs.')]
  const kept = { program: { line: 'x'.repeat(20_000), list: [{ meta: '"}' }] } }
  const withMeta = bare.map((message, index): Message =>
    index % 3 === 0
      ? { ...message, meta: kept }
      : { ...message, content: message.content.map((part) => ({ meta: kept, ...part })) },
  )
  for (const budget of [2000, 8000]) {
    const [expected, found] = [derive(recordOf(bare), { budget }), derive(recordOf(withMeta), { budget })]
    expect(expected.epoch).toBeGreaterThan(0)
    expect(found.sources.toArray()).toEqual(expected.sources.toArray())
    expect(textsOf(found)).toEqual(textsOf(expected))
  }
})

it('a marker counts a screenshot as an image, whatever the bytes of it', () => {
  const image = (bytes: number): Message => ({
    role: 'user',
    content: [{ type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'A'.repeat(bytes) } }],
  })
  const shown = [8000, 2_000_000].map((bytes) =>
    derive(recordOf([user('Fix the page.'), image(bytes), ...steps(10), user('Now the docs.')]), { budget: 3000 }),
  )
  expect(shown[0]?.epoch).toBeGreaterThan(0)
  expect(shown.map(textsOf)[1]).toEqual(shown.map(textsOf)[0])
})

describe('a damaged record', () => {
  it('shows a result that came late as a message, and says so', () => {
    const view = recordOf([
      user('Go.'),
      assistant(toolCall('c1', 'one', '{}'), toolCall('c2', 'two', '{}')),
      toolResult('c1', 'first'),
      user('Well?'),
      toolResult('c2', 'late', { name: 'two' }),
    ])
    const context = derive(view, { budget: 5000 })
    expectLawful(context, view)
    expect(textsOf(context)).toContain(
      '[Message 4 is a tool result that does not directly follow its call of two.]\nlate',
    )
    expect(context.sources.toArray()).toContainEqual({
      type: 'synthetic',
      callId: 'c2',
      position: 1,
      reason: 'unanswered',
    })
    expect(context.residency.toArray()).toEqual(['full', 'full', 'full', 'full', 'compressed'])
    // What was sent before it came stays as it is.
    const before = derive(view.slice(0, 4), { budget: 5000 })
    expect(derive(view, { budget: 5000, previous: before }).stablePrefix).toBe(before.messages.length)
  })
  it('gets a result with its source for each unanswered call', () => {
    const view = recordOf([user('go'), assistant(toolCall('a', 'one', '{}')), user('stop')])
    const context = derive(view, { budget: 10_000 })
    expect(context.messages.at(2)).toEqual(
      toolResult('a', [text('No result was recorded for this call.')], { name: 'one', isError: true }),
    )
    expect(context.sources.at(2)).toEqual({ type: 'synthetic', callId: 'a', position: 1, reason: 'unanswered' })
  })
  it('shows a cut-off turn as interrupted, and its continuation once recorded', () => {
    const history = createHistory<Message>({
      from: [user('go'), assistant(toolCall('a', 'one', '{}'), toolCall('b', 'two', '{}')), toolResult('a', 'ok')],
    })
    const cut = derive(history.view(), { budget: 10_000 })
    expect(cut.sources.at(2)).toEqual({ type: 'synthetic', callId: 'b', position: 1, reason: 'interrupted' })
    expect(cut.provenance).toContain('interrupted')
    expect(settle(cut.messages)._tag).toBe('Right')
    history.append(toolResult('b', 'ok'))
    const whole = derive(history.view(), { budget: 10_000, previous: cut })
    expect(whole.messages.toArray()).toEqual(history.view().toArray())
    expect(whole.stablePrefix).toBe(2)
  })
})

describe('notes', () => {
  const messages = [
    system('You fix bugs.'),
    user('Never push to main.'),
    ...steps(20),
    assistant('Fixed.'),
    user('Now the docs.'),
  ]
  const pin: Note = { type: 'pin', position: 5 }

  it('a pin counts for each context that continues one from before it', () => {
    const view = recordOf([system('Be brief.'), user('Read all files.'), ...steps(40)])
    const notes: Note[] = []
    const before = derive(view, { budget: 4000, notes: [] })
    expect(before.residency.at(10)).toBe('structured')
    notes.push({ type: 'pin', position: 10 })
    for (let times = 0; times < 2; times++)
      expect(derive(view, { budget: 4000, notes, previous: before }).digest).toBe(
        derive(view, { budget: 4000, notes }).digest,
      )
  })
  it('a pin that did not fit counts for the next context, too', () => {
    const view = recordOf([user('Read.'), ...steps(2), user('Go on, and take your time.')])
    const sent = derive(view, { budget: 300 })
    const notes: Note[] = [1, 2, 3, 4].map((position) => ({ type: 'pin', position }))
    const refused = deriveContext(view, { budget: 300, notes })
    expect(isLeft(refused)).toBe(true)
    for (let times = 0; times < 2; times++)
      expect(deriveContext(view, { budget: 300, notes, previous: sent })).toEqual(refused)
  })
  it('a pinned message keeps its whole text, also among the newest', () => {
    const rule = Array.from({ length: 300 }, (_, index) => `Rule ${index}: leave file ${index} as it is.`).join('\n')
    const view = recordOf([user('Read.'), user(rule), ...steps(3), user('Go on.')])
    const context = derive(view, { budget: 4800, notes: [{ type: 'pin', position: 1 }] })
    expect(context.residency.at(3)).not.toBe('full')
    expect(textsOf(context)).toContain(rule)
  })
  it('a pin keeps a page at least structured from the next context on', () => {
    const view = recordOf(messages)
    const before = derive(view, { budget: 1000 })
    expect(positionsOfMessages(before)).not.toContain(5)
    const after = derive(view, { budget: 1000, notes: [pin], previous: before })
    expectLawful(after, view, (position) => (position === 5 ? 'constraint' : (view.pages.at(position) as 'evidence')))
    expect(positionsOfMessages(after)).toContain(5)
    expect(after.messages.toArray()).toEqual(derive(view, { budget: 1000, notes: [pin] }).messages.toArray())
  })
  it('a pin on a fully shown page changes nothing already sent', () => {
    const view = recordOf(messages)
    const before = derive(view, { budget: 1000 })
    const last: Note = { type: 'pin', position: view.length - 1 }
    expect(derive(view, { budget: 1000, notes: [last], previous: before }).stablePrefix).toBe(before.messages.length)
  })
  it('an unpinned page may be dropped again', () => {
    const view = recordOf(messages)
    const notes: Note[] = [pin, { type: 'unpin', position: 5 }]
    expect(positionsOfMessages(derive(view, { budget: 1000, notes }))).not.toContain(5)
  })
  it('only the last word on a page counts, however often pages were pinned and unpinned', () => {
    const view = recordOf(messages)
    const noteAt = (position: number): Note => ({ type: position < 0 ? 'unpin' : 'pin', position: Math.abs(position) })
    const shown = (...positions: number[]): readonly (readonly Message[] | boolean)[] => shownOf(positions.map(noteAt))
    const shownOf = (notes: readonly Note[]): readonly (readonly Message[] | boolean)[] => {
      const context = derive(view, { budget: 1000, notes })
      const of = positionsOfMessages(context)
      return [context.messages.toArray(), ...[5, 7, 9].map((position) => of.includes(position))]
    }
    const alone = shown(9)
    expect(alone.slice(1)).toEqual([false, false, true])
    for (const notes of [
      [5, -5, 9],
      [5, 7, -5, -7, 9],
      [9, -9, 5, -5, 9],
      [5, 9, -5, 7, -7],
    ])
      expect(shown(...notes)).toEqual(alone)
    // In a session notes come between messages: one about an early page starts over, with all notes before it known.
    for (const positions of [
      [5, -5, 9],
      [5, 7, -5, -7, 9],
      [9, 5, -9, -5, 9],
    ]) {
      const notes = positions.map(noteAt)
      for (const [index, note] of notes.entries()) placeNote(note, 20 + 4 * index)
      expect([positions, ...shownOf(notes).slice(1)]).toEqual([positions, false, false, true])
    }
  })
  it("a summary replaces its range while the range's content is unchanged", () => {
    const view = recordOf([...messages, ...steps(7, 'docs')])
    const summary: Note = {
      type: 'summary',
      from: 2,
      to: 30,
      sourceDigest: rangeDigest(view.slice(2, 30)),
      text: 'Read 14 files.',
      model: 'acme-1',
    }
    const context = derive(view, { budget: 5600, notes: [summary] })
    expectLawful(context, view)
    expect(context.sources.toArray()).toContainEqual({ type: 'summary', from: 2, to: 30, model: 'acme-1' })
    expect(textsOf(context)).toContain(
      '[Summary of messages 2–29. Call recall with a position, such as {"position": 2}, to read one.]\nRead 14 files.',
    )
    const stale: Note = { ...summary, sourceDigest: '0'.repeat(64) }
    expect(JSON.stringify(derive(view, { budget: 5600, notes: [stale] }).messages)).not.toContain('Read 14 files.')
    const pinned = derive(view, { budget: 5600, notes: [summary, pin] })
    expect(JSON.stringify(pinned.messages)).not.toContain('Read 14 files.')
  })
  it('a summary is used in a falling active turn, but never for its task', () => {
    const view = recordOf([user('Fix the build.'), ...steps(30)])
    const summaryOf = (from: number, to: number): Note => ({
      type: 'summary',
      from,
      to,
      sourceDigest: rangeDigest(view.slice(from, to)),
      text: `From ${from}.`,
    })
    const context = derive(view, { budget: 3000, notes: [summaryOf(0, 11), summaryOf(1, 11)] })
    expectLawful(context, view)
    expect(JSON.stringify(context.messages)).toContain('From 1.')
    expect(context.residency.at(0)).toBe('full')
  })
})

describe('cost of deriving', () => {
  it('counts only the new messages', () => {
    const estimateCalls = (length: number): number => {
      let count = 0
      const estimate = (message: Message): number => ((count += 1), JSON.stringify(message).length / 4)
      const history = createHistory<Message>({ from: [user('Fix the build.'), ...steps(length)] })
      let previous: DerivedContext | undefined = derive(history.view(), { budget: 50_000, estimate })
      count = 0
      for (let index = 0; index < 20; index++) {
        for (const message of steps(1, `more_${index}`)) history.append(message)
        previous = derive(history.view(), { budget: 50_000, estimate, previous })
      }
      return count
    }
    expect(estimateCalls(20)).toBe(40)
    expect(estimateCalls(600)).toBeLessThan(500) // with one compaction of what is still in it
  })
  it('a call id shared by all calls costs no more than distinct ids', () => {
    /** Processor time of this process, which no other takes from it. */
    const time = (idOf: (call: number) => string): number => {
      const view = recordOf(
        Array.from({ length: rounds(3_000, 10_000) }, (_, index) => {
          const id = idOf(index >> 1)
          return index % 2 === 0 ? assistant(toolCall(id, 'run', '{}')) : toolResult(id, 'ok')
        }),
      )
      const from = process.cpuUsage()
      expect(settle(derive(view, { budget: 2_000_000 }).messages)._tag).toBe('Right')
      const { user: spent, system: beside } = process.cpuUsage(from)
      return spent + beside
    }
    expect(time(() => 'call')).toBeLessThan(50 * time((call) => `call${call}`)) // quadratic it would take hundreds of times as long
  })
})

describe('arguments stay the caller’s', () => {
  it('changing options or notes after the call changes nothing', () => {
    const view = recordOf([...conversation(), ...steps(20)])
    const notes: Note[] = [{ type: 'pin', position: 1 }]
    const options = { budget: 1500, notes }
    const first = derive(view, options)
    const json = JSON.stringify([first.messages, first.residency])
    notes[0] = { type: 'unpin', position: 1 }
    options.budget = 1
    expect(JSON.stringify([first.messages, first.residency])).toBe(json)
    expect(derive(view, { budget: 1500, notes, previous: first }).messages.toArray()).toEqual(
      derive(view, { budget: 1500, notes }).messages.toArray(),
    )
  })
  it('contexts and everything in them are frozen', () => {
    const context = derive(recordOf([...conversation(), ...steps(20)]), { budget: 1500 })
    for (const value of [
      context,
      context.messages,
      context.sources,
      context.residency,
      context.dropped,
      context.provenance,
      ...context.messages,
      ...context.sources,
    ])
      expect(Object.isFrozen(value)).toBe(true)
  })
})

const view = createHistory<Message>({ from: [user('a')] }).view()
describe('what is kept', () => {
  const view = recordOf([system('Be brief.'), user('Read all files.'), ...steps(40), user('Go on.')])
  const levelAt = (context: DerivedContext, position: number): unknown => context.residency.at(position)
  const anew = (keep: DeriveOptions['keep']): DerivedContext => derive(view, { budget: 4000, ...(keep && { keep }) })

  it('a list is copied: what its caller changes later counts for no context that was derived with it', () => {
    const keep: number[] = [4]
    const first = derive(view.slice(0, -1), { budget: 4000, keep })
    expect(levelAt(first, 4)).not.toBe('pointer')
    keep[0] = 20
    const second = derive(view, { budget: 4000, keep, previous: first })
    expect(second.messages.toArray()).toEqual(anew([20]).messages.toArray())
    expect(levelAt(second, 20)).toBe(levelAt(anew([20]), 20))
  })
  it('an equal list continues the contexts of another', () => {
    const first = derive(view.slice(0, -1), { budget: 4000, keep: [4, 'plan'] })
    const second = derive(view, { budget: 4000, keep: [4, 'plan'], previous: first })
    expect(second.digest).toBe(anew([4, 'plan']).digest)
    expect(second.messages.at(0)).toBe(first.messages.at(0))
  })
  it("a function's answer is copied once and frozen before it is used, whatever it does to its list", () => {
    const lists: unknown[][] = []
    const reads = new Map<PropertyKey, number>()
    const changing = (seen: View<Message>): never => {
      for (const list of lists) list.fill('full') // those that it answered before
      const list: unknown[] = Array.from({ length: seen.length }, (_, index) => (index === 4 ? 'full' : undefined))
      lists.push(list)
      return new Proxy(list, {
        get: (target, key) => {
          const times = (reads.get(key) ?? 0) + 1
          reads.set(key, times)
          return typeof key === 'string' && /^\d+$/.test(key) && times > lists.length
            ? 'pointer'
            : Reflect.get(target, key)
        },
      }) as never
    }
    const context = derive(view, { budget: 4000, keep: changing })
    expect(lists.length).toBeGreaterThan(0)
    expect(context.messages.toArray()).toEqual(anew([4]).messages.toArray())
    expectLawful(context, view)
  })
  it('an answer is a level or undefined for each index', () => {
    const answers: readonly (readonly [unknown, string])[] = [
      ['full', '`keep` returned "full"; expected a list of levels'],
      [Promise.resolve([]), 'expected a list of levels'],
      [['whole'], '`keep` returned "whole" for index 0; expected a level or undefined'],
      [[, null], '`keep` returned null for index 1'], // oxlint-disable-line no-sparse-arrays -- a hole leaves the choice
    ]
    for (const [answer, expected] of answers) {
      expect(() => derive(view, { budget: 4000, keep: () => answer as never })).toThrow(TypeError)
      expect(() => derive(view, { budget: 4000, keep: () => answer as never })).toThrow(expected)
    }
    expect(derive(view, { budget: 4000, keep: () => Array(999).fill(undefined) as never }).digest).toBe(
      derive(view, { budget: 4000 }).digest,
    )
  })
})

const wrong: readonly (readonly [of: string, call: () => unknown])[] = [
  ['deriveContext expects a view, such as', () => deriveContext([user('x')] as never, { budget: 9 })],
  ['found an object with "append", "view", "len"', () => deriveContext(createHistory() as never, { budget: 9 })],
  ['recall expects a view', () => recall([user('x')] as never, { position: 0 })],
  ['recall expects { position: number } or { query: string }, found an empty', () => recall(view, {} as never)],
  ['recallTool expects a function', () => recallTool(view as never)],
  ['prepareSummaries expects a view', () => prepareSummaries([] as never, [])],
  ['prepareSummaries: maxTokens is NaN', () => prepareSummaries(view, [], undefined, { maxTokens: NaN })],
  ['a summarizer is { model, summarize }', () => prepareSummaries(view, [], {} as never)],
  ['summariesInBackground has no option "onfault"', () => summariesInBackground({ onfault: 1 } as never)],
  ['notes[0] is null; expected a note', () => deriveContext(view, { budget: 9, notes: [null] as never })],
  ['`notes` is function; expected', () => deriveContext(view, { budget: 9, notes: (() => []) as never })],
  [
    '`previous` is an empty object; expected the context',
    () => deriveContext(view, { budget: 9, previous: {} as never }),
  ],
  ['`tools` is an array; expected a list of tools', () => deriveContext(view, { budget: 9, tools: [null] as never })],
  ['`tokenizer` is 5; expected a function', () => deriveContext(view, { budget: 9, tokenizer: 5 as never })],
  ['prices.cached is -1', () => deriveContext(view, { budget: 9, prices: { cached: -1, fresh: 1 } })],
  ['`keep` is 5; expected positions and page kinds', () => deriveContext(view, { budget: 9, keep: 5 as never })],
  ['`keep` contains "evidense"', () => deriveContext(view, { budget: 9, keep: ['evidense'] as never })],
  ['`keep` contains -1', () => deriveContext(view, { budget: 9, keep: [-1] })],
  ['deriveContext has no option "policy"', () => deriveContext(view, { budget: 9, policy: {} } as never)],
  ['pricesOf expects the name of a model', () => pricesOf(undefined as never)],
]

it.each(wrong)('a wrong argument is a TypeError: %s', (output, call) => {
  expect(call).toThrow(TypeError)
  expect(call).toThrow(output)
})

describe('pins that do not fit', () => {
  const talk = (length: number): View<Message> =>
    recordOf(
      Array.from({ length }, (_, index) =>
        index % 2 === 0 ? user(`Question ${index} of the user`) : assistant(`Answer ${index}, a little longer`),
      ),
    )
  const noted = (type: 'pin' | 'unpin', count: number, place: number, step = 1): readonly Note[] =>
    Array.from({ length: count }, (_, index) => {
      const note: Note = { type, position: index * step }
      placeNote(note, place)
      return note
    })

  it.each([4000, 9000])('are planned once, not at every message: budget %i', (budget) => {
    const length = 1600
    let calls = 0
    const estimate = (message: Message): number => {
      calls += 1
      return estimateTokens(message)
    }
    const notes = noted('pin', Math.floor(length / 3), length, 3)
    const derived = deriveContext(talk(length), { budget, notes, estimate })
    expect(derived).toMatchObject({ left: { _tag: 'MinimumDoesNotFit', budget } })
    expect(calls).toBeLessThan(20 * length)
  })

  it('no longer count after they are unpinned', () => {
    const view = talk(300)
    const notes = [...noted('pin', 200, 200), ...noted('unpin', 200, 250)]
    expect(deriveContext(view.slice(0, 249), { budget: 900, notes })).toMatchObject({ _tag: 'Left' })
    expect(derive(view, { budget: 900, notes }).provenance).toContain('shortened')
  })
})
