/** The judge: what it measures, and that it finds each fault where there is one. */
import { describe, expect, it } from 'vitest'
import { assistant, system, toolCall, toolResult, user, type Message, type PageKind, type Settled } from 'indelible'
import { estimateTokens, type ContextSource, type DerivedContext } from 'indelible/context'
import { spanOf, type ReadonlySpan } from '../../../src/sequence/index.ts'
import { recordOf } from '../../../test/context/conversations.ts'
import { conversation } from '../../../test/messages.ts'
import { judgeOf } from '../src/compare/judge.ts'
import { paged, window } from '@indelible/view/internal'
import { replay } from '../src/compare/replay.ts'

describe('the replay judge', () => {
  const record = [
    system('You fix bugs.'),
    user('Never push.'),
    user('Fix it.'),
    assistant(toolCall('c1', 'run', '{}')),
    toolResult('c1', 'ok'),
  ]
  const view = recordOf(record, [undefined, 'constraint'])
  const kindOf = (position: number): PageKind => view.pages.at(position) as PageKind

  /** A context as somebody might make one up: messages with the sources that they claim. */
  const judged = (items: readonly (readonly [Message, ContextSource])[], budget = 1000) => {
    const messages = spanOf(items.length, (index) => items[index]?.[0] as Message) as Settled<ReadonlySpan<Message>>
    const context = {
      messages,
      sources: spanOf(items.length, (index) => items[index]?.[1] as ContextSource),
      budget,
    } as DerivedContext
    return judgeOf(view, kindOf, estimateTokens)(context).faults
  }
  const clone = (position: number): readonly [Message, ContextSource] => [
    view.at(position) as Message,
    { type: 'clone', position },
  ]
  const none = {
    bootstrapMissing: 0,
    pinnedMissing: 0,
    questionHidden: 0,
    pairingViolated: 0,
    overBudget: 0,
    silentLoss: 0,
  }
  const marker = (from: number, to: number, text: string): readonly [Message, ContextSource] => [
    user(text),
    { type: 'representation', level: 'pointer', from, to },
  ]

  it('finds nothing in a complete context', () => {
    expect(judged([0, 1, 2, 3, 4].map(clone))).toEqual(none)
    expect(
      judged([clone(0), clone(1), marker(2, 5, '[2–4 are not shown: recall {"position": 2} gives one back]')]),
    ).toEqual({ ...none, questionHidden: 1 })
  })
  it('finds missing instructions and rules', () => {
    expect(judged([1, 2, 3, 4].map(clone))).toEqual({ ...none, bootstrapMissing: 1, silentLoss: 1 })
    expect(judged([0, 2, 3, 4].map(clone))).toEqual({ ...none, pinnedMissing: 1, silentLoss: 1 })
    expect(
      judged([
        marker(0, 2, '[0–1 are not shown: recall {"position": 0} gives one back]'),
        clone(2),
        clone(3),
        clone(4),
      ]),
    ).toEqual({ ...none, bootstrapMissing: 1, pinnedMissing: 1, silentLoss: 2 })
  })
  it('finds silently lost messages, whatever the sources claim', () => {
    expect(judged([0, 1].map(clone))).toEqual({ ...none, questionHidden: 1, silentLoss: 3 })
    expect(judged([clone(0), clone(1), marker(2, 5, '[earlier messages left out]')])).toEqual({
      ...none,
      questionHidden: 1,
      silentLoss: 3,
    })
    expect(
      judged([clone(0), clone(1), marker(2, 5, '[2–3 are not shown: recall {"position": 2} gives one back]')]),
    ).toEqual({ ...none, questionHidden: 1, silentLoss: 3 })
    expect(
      judged([clone(0), clone(1), [user('Fix that.'), { type: 'clone', position: 2 }], clone(3), clone(4)]),
    ).toEqual({ ...none, questionHidden: 1, silentLoss: 1 })
  })
  it('finds orphaned results and calls without results', () => {
    expect(judged([0, 1, 2, 4].map(clone))).toMatchObject({ pairingViolated: 1 })
    expect(judged([0, 1, 2, 3].map(clone))).toMatchObject({ pairingViolated: 1 })
  })
  it('finds a budget overrun', () => {
    expect(judged([0, 1, 2, 3, 4].map(clone), 20)).toEqual({ ...none, overBudget: 1 })
  })
})

describe('replay', () => {
  it('counts calls, tokens, cached tokens, cost and time', () => {
    const view = recordOf(conversation())
    const sizes = conversation().map(estimateTokens)
    const first = (sizes[0] as number) + (sizes[1] as number)
    const second = sizes.slice(0, 5).reduce((sum, size) => sum + size, 0)
    expect(replay(view, { budget: 1000 })).toEqual({
      policy: 'paged',
      budget: 1000,
      calls: 2,
      unfit: 0,
      tokens: first + second,
      cacheable: first / (first + second),
      cost: first * 1.25 + first * 0.1 + (second - first) * 1.25,
      median: expect.any(Number) as number,
      p99: expect.any(Number) as number,
      epochs: 0,
      faults: {
        bootstrapMissing: 0,
        pinnedMissing: 0,
        questionHidden: 0,
        pairingViolated: 0,
        overBudget: 0,
        silentLoss: 0,
        refetch: 0,
      },
      repeats: 0,
      rereads: 0,
    })
  })
  it('counts repeated calls and whether the earlier answer was still readable', () => {
    const read = (name: string, id: string): Message[] => [
      assistant(toolCall(id, 'read', { path: name })),
      toolResult(id, Array.from({ length: 60 }, (_, line) => `${name} has a line ${line}`).join('\n')),
    ]
    const others = Array.from({ length: 20 }, (_, index) => read(`other${index}`, `o${index}`)).flat()
    const view = recordOf([
      user('Read the file.'),
      ...read('a.ts', 'c1'),
      ...others,
      assistant('Read.'),
      user('Read it again.'),
      assistant(toolCall('c0', 'read', { path: 'new.ts' }), toolCall('c2', 'read', { path: 'a.ts' })),
      toolResult('c0', 'new'),
      toolResult('c2', 'known'),
      assistant('Done.'),
    ])
    const reports = [paged, window].map((policy) => replay(view, { policy, budget: 2000 }))
    for (const report of reports) {
      expect(report.repeats).toBe(1)
      expect(report.faults.refetch).toBe(0)
    }
    expect(reports.find(({ policy }) => policy === 'window')?.rereads).toBe(1)
  })
  it('passes each answer to onCall with the context before it', () => {
    const view = recordOf(conversation())
    const contexts: unknown[] = []
    const { tokens } = replay(view, {
      budget: 1000,
      onAnswer: (answer, position, context) => contexts.push([answer === view.at(position), position, context?.tokens]),
    })
    const sizes = conversation().map(estimateTokens)
    const upTo = (length: number): number => sizes.slice(0, length).reduce((sum, size) => sum + size, 0)
    expect(contexts).toEqual([
      [true, 2, upTo(2)],
      [true, 5, upTo(5)],
    ])
    expect(tokens).toBe(upTo(2) + upTo(5))
  })
  it("counts contexts that don't fit separately and passes them without a context", () => {
    const view = recordOf([system('Rule. '.repeat(1000)), ...conversation().slice(1)])
    const contexts: unknown[] = []
    replay(view, { budget: 50, onAnswer: (_, __, context) => contexts.push(context) })
    expect(contexts).toEqual([undefined, undefined])
    expect(replay(view, { budget: 50 })).toMatchObject({ calls: 2, unfit: 2, tokens: 0, cacheable: 0 })
  })
})
