/** Random runs: whatever models, tools and people do, and whenever, the laws of a run hold. */
import * as fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import {
  assistant,
  createHistory,
  settle,
  text,
  toolCall,
  user,
  type Message,
  type Part,
  type Settled,
  type View,
} from 'indelible'
import { historyHandler, run, scriptedModel, tool, type RunEvent } from 'indelible/run'
import { rounds } from '../rounds.ts'
import type { InterruptBehavior } from '../../src/run/event.ts'

const tools = [
  tool({ name: 'good', parameters: {}, run: () => 'ok' }),
  tool({ name: 'late', parameters: {}, run: () => new Promise((resolve) => setTimeout(() => resolve('late'), 1)) }),
  tool({ name: 'never', parameters: {}, timeout: 3, run: () => new Promise(() => undefined) }),
  tool({ name: 'throws', parameters: {}, alone: true, run: () => { throw undefined } }),
] // oxfmt-ignore

const part = fc.oneof(
  fc.constantFrom('a', 'some words here', '').map((said): Part => text(said)),
  fc
    .record({
      id: fc.constantFrom('c1', 'c2', 'c3'),
      name: fc.constantFrom('good', 'late', 'never', 'throws', 'unknown'),
      args: fc.constantFrom('{}', '', '{"a"'),
    })
    .map(({ id, name, args }): Part => toolCall(id, name, args)),
)
const answer = fc
  .uniqueArray(part, { maxLength: 4, selector: (made) => (made.type === 'tool_call' ? made.id : made) })
  .map((parts) => assistant(...parts))

type Deed = 'interrupt' | 'inject' | 'cancel'
const deeds = fc.array(
  fc.record({
    at: fc.nat({ max: 60 }),
    deed: fc.constantFrom<Deed>('interrupt', 'inject', 'inject', 'inject', 'cancel'),
    behavior: fc.constantFrom<InterruptBehavior>('discard', 'savePartial', 'saveMarked'),
  }),
  { maxLength: 4 },
)

it('view + deltas = result.messages: settled, in order, with exactly one end event', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(answer, { maxLength: 5 }),
      deeds,
      fc.record({
        maxSteps: fc.integer({ min: 0, max: 6 }),
        maxToolCalls: fc.constantFrom(2, Infinity),
        timeout: fc.constantFrom(8, Infinity, Infinity),
      }),
      fc.constantFrom('together' as const, 'perCall' as const),
      fc.integer({ min: 1, max: 3 }),
      fc.constantFrom(2, 256),
      async (lines, todo, limits, results, toolConcurrency, buffer) => {
        const view = settle(createHistory<Message>({ from: [user('hi')] }).view()) as {
          readonly right: Settled<View<Message>>
        }
        const stream = run({
          model: scriptedModel([...lines, ...lines], { results }),
          view: view.right,
          tools,
          limits,
          toolConcurrency,
          buffer,
        })
        const events: RunEvent[] = []
        const history = createHistory<Message>({ from: view.right })
        const apply = historyHandler(history, { strict: true })
        for await (const event of stream) {
          events.push(event)
          expect(isRight(apply(event))).toBe(true)
          if (event.type === 'history_delta' || event.type === 'run_complete')
            expect(isRight(settle(history.view()))).toBe(true)
          for (const { at, deed, behavior } of todo) {
            if (at !== event.seq) continue
            if (deed === 'cancel') stream.cancel()
            else stream.interrupt({ behavior, ...(deed === 'inject' && { message: `instead ${at}` }) })
          }
        }
        const ended = await stream.result()()
        const result = isRight(ended) ? ended.right : ended.left.partial
        expect(history.view().toArray()).toEqual(result.messages)
        expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
        expect(events.findIndex(({ type }) => type === 'run_complete')).toBe(events.length - 1)
        for (const [index, event] of events.entries()) {
          if (event.type !== 'step_complete') continue
          const next = events.slice(index + 1).find(({ type }) => type !== 'interrupted')
          expect([next?.type, 'step' in (next ?? {}) && (next as { step: number }).step]).toEqual(
            event.response.message.content.length === 0
              ? [expect.any(String), expect.anything()]
              : ['history_delta', event.step],
          )
        }
        expect(stream.interrupt({ message: 'late' })).toBe(false)
      },
    ),
    { numRuns: rounds(80, 400) },
  )
})
