/** What each policy keeps, and summaries made ahead of need. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { faultMessage, assistant, system, toolCall, toolResult, user, type Message, type View } from 'indelible'
import { rangeDigest, type Note } from '../../src/notes/kit.ts'
import {
  deriveContext,
  estimateTokens,
  prepareSummaries,
  window,
  type DerivedContext,
  type DeriveOptions,
  type Policy,
} from 'indelible/context'
import { extractive } from '../../src/context/kit.ts'
import { newestOf } from '../../src/context/policies/degrade.ts'
import { expectLawful, recordOf } from './conversations.ts'

const derive = (view: View<Message>, options: DeriveOptions): DerivedContext => {
  const derived = deriveContext(view, options)
  if (isLeft(derived)) throw new Error(faultMessage(derived.left))
  return derived.right
}

const file = (name: string): string =>
  Array.from({ length: 60 }, (_, line) => `export const ${name}${line} = ${line}`).join('\n')
const steps = (names: readonly string[]): Message[] =>
  names.flatMap((name) => [
    assistant('Looking.', toolCall(`call_${name}`, 'read_file', { path: `src/${name}.ts` })),
    toolResult(`call_${name}`, file(name)),
  ])
const names = Array.from({ length: 20 }, (_, index) => `part${index}`)
const messages = [
  system('You fix bugs.'),
  user('Fix the build.'),
  ...steps(names),
  assistant('Fixed.'),
  user('Now look at src/part2.ts again.'),
  assistant('I will.'),
]

describe('the window policy', () => {
  it('keeps instructions and the latest messages in full up to the first that does not fit', () => {
    const view = recordOf(messages)
    const context = derive(view, { budget: 3000, policy: window })
    const levels = context.residency.toArray()
    expect(levels[0]).toBe('full')
    const from = levels.indexOf('full', 1)
    expect(levels.slice(1, from).every((level) => level === 'pointer')).toBe(true)
    expect(levels.slice(from + 2).every((level) => level === 'full')).toBe(true)
    expect(context.tokens).toBeGreaterThan(2900)
  })
})

it('the window policy shows a message that fits exactly, with the marker of those before it', () => {
  const said = [user('long '.repeat(200)), ...Array.from({ length: 30 }, (_, index) => user(`Number ${index}`))]
  const view = recordOf(said)
  const isRecorded = new Set(view)
  const estimate = (message: Message): number => (isRecorded.has(message) ? 50 : 10)
  const whole = (budget: number): number => {
    const levels = derive(view, { budget, policy: window, estimate }).residency.toArray()
    return levels.filter((level) => level === 'full').length
  }
  const budgets = [1059, 1060, 1109, 1110]
  expect(budgets.map(whole)).toEqual([20, 21, 21, 22])
})

describe('a custom policy that keeps messages', () => {
  it('is followed where the active turn, including its instructions, does not fit', () => {
    const view = recordOf(
      [
        user(file('old')),
        user(`Now this: ${file('rule')}\n${file('other')}`),
        assistant(toolCall('a', 'read_file', {})),
        toolResult('a', `${file('answer')}\n${file('more')}`),
      ],
      [undefined, 'constraint'],
    )
    const active = [...view].slice(1).reduce((sum, message) => sum + estimateTokens(message), 0)
    const policy: Policy = {
      name: 'task',
      choose: 'always',
      select: ({ candidates }) => candidates.map((_, index) => (index < 2 ? 'full' : 'pointer')),
    }
    expect(derive(view, { budget: active - 10, policy }).residency.toArray()).toEqual([
      'full',
      'full',
      'pointer',
      'pointer',
    ])
    expect(derive(view, { budget: active + 60, policy }).residency.toArray()).toEqual([
      'pointer',
      'full',
      'full',
      'full',
    ])
  })
  it('is followed where the active turn does not fit beside the kept messages', () => {
    const view = recordOf([...steps(['kept']), user('Now look at the others.'), ...steps(['a', 'b'])])
    const whole = [...view].reduce((sum, message) => sum + estimateTokens(message), 0)
    const policy: Policy = {
      name: 'last',
      choose: 'always',
      keeps: new Set([0, 1]),
      select: ({ candidates }) => candidates.map((_, index) => (index === 2 ? 'pointer' : 'full')),
    }
    expect(derive(view, { budget: whole - 10, policy }).residency.toArray()).toEqual([
      'full',
      'full',
      'full',
      'pointer',
      'pointer',
      'full',
      'full',
    ])
  })
  it.each([
    ['a longer cut', { tokens: 300 }, 'same'],
    ['its level', 'compressed', 'same'],
    ['all of it', 'full', 'same'],
    ['a shorter cut', { tokens: 70 }, 'shorter'],
  ] as const)('with epochs, never shows more of a message that was cut: it then chooses %s', (_, then, expected) => {
    const policy: Policy = {
      name: 'cutting',
      choose: 'epochs',
      select: ({ candidates }) =>
        candidates.map(({ active, levels, level, messages }) => {
          if (active || messages[0]?.content.length !== 2) return levels.at(-1) ?? 'full'
          return level === 'full' ? { tokens: 120 } : then
        }),
    }
    const long = 'The quick brown fox jumps over it. '.repeat(60)
    const said: Message[] = [user('Read it.'), assistant('Here:', long)]
    const lengths: number[][] = []
    let previous: DerivedContext | undefined
    for (let turn = 0; turn < 14; turn++) {
      said.push(assistant(`${turn} ${long.slice(0, 900)}`), user(`What about number ${turn} of the list?`))
      previous = derive(recordOf(said), { budget: 1000, policy, previous })
      const at = [...previous.sources].findIndex((source) => source.type === 'representation' && source.from === 1)
      ;(lengths[previous.epoch] ??= []).push(JSON.stringify(previous.messages.at(at)).length)
    }
    const [, first, second] = lengths.map((each) => each[0] as number)
    expect(first).toBeLessThan(600)
    expect(second === first ? 'same' : (second as number) < (first as number) ? 'shorter' : 'longer').toBe(expected)
  })
  it('keeps its choices above the active turn, with the calls of late answers', () => {
    const late = [
      assistant(toolCall('a', 'read_file', {})),
      user('Meanwhile, look at the docs.'),
      toolResult('a', file('answer')),
      ...steps(['b', 'c', 'd']),
    ]
    const view = recordOf(late)
    const answer = estimateTokens(view.at(2) as Message)
    const keeping = (...positions: number[]): Policy => ({
      name: 'keeping',
      choose: 'always',
      keeps: new Set(positions),
      select: ({ candidates }) => candidates.map(() => 'pointer'),
    })
    expect(
      derive(view, { budget: answer + 200, policy: keeping(2) })
        .residency.toArray()
        .slice(0, 3),
    ).toEqual(['full', 'full', 'full']) // what the user asks stays readable
    expect(derive(view, { budget: answer + 200, policy: keeping() }).residency.at(2)).toBe('pointer')
    expect(derive(view, { budget: answer - 100, policy: keeping(2) }).residency.at(2)).not.toBe('full')
  })
})

it.each([
  ['exactly their share', [20, 20], 0],
  ['more than it', [21, 20], 1],
])('the newest messages are those within 4 %% of the budget: %s', (_, tokens, from) => {
  const candidates = tokens.map((amount) => ({ tokens: () => amount }))
  expect(newestOf({ candidates, budget: 1000 } as never, [])).toBe(from)
})

describe('prepareSummaries', () => {
  const view = recordOf(messages)
  const prepare = async (...given: Parameters<typeof prepareSummaries>) => {
    const prepared = await prepareSummaries(...given)()
    if (isLeft(prepared)) throw new Error(faultMessage(prepared.left))
    return prepared.right
  }

  it('summarizes everything before the active turn except instructions and rules', async () => {
    const notes = await prepare(view, [], extractive, { chunkTokens: 2000 })
    expect(notes.length).toBeGreaterThan(1)
    expect(notes[0]?.from).toBe(1)
    for (const [index, note] of notes.entries()) {
      expect(note.sourceDigest).toBe(rangeDigest(view.slice(note.from, note.to)))
      expect(note.model).toBe('extract')
      expect(note.from).toBeGreaterThanOrEqual(notes[index - 1]?.to ?? 0)
      expect(note.to).toBeLessThanOrEqual(messages.length - 2)
    }
    expect(notes[0]?.text).toContain('1 user: Fix build\n2 read_file src/part0.ts: 1,539 characters')
    const pinned = await prepare(view, [{ type: 'pin', position: 5 }], extractive, { chunkTokens: 2000 })
    for (const { from, to } of pinned) expect(from > 5 || to <= 4).toBe(true)
  })
  it('lists each name in an answer once unless its call has it', async () => {
    const text = 'src/known.ts imports src/found.ts, and src/found.ts again.\n'.repeat(10)
    const read = assistant(toolCall('1', 'read_file', { path: 'src/known.ts' }))
    const said = [user('Fix build'), read, toolResult('1', text), ...steps(names), user('And now?')]
    const [note] = await prepare(recordOf(said), [], extractive, { chunkTokens: 2000 })
    expect(note?.text).toMatch(/^1 read_file src\/known.ts: 589 characters, src\/found.ts$/m)
  })
  it.each([
    ['words', 'Fix the build, '],
    ['no spaces', '請修復這個構建'],
  ])('cuts the first line of a range of which no line fits: %s', async (_, said) => {
    const turns = Array.from({ length: 40 }, (_, turn) => [user(`${said.repeat(40)} ${turn}`), assistant('Done.')])
    const notes = await prepare(recordOf(turns.flat()), [], extractive, {
      chunkTokens: 500,
      maxTokens: 5,
      keepTokens: 0,
    })
    expect(notes.length).toBeGreaterThan(1)
    for (const { text } of notes) expect(text).toMatch(/^\d+ user: /)
  })
  it('returns only new ranges when called again', async () => {
    const notes = await prepare(view, [], extractive, { chunkTokens: 2000 })
    expect(await prepare(view, notes, extractive, { chunkTokens: 2000 })).toEqual([])
    const [first, ...others] = notes
    const stale = [{ ...first, sourceDigest: '0'.repeat(64) } as Note, ...others]
    expect((await prepare(view, stale, extractive, { chunkTokens: 2000 })).map(({ from }) => from)).toEqual([1])
  })
  it('returns summaries that the next context uses', async () => {
    const longer = recordOf([...messages, ...steps(names.slice(0, 8).map((name) => `other_${name}`))])
    const notes = await prepare(longer, [], extractive, { chunkTokens: 2000 })
    const context = derive(longer, { budget: 8000, notes })
    expectLawful(context, longer)
    expect([...context.sources].filter(({ type }) => type === 'summary').length).toBeGreaterThan(0)
  })
  it('accepts any summarizer and stores its prompt digest', async () => {
    const asked: number[] = []
    const model = {
      model: 'acme-1',
      prompt: 'Sum up.',
      summarize: async ({
        from,
        messages,
        maxTokens,
      }: {
        from: number
        messages: View<Message>
        maxTokens: number
      }) => (asked.push(from, messages.length, maxTokens), Promise.resolve('short')),
    }
    const [note] = await prepare(view, [], model, { chunkTokens: 100_000, maxTokens: 50 }).then((notes) =>
      notes.length === 0 ? prepare(view, [], model, { chunkTokens: 7000, maxTokens: 50 }) : notes,
    )
    expect(note).toMatchObject({ text: 'short', model: 'acme-1' })
    expect(note?.promptDigest).toMatch(/^[0-9a-f]{64}$/)
    expect(asked).toEqual([1, (note?.to ?? 0) - 1, 50])
  })
  it('names the failed range and keeps the other summaries', async () => {
    let calls = 0
    const failing = { model: 'acme-1', summarize: (): string => ((calls += 1) === 2 ? '' : 'short') }
    const prepared = await prepareSummaries(view, [], failing, { chunkTokens: 2000 })()
    expect(prepared).toMatchObject({ left: { _tag: 'SummarizerFailed', done: [{ text: 'short' }, { text: 'short' }] } })
    expect(isLeft(prepared) && faultMessage(prepared.left)).toMatch(
      /^the summarizer failed on positions \d+–\d+: the summarizer returned an empty string; expected a text; append the 2 summaries in `done`, and call prepareSummaries again for the rest$/,
    )
  })
})
