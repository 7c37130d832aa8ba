/** Records of many budgets: what was said long ago is only counted, and the cost of a context does not grow with it. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createHistory,
  orThrow,
  system,
  toolCall,
  toolResult,
  user,
  type Message,
  type View,
} from 'indelible'
import { deriveContext, estimateTokens, paged, window, type DerivedContext, type Policy } from 'indelible/context'
import { rangeDigest, type Note } from '../../src/notes/kit.ts'
import { isFull, oneIn, rounds } from '../rounds.ts'
import { conversations, expectLawful, recordOf, tags } from './conversations.ts'

const budget = 200

/** A record of about so many budgets: steps of an agent, or talk. */
const recordOfBudgets = (budgets: number, isTalk: boolean, first: readonly Message[] = []): View<Message> => {
  const history = createHistory<Message>({ from: first })
  let left = budgets * budget
  for (let step = 0; left > 0; step++) {
    const said = [
      user(`Question ${step}: what did Anna${step} put into drawer ${step * 7}?`),
      assistant(toolCall(`c${step}`, 'look', { drawer: step * 7 })),
      toolResult(`c${step}`, `drawer ${step * 7} holds item_${step}`.repeat(3)),
      assistant(`Anna${step} put item_${step} into it.`),
    ].filter(({ role, content }) => !isTalk || (role !== 'tool' && content[0]?.type !== 'tool_call'))
    for (const message of said) {
      history.append(message)
      left -= estimateTokens(message)
    }
  }
  return history.view()
}

/** `paged`, with the number of its compactions. */
const countedPolicy = (): { readonly policy: Policy; readonly count: () => number } => {
  const inner = paged()
  let count = 0
  // Without talk each compaction asks the policy.
  const { talks: _, ...rest } = inner
  const select: Policy['select'] = (selection) => {
    count += 1
    return inner.select(selection)
  }
  return { policy: { ...rest, select }, count: () => count }
}

const said = ({ messages, sources, residency, provenance, tokens, epoch }: DerivedContext): string =>
  JSON.stringify([messages, sources, residency, provenance, tokens, epoch])

