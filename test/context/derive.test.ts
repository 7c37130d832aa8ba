/** Deriving by example: what a context holds, what is enforced, and what is told when it can't be. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  faultMessage,
  assistant,
  orThrow,
  createHistory,
  mend,
  settle,
  system,
  text,
  toolCall,
  toolResult,
  user,
  type Message,
  type View,
} from 'indelible'
import { placeNote, rangeDigest, type Note, type SummaryNote } from '../../src/notes/kit.ts'
import {
  deriveContext,
  estimateTokens,
  lexicalSearch,
  manageHistory,
  markMessage,
  modelSummarizer,
  paged,
  prepareSummaries,
  pricesOf,
  recall,
  recallTool,
  replay,
  summariesInBackground,
  window,
  type DerivedContext,
  type DeriveOptions,
  type Policy,
} from 'indelible/context'
import { conversation } from '../messages.ts'
import { expectLawful, recordOf } from './conversations.ts'
import { rounds } from '../rounds.ts'
import { thawed } from '../thawed.ts'

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
  it('is sent unchanged', () => {
    const view = recordOf(conversation())
    const context = derive(view, { budget: 10_000 })
    expect(context.messages.toArray()).toEqual(view.toArray())
    expect(context.messages.at(0)).toBe(view.at(0))
    expect(context.sources.toArray()).toEqual(conversation().map((_, position) => ({ type: 'clone', position })))
    expect(context.residency.toArray()).toEqual(conversation().map(() => 'full'))
    expect(context).toMatchObject({
      dropped: [],
      provenance: ['policy:paged', 'epoch:0', 'whole'],
      length: 6,
      epoch: 0,
      stablePrefix: 0,
      stableTokens: 0,
    })
    expect(context.cost).toBe(context.tokens * 1.25)
    expect(context.digest).toBe(rangeDigest(view))
  })
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
  const messages = [
    system('You fix bugs.'),
    user('Never push to main.'),
    user('Fix the build.'),
    ...steps(40),
    assistant('Fixed.'),
    user('Now the docs.'),
    ...steps(2, 'docs'),
  ]

  it('keeps instructions, rules and the full active turn, and lists the rest', () => {
    const view = recordOf(messages, [undefined, 'constraint'])
    const context = derive(view, { budget: 4000 })
    expectLawful(context, view)
    expect(context.residency.toArray().slice(0, 2)).toEqual(['full', 'full'])
    expect(context.residency.toArray().slice(-5)).toEqual(['full', 'full', 'full', 'full', 'full'])
    expect(context.provenance).toEqual(['policy:paged', `epoch:${context.epoch}`, 'degraded'])
    expect(context.residency.toArray()).toContain('structured')
    expect(derive(view, { budget: 2000 }).dropped.length).toBeGreaterThan(0)
    expect(textsOf(context).join('\n')).toMatch(
      /\[Messages \d+–\d+ are shortened below \(about [\d,]+ tokens in full\)\. Call recall with a position, such as \{"position": \d+\}, to read one\.\]\n\d+ read_file src\/\d+\.ts: /,
    )
  })
  it('never separates a result from its call', () => {
    for (const budget of [900, 1200, 2000, 3000, 5000])
      for (const policy of [paged(), window])
        expect(settle(derive(recordOf(messages), { budget, policy }).messages)._tag).toBe('Right')
  })
  it('treats a short "go on" as part of the active turn', () => {
    const view = recordOf([...messages, assistant('Shall I go on?'), user('ok, continue')])
    const context = derive(view, { budget: 4000 })
    const task = messages.findLastIndex(({ role }) => role === 'user')
    for (let position = task; position < view.length; position++) expect(context.residency.at(position)).toBe('full')
  })
  it('drops evidence first, never the task, from a turn that alone exceeds the budget', () => {
    const view = recordOf([
      system('You fix bugs.'),
      user('Fix the build, and do not touch the vendored code.'),
      ...steps(40),
    ])
    const context = derive(view, { budget: 3200 })
    expectLawful(context, view)
    expect(context.residency.at(1)).toBe('full')
    expect(context.residency.at(-1)).toBe('full')
    expect(context.residency.toArray().filter((level) => level === 'full').length).toBeLessThan(view.length / 2)
  })
  it('cuts an answer that alone exceeds the budget, and marks it', () => {
    const view = recordOf([
      user('Read it.'),
      assistant(toolCall('c', 'read', '{}')),
      toolResult(
        'c',
        'a line that is long enough\n'.repeat(9000).replaceAll(/a/g, () => 'a'),
      ),
    ])
    const context = derive(view, { budget: 2000 })
    expectLawful(context, view)
    expect(context.residency.toArray()).toEqual(['full', 'full', 'compressed'])
    expect(context.tokens).toBeGreaterThanOrEqual(900)
  })
  it('shows the same answer once and refers to it later', () => {
    const answer = Array.from({ length: 60 }, (_, index) => `line ${index} of the file`).join('\n')
    const same = Array.from({ length: 6 }, (_, index) => [
      assistant(toolCall(`c${index}`, 'read', { path: 'a.ts' })),
      toolResult(`c${index}`, answer),
    ]).flat()
    const view = recordOf([user('Read it.'), ...same, assistant('Done.'), user('What is in it?')])
    const alwaysCompressed: Policy = {
      name: 'compressed',
      choose: 'always',
      select: ({ candidates }) => candidates.map(() => 'compressed'),
    }
    const { tokens } = derive(view, { budget: 10_000 })
    const context = derive(view, { budget: tokens - 1, policy: alwaysCompressed })
    expectLawful(context, view)
    expect(JSON.stringify(context.messages).match(/same result as position 2/g)).toHaveLength(5)
  })
  it("names the pages that don't fit when even the minimum doesn't", () => {
    const view = recordOf([system('Rule. '.repeat(2000)), ...conversation().slice(1)])
    const derived = deriveContext(view, { budget: 100 })
    expect(derived).toMatchObject({
      left: {
        _tag: 'MinimumDoesNotFit',
        budget: 100,
        pages: [
          { from: 0, to: 1, kinds: ['bootstrap'], level: 'structured' },
          { from: 2, to: 6, level: 'pointer' },
          { from: 1, to: 2, level: 'compressed' },
        ],
      },
    })
    expect(isLeft(derived) && faultMessage(derived.left)).toMatch(
      /^the smallest context that may be sent takes \d+ tokens, but the budget is 100; the largest part, \d+, is position 0 \(bootstrap, structured\); use a larger budget, or shorter instructions$/,
    )
    const said = (budget: number, notes: readonly Note[]): string => {
      const derived = deriveContext(recordOf(conversation()), { budget, notes })
      return isLeft(derived) ? faultMessage(derived.left) : 'it fits'
    }
    expect(said(5, [])).not.toContain('unpin')
    expect(said(5, [{ type: 'pin', position: 3 }])).toMatch(/; use a larger budget, or unpin or retag the rules that /)
  })
  it('reports which parts of the window are not for messages', () => {
    const said = (options: Omit<DeriveOptions, 'policy'>): string => {
      const derived = deriveContext(recordOf(conversation()), options)
      return isLeft(derived) ? faultMessage(derived.left) : 'it fits'
    }
    expect(said({ budget: { window: 1000, completion: 900 } })).toMatch(
      /^the smallest context that may be sent takes \d+ tokens, but the budget is 0 \(a window of 1,000, less 250 for the answer, 2,048 for the tokens that providers add, and a tenth for estimation errors\); the largest part/,
    )
    expect(said({ budget: { window: 3000, completion: 100 }, toolTokens: 700, systemTokens: 300 })).toContain(
      '(a window of 3,000, less 100 for the answer, 2,048 for the tokens that providers add, 1,000 for tools and system prompt, and a tenth for estimation errors)',
    )
    expect(said({ budget: 500, toolTokens: 490 })).toContain(
      'but the budget is 10 (after 490 for tools and system prompt); ',
    )
    expect(said({ budget: 5 })).toContain('but the budget is 5; the largest part')
  })
  it('needs the fewest tokens: short messages stay shown, and longer ones share a marker', () => {
    const policy: Policy = {
      name: 'least',
      choose: 'always',
      select: ({ candidates }) => candidates.map(({ levels }) => levels.at(-1) ?? 'full'),
    }
    const needs = (length: number): readonly [needed: number, all: number] => {
      const short = user('a'.repeat(length))
      const three = [short, short, short]
      const kinds = ['plan', 'evidence', 'conversation', undefined] as const
      const view = recordOf(
        [...three, system('Be kind.'), ...three, system('Be exact.'), user('What is the answer?')],
        [...kinds, ...kinds],
      )
      const derived = deriveContext(view, { budget: 40, policy })
      if (!isLeft(derived)) throw new Error('it fits')
      return [derived.left.needed, [...view].reduce((sum, message) => sum + estimateTokens(message), 0)]
    }
    const [withMarkers] = needs(400)
    for (let length = 1; length <= 60; length += 3) {
      const [needed, all] = needs(length)
      expect([length, needed]).toEqual([length, Math.min(all, withMarkers)])
    }
  })
  it('fits at exactly the token count that the fault names', () => {
    const view = recordOf([system('Rule. '.repeat(2000)), ...conversation().slice(1)])
    const derived = deriveContext(view, { budget: 100 })
    const needed = isLeft(derived) ? derived.left.needed : NaN
    expect(derive(view, { budget: needed }).tokens).toBe(needed)
    expect(deriveContext(view, { budget: needed - 1 })._tag).toBe('Left')
  })
  it('shows a message again that a compaction hid, if only that fits: in the epoch of the compaction it replaces', () => {
    const long = 'word '.repeat(200)
    const view = recordOf([user('word '), user(long), system(long)], [undefined, undefined, 'evidence'])
    const policy = paged({ lowWater: 0.25 })
    const context = derive(view, { budget: 217, policy })
    expect(context.provenance).toEqual(['policy:paged', 'epoch:3', 'degraded'])
    expect([...context.residency]).toEqual(['full', 'compressed', 'pointer'])
  })
})

describe('epochs', () => {
  it('compact to the low-water mark at the budget and change nothing before', () => {
    const history = createHistory<Message>({ from: [system('You fix bugs.'), user('Fix the build.')] })
    const policy = paged({ lowWater: 0.4 })
    let previous: DerivedContext | undefined
    const after: number[] = []
    for (const [call, result] of Array.from(
      { length: 60 },
      (_, index) => steps(index + 1).slice(-2) as [Message, Message],
    )) {
      history.append(call)
      history.append(result)
      const context = derive(history.view(), { budget: 6000, policy, previous })
      if (previous !== undefined && context.epoch === previous.epoch)
        expect(context.stablePrefix).toBe(previous.messages.length)
      else if (previous !== undefined) after.push(context.tokens)
      previous = context
    }
    expect(after.length).toBeGreaterThan(2)
    expect(Math.min(...after)).toBeLessThanOrEqual(0.42 * 6000) // filled by whole messages
    expect(Math.max(...after)).toBeLessThanOrEqual(0.5 * 6000) // what stood before the last compaction stays where it can
  })
  it('treat policies with equal thresholds as one, so that contexts continue each other', () => {
    expect(paged()).toBe(paged({ lowWater: 0.45 }))
    expect(paged({ lowWater: 0.3 })).toBe(paged({ lowWater: 0.3 }))
    expect(paged({ lowWater: 0.3 })).not.toBe(paged())
    expect(() => paged({ lowwater: 0.3 } as never)).toThrow('lowWater')
  })
  it('require lowWater to be a share', () => {
    expect(() => paged({ lowWater: 0 })).toThrow('lowWater is 0; expected a share of the budget: above 0, at most 1')
  })
})

describe('a damaged record', () => {
  const damaged = [
    user('go'),
    assistant(toolCall('a', 'one', '{}'), toolCall('b', 'two', '{}')),
    toolResult('a', 'first'),
    user('and b?'),
    assistant(toolCall('a', 'again', '{}')),
    toolResult('a', 'second'),
    toolResult('a', 'second, once more'),
    toolResult('nobody', 'lost'),
    toolResult('b', 'late'),
    assistant('Done.'),
  ]
  it('is settled as mend does, with pointers for misplaced content', () => {
    const view = recordOf(damaged)
    const context = derive(view, { budget: 10_000 })
    expectLawful(context, view)
    const pointed = [...context.messages].filter((_, index) => context.sources.at(index)?.type !== 'representation')
    expect(pointed).toEqual([...mend(damaged).messages])
    expect(context.dropped).toEqual([
      { from: 6, to: 7 },
      { from: 7, to: 8 },
    ])
    expect(context.provenance).toContain('mended')
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

  it('a pin keeps a page at least structured from the next context on', () => {
    const view = recordOf(messages)
    const before = derive(view, { budget: 1000 })
    expect(positionsOfMessages(before)).not.toContain(5)
    const after = derive(view, { budget: 1000, notes: [pin], previous: before })
    expectLawful(after, view, (position) => (position === 5 ? 'constraint' : (view.pages.at(position) as 'evidence')))
    expect(positionsOfMessages(after)).toContain(5)
    expect(after.messages.toArray()).toEqual(derive(view, { budget: 1000, notes: [pin] }).messages.toArray())
  })
  it('a pin on a page that is shown as an outline or cut shows all of it from the next context on', () => {
    const long = Array.from({ length: 90 }, (_, line) => `Line ${line}: table t${line} belongs to team ${line * 7}.`)
    const policy: Policy = {
      name: 'cutting',
      choose: 'epochs',
      select: ({ candidates }) => candidates.map(({ from }) => (from === 1 ? { tokens: 300 } : 'structured')),
    }
    for (const [position, role] of [system, user].entries()) {
      const view = recordOf(messages.map((one, index) => (index === position ? role(long.join('\n')) : one)))
      const before = derive(view, { budget: 2500, policy })
      expect(before.residency.at(position)).toBe(position === 0 ? 'structured' : 'compressed')
      const after = derive(view, { budget: 2500, policy, notes: [{ type: 'pin', position }], previous: before })
      expect(textsOf(after).join('\n')).toContain(long.join('\n'))
    }
  })
  it('a pinned result that no call waits for is readable, and any other is a pointer', () => {
    const view = recordOf([user('go'), toolResult('none', 'Rule: ask first.'), assistant('Yes.'), user('on')])
    expect(textsOf(derive(view, { budget: 10_000 }))[1]).toMatch(/^\[Message 1 is not shown/)
    for (const policy of [paged(), window]) {
      const pinned = derive(view, { budget: 10_000, policy, notes: [{ type: 'pin', position: 1 }] })
      expect(textsOf(pinned)[1]).toBe('[Message 1 is a tool result without a tool call.]\nRule: ask first.')
      expectLawful(pinned, view, (position) => (position === 1 ? 'constraint' : 'conversation'))
    }
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
  it('a late summary is used at the next compaction, also for a part of the dropped range', () => {
    const history = createHistory<Message>({ from: [...messages, ...steps(4, 'docs')] })
    const before = derive(history.view(), { budget: 2000 })
    expect(before.residency.toArray().slice(4, 10)).toEqual(Array.from({ length: 6 }, () => 'pointer'))
    const summary: Note = {
      type: 'summary',
      from: 4,
      to: 10,
      sourceDigest: rangeDigest(history.view().slice(4, 10)),
      text: 'Read 3 files.',
    }
    const same = derive(history.view(), { budget: 2000, notes: [summary], previous: before })
    expect(same.stablePrefix).toBe(before.messages.length)
    for (const message of [assistant('Fixed.'), user('Now the tests.'), ...steps(4, 'tests')]) history.append(message)
    const after = derive(history.view(), { budget: 2000, notes: [summary], previous: same })
    expectLawful(after, history.view())
    expect(after.sources.toArray()).toContainEqual({ type: 'summary', from: 4, to: 10, model: 'unknown' })
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

it('whatever the room returns is frozen, all the way down', async () => {
  const messages = Array.from({ length: 12 }, (_, at) => [markMessage(user(`Question ${at} `.repeat(50)), { mark: 'feedback' }), assistant(`Answer ${at} `.repeat(50))]).flat() // oxfmt-ignore
  const view = createHistory<Message>({ from: messages }).view()
  const plan: SummaryNote = { type: 'summary', from: 0, to: 4, sourceDigest: rangeDigest(view.slice(0, 4)), text: 'So far.', model: 'm' } // oxfmt-ignore
  const budget = { window: 4000, completion: 100 }
  const tools = [{ name: 'look', description: 'looks', parameters: {} }]
  const contexts = [{ budget: 100_000 }, { budget: 1200 }, { budget, tools, notes: [plan] }, { budget: 5 }].map(
    (options) => deriveContext(view, options),
  )
  expect(contexts.map(({ _tag }) => _tag)).toEqual(['Right', 'Right', 'Right', 'Left'])
  const tool = recallTool(() => view)
  const results = {
    contexts: contexts.map((one) => Object.freeze(isLeft(one) ? one.left : one.right)),
    recalled: [{ position: 3 }, { query: 'Question' }].map((request) => orThrow(recall(view, request))),
    matches: lexicalSearch().search(view, 'Question', 3),
    search: lexicalSearch(),
    tool,
    managed: manageHistory(view, { maxTokens: 1200 }),
    replay: replay(view, { budget: 1200 }),
    policies: [paged(), window],
    summarizer: modelSummarizer('m', () => 'text'),
    background: summariesInBackground({
      summarizer: modelSummarizer('m', () => 'text'),
      append: async () => undefined,
    }),
    summaries: await prepareSummaries(
      view,
      [],
      modelSummarizer('m', () => 'text'),
      { chunkTokens: 200 },
    ),
  }
  for (const [name, result] of Object.entries(results))
    for (const [index, one] of Array.isArray(result) && !Object.isFrozen(result)
      ? result.entries()
      : ([[0, result]] as const))
      expect(thawed(one, `${name} ${index}`)).toBeUndefined()
  const failed = await prepareSummaries(
    view,
    [],
    modelSummarizer('m', () => ''),
    { chunkTokens: 200 },
  )()
  expect(isLeft(failed) && [Object.isFrozen(failed.left), thawed(failed.left.done)]).toEqual([true, undefined])
})

const view = createHistory<Message>({ from: [user('a')] }).view()
const wrong: readonly (readonly [of: string, call: () => unknown])[] = [
  ['deriveContext expects a view, such as', () => deriveContext([user('x')] as never, { budget: 9 })],
  ['found an object with "append", "view", "len"', () => deriveContext(createHistory() as never, { budget: 9 })],
  ['replay expects a view', () => replay([user('x')] as never, { budget: 9 })],
  ['manageHistory expects a view', () => manageHistory([user('x')] as never, { maxTokens: 9 })],
  ['recall expects a view', () => recall([user('x')] as never, { position: 0 })],
  ['recall expects { position: number } or { query: string }, found an empty', () => recall(view, {} as never)],
  ['recallTool expects a function', () => recallTool(view as never)],
  ['prepareSummaries expects a view', () => prepareSummaries([] as never, [])],
  ['prepareSummaries: maxTokens is NaN', () => prepareSummaries(view, [], undefined, { maxTokens: NaN })],
  ['a summarizer is { model, summarize }', () => prepareSummaries(view, [], {} as never)],
  ['summariesInBackground has no option "onfault"', () => summariesInBackground({ onfault: 1 } as never)],
  ['notes[0] is null; expected a note', () => deriveContext(view, { budget: 9, notes: [null] as never })],
  ['notes[0] is null; expected a note', () => replay(view, { budget: 9, notes: [null] as never })],
  ['notes[0] is null; expected a note', () => manageHistory(view, { maxChars: 9, notes: [null] as never })],
  ['`notes` is function; expected', () => deriveContext(view, { budget: 9, notes: (() => []) as never })],
  [
    '`previous` is an empty object; expected the context',
    () => deriveContext(view, { budget: 9, previous: {} as never }),
  ],
  ['`policy` is "paged"; expected a policy', () => deriveContext(view, { budget: 9, policy: 'paged' as never })],
  ['`tools` is an array; expected a list of tools', () => deriveContext(view, { budget: 9, tools: [null] as never })],
  ['`tokenizer` is 5; expected a function', () => deriveContext(view, { budget: 9, tokenizer: 5 as never })],
  ['prices.cached is -1', () => deriveContext(view, { budget: 9, prices: { cached: -1, fresh: 1 } })],
  ['prices.fresh is NaN', () => replay(view, { budget: 9, prices: { cached: 1, fresh: NaN } })],
  ['takes one limit', () => manageHistory(view, { maxTokens: 9, maxChars: 9 } as never)],
  ['manageHistory has no option "maxToken"', () => manageHistory(view, { maxToken: 9 } as never)],
  ['pricesOf expects the name of a model', () => pricesOf(undefined as never)],
]

it.each(wrong)('a wrong argument is a TypeError: %s', (said, call) => {
  expect(call).toThrow(TypeError)
  expect(call).toThrow(said)
})

describe('a custom policy', () => {
  const messages = [
    system('You fix bugs.'),
    user('Never push to main.'),
    ...steps(20),
    assistant('Fixed.'),
    user('Now the docs.'),
  ]

  it('cannot drop a rule or the active turn, or exceed the budget', () => {
    const nothing: Policy = {
      name: 'nothing',
      choose: 'always',
      select: ({ candidates }) => candidates.map(() => 'pointer'),
    }
    const everything: Policy = {
      name: 'everything',
      choose: 'always',
      select: ({ candidates }) => candidates.map(() => 'full'),
    }
    const view = recordOf(messages, [undefined, 'constraint'])
    for (const policy of [nothing, everything]) {
      const context = derive(view, { budget: 1500, policy })
      expectLawful(context, view)
      expect(context.residency.at(-1)).toBe('full')
    }
    expect(derive(view, { budget: 1500, policy: nothing }).residency.toArray().slice(0, 2)).toEqual([
      'structured',
      'structured',
    ])
  })
  it('gets an error for an invalid choice', () => {
    const short: Policy = { name: 'short', choose: 'always', select: () => [] }
    expect(() => deriveContext(recordOf(messages), { budget: 1500, policy: short })).toThrow(
      /the policy short chose 0 levels for \d+ candidates/,
    )
    const odd: Policy = {
      name: 'odd',
      choose: 'always',
      select: ({ candidates }) => candidates.map(() => 'gone' as 'full'),
    }
    expect(() => deriveContext(recordOf(messages), { budget: 1500, policy: odd })).toThrow(
      'the policy odd chose gone; expected a residency level',
    )
  })
})