describe('a record of many budgets', () => {
  it('is compacted as often at hundreds of budgets as at 20, from nothing', () => {
    const compactions = (budgets: number): number => {
      const { policy, count } = countedPolicy()
      orThrow(deriveContext(recordOfBudgets(budgets, false), { budget, policy }))
      return count()
    }
    const most = Math.max(...[17, 20, 23, 26].map(compactions))
    expect(most).toBeGreaterThan(10)
    for (const budgets of [60, rounds(150, 300)]) expect(compactions(budgets)).toBeLessThan(1.5 * most)
  })

  it('costs no call of a growing record more than a compaction or two', () => {
    const view = recordOfBudgets(60, false)
    const { policy, count } = countedPolicy()
    let previous: DerivedContext | undefined
    let [most, before] = [0, 0]
    for (let at = 1; at <= view.length; at++) {
      previous = orThrow(deriveContext(view.slice(0, at), { budget, policy, previous }))
      most = Math.max(most, count() - before)
      before = count()
    }
    expect(previous?.epoch).toBeGreaterThan(4000)
    expect(most).toBeLessThan(9) // a compaction asks up to four times
  })

  it.each([true, false])('gives the same contexts however they are derived (talk: %s)', (isTalk) => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.constantFrom('previous', 'state', 'nothing')), {
      minLength: rounds(20, 40),
      maxLength: rounds(35, 80),
    })
    const view = recordOfBudgets(rounds(26, 32), isTalk)
    const known = new Map<number, string>()
    let chapters = 0
    fc.assert(
      fc.property(steps, (steps) => {
        let at = 0
        let [previous, state] = [undefined as DerivedContext | undefined, undefined as string | undefined]
        for (const [step, from] of steps) {
          at = Math.min(view.length, at + step * 3)
          const seen = view.slice(0, at)
          const context = orThrow(
            deriveContext(seen, {
              budget,
              ...(from === 'previous' && { previous }),
              ...(from === 'state' && { state }),
            }),
          )
          let atOnce = known.get(at)
          if (atOnce === undefined) known.set(at, (atOnce = said(orThrow(deriveContext(seen, { budget })))))
          expect(said(context)).toBe(atOnce)
          if (context.epoch >= 1000) chapters += 1
          previous = context
          state = context.state ?? state
        }
      }),
      { numRuns: rounds(1, 200) },
    )
    expect(chapters).toBeGreaterThan(0)
  })

  it('a state is of its own context, also if it is read when the record has gone on', () => {
    const view = recordOfBudgets(26, false)
    const known = new Map<number, string>()
    const atOnce = (at: number): string => {
      const found = known.get(at) ?? said(orThrow(deriveContext(view.slice(0, at), { budget })))
      known.set(at, found)
      return found
    }
    const live: DerivedContext[] = []
    for (let at = 1; at <= view.length; at++)
      live.push(orThrow(deriveContext(view.slice(0, at), { budget, previous: live.at(-1) })))
    for (let from = 0; from < live.length; from += isFull ? 9 : 61) {
      const state = live[from]?.state
      for (let at = from + 1; at <= view.length; at += isFull ? 13 : 55)
        expect(said(orThrow(deriveContext(view.slice(0, at), { budget, state })))).toBe(atOnce(at))
    }
  })

  it('an epoch is named once: contexts of the same one extend each other across chapters', () => {
    const view = recordOfBudgets(60, false)
    let previous: DerivedContext | undefined
    let greatest = 0
    for (let at = 1; at <= view.length; at++) {
      if (view.at(at - 1)?.role === 'assistant') continue
      const context = orThrow(deriveContext(view.slice(0, at), { budget, previous }))
      if (context.epoch === previous?.epoch) expect(context.stablePrefix).toBe(previous.messages.length)
      expect(context.epoch).toBeGreaterThanOrEqual(greatest)
      greatest = context.epoch
      previous = context
    }
  })

  it('keeps rules, kept messages and summaries of what is only counted', () => {
    const first = [system('Never delete a backup.'), user('My name is Berta.'), assistant('Hello Berta.')]
    const view = recordOfBudgets(80, false, first)
    const summary: Note = {
      type: 'summary',
      from: 3,
      to: 11,
      sourceDigest: rangeDigest(view.slice(3, 11)),
      text: 'Two drawers were looked into.',
      model: 'acme-1',
    }
    const policy = { ...paged(), keeps: new Set([1]) }
    const context = orThrow(deriveContext(view, { budget: 4 * budget, policy, notes: [summary] }))
    expectLawful(context, view)
    const texts = JSON.stringify(context.messages)
    expect(texts).toContain('Never delete a backup.')
    expect(texts).toContain('My name is Berta.')
    expect(texts).toContain('Two drawers were looked into.')
    expect(context.residency.at(2)).toBe('pointer')
    expect(texts).toContain('[Messages 11–')
  })

  it('a call that is answered chapters later keeps its answer', () => {
    const first = [user('start'), assistant(toolCall('slow', 'wait', {})), user('go on')]
    const early = recordOfBudgets(40, false, first)
    const history = createHistory({ from: [...early] })
    let previous = orThrow(deriveContext(history.view(), { budget }))
    history.append(toolResult('slow', 'it was ready'))
    history.append(user('and now?'))
    const context = orThrow(deriveContext(history.view(), { budget, previous, state: previous.state }))
    expect(said(context)).toBe(said(orThrow(deriveContext(history.view(), { budget }))))
    expectLawful(context, history.view())
    previous = context
  })

  it('reads the last call and its result closely, however long that is', () => {
    const history = createHistory({ from: [user('Read it.')] })
    const epochs = new Set<number>()
    for (let step = 0; step < 3; step++) {
      history.append(assistant(toolCall(`c${step}`, 'read', {})))
      history.append(toolResult(`c${step}`, `line of step ${step} that is long enough\n`.repeat(8000)))
      const context = orThrow(deriveContext(history.view(), { budget: 1000 }))
      expectLawful(context, history.view())
      expect(context.residency.at(-1)).toBe('compressed')
      epochs.add(context.epoch)
    }
    expect(epochs.size).toBe(3)
  })

  it('needs no message after which a model is called', () => {
    const history = createHistory<Message>()
    for (let index = 0; index < 300; index++)
      history.append(assistant(`I have looked into drawer ${index * 7} once more.`))
    let previous: DerivedContext | undefined
    for (const message of [
      assistant('Nothing.'),
      assistant('Nothing.'),
      user('And now?'),
      assistant('No.'),
      user('Ah.'),
    ]) {
      history.append(message)
      const context = orThrow(deriveContext(history.view(), { budget, previous }))
      expect(said(context)).toBe(said(orThrow(deriveContext(history.view(), { budget }))))
      expectLawful(context, history.view())
      previous = context
    }
    expect(previous?.epoch).toBeGreaterThanOrEqual(1000)
  })

  it('window shows what it would show if it read the whole record, at a cost that does not grow with it', () => {
    const view = recordOfBudgets(40, false, [system('Never delete a backup.'), user('My name is Berta.')])
    let chosenFrom = 0
    const counted: Policy = {
      ...window,
      select: (selection) => {
        chosenFrom = selection.candidates.length
        return window.select(selection)
      },
    }
    const whole: Policy = { ...window, reads: Infinity }
    let previous: DerivedContext | undefined
    let most = 0
    for (let at = 1; at <= view.length; at++) {
      const seen = view.slice(0, at)
      previous = orThrow(deriveContext(seen, { budget, policy: counted, previous }))
      if (at % (isFull ? 7 : 28) > 0) continue
      const atOnce = orThrow(deriveContext(seen, { budget, policy: window }))
      expect(said(previous)).toBe(said(atOnce))
      const all = orThrow(deriveContext(seen, { budget, policy: whole }))
      expect(JSON.stringify(previous.messages)).toBe(JSON.stringify(all.messages))
      most = Math.max(most, chosenFrom)
    }
    expect(most).toBeLessThan(view.length / 4)
  })

  it('window shows what it would show if it read the whole record, however long single messages are', () => {
    const history = createHistory({ from: [user('Read what I name, and keep it short. '.repeat(8))] })
    for (let step = 0; step < 60; step++) {
      const longer = [0, 4, 0, 3, 0, 0, 2][step % 7] as number
      history.append(user(`And drawer ${step}? ${'Count all of it. '.repeat(3 + (step % 5))}`))
      history.append(assistant(toolCall(`c${step}`, 'read', { drawer: step })))
      history.append(
        toolResult(`c${step}`, `nothing is in drawer ${step}\n`.repeat(1 + 30 * longer * (1 + (step % 3)))),
      )
    }
    const view = history.view()
    const whole: Policy = { ...window, reads: Infinity }
    for (const budget of [250, 400, 700])
      for (let at = 1; at <= view.length; at += oneIn(5)) {
        const [near, all] = [window, whole].map((policy) =>
          orThrow(deriveContext(view.slice(0, at), { budget, policy })).messages.toArray(),
        )
        expect([budget, at, near]).toEqual([budget, at, all])
      }
  })

  it('window shows what it would show if it read the whole record, for any settled record, tags and budget', () => {
    const parts = fc.array(conversations({ damaged: false, maxLength: 10 }), { minLength: 20, maxLength: 30 })
    const budgets = fc.integer({ min: 60, max: 600 })
    const whole: Policy = { ...window, reads: Infinity }
    let counted = 0
    fc.assert(
      fc.property(parts, tags, fc.boolean(), budgets, (parts, tags, isOneTurn, budget) => {
        const isSaid = ({ role }: Message, index: number): boolean =>
          role !== 'system' && (role !== 'user' || index < 10 || !isOneTurn)
        const view = recordOf([...parts.flat().filter(isSaid), user('ok, continue')], tags)
        const near = deriveContext(view, { budget, policy: window })
        const all = deriveContext(view, { budget, policy: whole })
        const sent = [near, all].map((one) => (isLeft(one) ? one.left.needed : one.right.messages.toArray()))
        expect(sent[0]).toEqual(sent[1])
        if (!isLeft(near) && near.right.epoch >= 1000) counted += 1
      }),
      { numRuns: rounds(15, 1000) },
    )
    expect(counted).toBeGreaterThan(0)
  })

  it('window shows an old image as a line at any budget, because its marker takes more', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } } as const
    const said = Array.from({ length: 100 }, () => assistant('word '.repeat(50)))
    const view = recordOf([user('see', image), system('Be brief.'), ...said, user('What is next?')])
    for (const budget of [200, 300, 400, 600, 800, 1600]) {
      const context = orThrow(deriveContext(view, { budget, policy: window }))
      expect([budget, context.residency.at(0)]).toEqual([budget, 'compressed'])
    }
  })

  it('window shows the ends of each long message of a turn at any budget', () => {
    const view = recordOf([user('Compare these.'), ...[1, 2, 3].map((one) => assistant(`part ${one} `.repeat(400)))])
    for (let budget = 300; budget < 1200; budget += 50) {
      const { residency } = orThrow(deriveContext(view, { budget, policy: window }))
      expect([budget, ...residency.toArray().slice(1)]).toEqual([budget, 'compressed', 'compressed', 'compressed'])
    }
  })

  it('a budget of the tokens that a fault of window needs suffices, if calls lack their results', () => {
    for (let calls = 40; calls < 60; calls++) {
      const said = Array.from({ length: calls }, (_, call) => [assistant(toolCall(`c${call}`, 'look', {})), user('ok')])
      const view = recordOf(said.flat())
      const refused = deriveContext(view, { budget: 20, policy: window })
      const budget = isLeft(refused) ? refused.left.needed : 20
      expect([calls, deriveContext(view, { budget, policy: window })._tag]).toEqual([calls, 'Right'])
    }
  })

  it.each([paged(), window])('a late result that is a rule stays readable at hundreds of budgets ($name)', (policy) => {
    const history = createHistory({ from: [user('start'), assistant(toolCall('slow', 'wait', {})), user('go on')] })
    for (const message of recordOfBudgets(1, false)) history.append(message)
    history.append(toolResult('slow', 'Never delete a backup.'), 'constraint')
    for (const message of recordOfBudgets(60, false)) history.append(message)
    const context = orThrow(deriveContext(history.view(), { budget, policy }))
    expectLawful(context, history.view())
  })

  it('a fault needs what it says, at any length', () => {
    const view = recordOf([...recordOfBudgets(30, false), user('word '.repeat(4 * budget))])
    const context = deriveContext(view, { budget: 20 })
    if (isLeft(context)) expect(context.left.needed).toBeGreaterThan(20)
    else expect(context.right.tokens).toBeLessThanOrEqual(20)
  })
})
