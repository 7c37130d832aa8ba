/** What the provider counted corrects the estimate: the budget holds by its count, and no cached prefix moves for it. */
import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, createHistory, createSession, faultMessage, memoryStore, orThrow, settle, system, toolCall, toolResult, user, type Message, type View } from 'indelible' // oxfmt-ignore
import { deriveContext, estimateTokens, type DerivedContext, type DeriveOptions } from 'indelible/context' // oxfmt-ignore
import { decodeNote, type Note } from '../../src/notes/internal.ts'
import { run, sessionHandler, tool, type Model } from 'indelible/run'
import { rounds } from '../rounds.ts'

const sumOf = (messages: Iterable<Message>): number => {
  let sum = 0
  for (const message of messages) sum += estimateTokens(message)
  return sum
}

const rows = (seed: number): string => Array.from({ length: 40 }, (_, row) => `${row},${row * seed * 7}`).join('\n')
const record: readonly Message[] = [
  system('You add up numbers.'),
  user('Add up all the files.'),
  ...Array.from({ length: 60 }, (_, turn): readonly Message[] => [
    assistant(`Reading ${turn}.`, toolCall(`c${turn}`, 'read', { file: turn })),
    toolResult(`c${turn}`, rows(turn)),
  ]).flat(),
]
const view = createHistory<Message>({ from: record }).view()
/** The lengths at which the model is called. */
const calls = Array.from({ length: 60 }, (_, turn) => 2 + 2 * turn)

const receipt = (len: number, estimated: number, input: number, model = 'm'): Note => ({
  type: 'receipt',
  len,
  contextDigest: '0'.repeat(64),
  model,
  estimated,
  usage: { input, output: 1 },
})

/** Every call of the record, with a receipt after it; `counts` is the provider. */
const replayed = (
  options: Partial<DeriveOptions>,
  counts: (context: DerivedContext, call: number) => number,
): readonly { readonly context: DerivedContext; readonly input: number; readonly notes: readonly Note[] }[] => {
  const notes: Note[] = []
  let previous: DerivedContext | undefined
  return calls.map((len, call) => {
    const known = [...notes]
    const context = orThrow(deriveContext(view.slice(0, len), { budget: 8000, notes: known, previous, ...options }))
    const input = counts(context, call)
    notes.push(receipt(len, context.estimated ?? context.tokens, input))
    previous = context
    return { context, input, notes: known }
  })
}

describe('the token correction from receipts', () => {
  it.each([1.2, 1.41, 1.53])('keeps within the budget when the provider counts %f times as much', (times) => {
    {
      const count = ({ messages }: DerivedContext): number => Math.ceil(sumOf(messages) * times) + 100
      const corrected = replayed({ model: 'm' }, count)
      expect(Math.max(...corrected.map(({ input }) => input))).toBeLessThanOrEqual(8000)
      expect(Math.max(...replayed({}, count).map(({ input }) => input))).toBeGreaterThan(8000)
      expect(corrected.at(-1)?.context.factor).toBeGreaterThanOrEqual(times)
      expect(corrected.at(-1)?.context.factor).toBeLessThan(times + 0.1)
    }
  })

  it('follows the receipts that it is given, where one of them has another count than before', () => {
    let previous: DerivedContext | undefined
    for (const [call, counts] of [[1], [1, 1], [1, 1.5]].entries()) {
      const notes = counts.map((times, index) => receipt(10 + 10 * index, 7000, 7000 * times))
      const options = { budget: 8000, model: 'm', notes, previous }
      previous = orThrow(deriveContext(view.slice(0, 20 + 10 * call), options))
    }
    expect(previous?.factor).toBeGreaterThan(1.4)
  })

  it('uses at most a quarter more when the provider counts less', () => {
    const last = (times: number): number => {
      const all = replayed({ model: 'm' }, ({ messages }) => sumOf(messages) * times)
      return Math.max(...all.slice(20).map(({ context }) => context.tokens))
    }
    expect(last(1)).toBeLessThanOrEqual(8000)
    expect(last(0.9)).toBeGreaterThanOrEqual(last(1))
    expect(last(0.2)).toBe(last(0.8))
    expect(last(0.2)).toBeLessThanOrEqual(10_000)
  })

  it('changes nothing already sent when only a receipt is added', () => {
    const notes: Note[] = [receipt(20, 3000, 3000)]
    const options = { budget: 8000, model: 'm' }
    const before = orThrow(deriveContext(view.slice(0, 40), { ...options, notes }))
    notes.push(receipt(40, 3000, 3300))
    const after = orThrow(deriveContext(view.slice(0, 42), { ...options, notes: [...notes], previous: before }))
    expect(after.stablePrefix).toBe(before.messages.length)
  })

  it('counts a late receipt like one that came at once', () => {
    const options = { budget: 8000, model: 'm' }
    const previous = orThrow(deriveContext(view.slice(0, 100), { ...options, notes: [] }))
    const notes = [receipt(20, 4000, 6000)]
    const [late, atOnce] = [{ previous }, {}].map((before) =>
      orThrow(deriveContext(view.slice(0, 102), { ...options, ...before, notes })),
    )
    expect(late?.digest).toBe(atOnce?.digest)
  })

  it('is the same with and without the previous context', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.3, max: 3, noNaN: true }), { minLength: 60, maxLength: 60 }),
        fc.constantFrom(3000, 8000),
        fc.nat(5),
        (ratios, budget, first) => {
          const notes: Note[] = []
          let previous: DerivedContext | undefined
          for (const [call, len] of calls.entries()) {
            const options = { budget, model: 'm', notes: [...notes] }
            const derived = deriveContext(view.slice(0, len), { ...options, previous })
            const isLast = call === calls.length - 1
            if (call % 6 === first || isLast || isLeft(derived)) {
              const anew = deriveContext(view.slice(0, len), options)
              if (isLeft(derived) || isLeft(anew)) return expect(derived._tag).toBe(anew._tag)
              expect(derived.right.digest).toBe(anew.right.digest)
            }
            expect(derived.right.tokens).toBeLessThanOrEqual(derived.right.budget)
            previous = derived.right
            notes.push(
              receipt(len, derived.right.estimated ?? 0, Math.ceil(derived.right.tokens * (ratios[call] ?? 1))),
            )
          }
        },
      ),
      { numRuns: rounds(3, 100) },
    )
  })

  it('uses only receipts of that model whose calls filled a quarter of the budget', () => {
    const factor = (notes: readonly Note[], model = 'm'): number | undefined =>
      orThrow(deriveContext(view.slice(0, 4), { budget: 8000, notes, model })).factor
    expect(factor([])).toBe(1)
    expect(factor([receipt(2, 4000, 6000)])).toBe(1.5)
    expect(factor([receipt(2, 4000, 6000)], 'other')).toBe(1)
    expect(factor([receipt(2, 1000, 6000)])).toBe(1)
    expect(factor([receipt(2, 4000, 40_000)])).toBe(2)
    expect(factor([receipt(9, 4000, 6000)])).toBe(1) // of a call after this one
    expect(orThrow(deriveContext(view.slice(0, 4), { budget: 8000 })).factor).toBe(undefined)
  })

  it('is named in MinimumDoesNotFit', () => {
    const derived = deriveContext(view.slice(0, 4), { budget: 30, notes: [receipt(2, 40, 60)], model: 'm' })
    expect(isLeft(derived) && faultMessage(derived.left)).toContain(
      'but the budget is 20; the provider counts 1.50 tokens for each estimated one; the largest part',
    )
  })

  it("requires a receipt's estimate to be a whole number from 0", () => {
    expect(isRight(decodeNote(receipt(2, 4000, 6000)))).toBe(true)
    for (const bad of [-1, 1.5, '4']) expect(isLeft(decodeNote({ ...receipt(2, 1, 1), estimated: bad }))).toBe(true)
  })
})

it('a run on a session corrects its estimates from its own receipts', async () => {
  const budget = 6000
  const inputs: number[] = []
  let turn = 0
  const model: Model = {
    name: 'counts more',
    async *stream({ messages, tools }) {
      const input = Math.ceil(1.5 * (sumOf(messages) + tools.length * 40))
      inputs.push(input)
      const done = turn === 60
      const call = toolCall(`c${turn}`, 'read', { file: turn })
      yield {
        type: 'finish',
        message: done ? assistant('All read.') : assistant(`Reading ${turn++}.`, call),
        reason: done ? 'end_turn' : 'tool_calls',
        usage: { input, output: 10 },
      }
    },
  }
  const session = await createSession(memoryStore(), { id: 's' })
  await session.append([system('You add up numbers.'), user('Add up all the files.')])
  const read = tool({ name: 'read', parameters: { type: 'object' }, run: (input) => rows((input as { file: number }).file) }) // oxfmt-ignore
  const ended = await run({
    model,
    view: orThrow(settle(session.conversation() as View<Message>)),
    tools: [read],
    budget,
    derive: { notes: () => session.notes() },
    receipts: true,
    limits: { maxSteps: 100 },
    handlers: [sessionHandler(session)],
  }).result()
  expect([ended.stopReason, inputs.length]).toEqual(['end_turn', 61])
  expect(Math.max(...inputs)).toBeLessThanOrEqual(budget)
  const receipts = [...session.notes()].filter((note) => note.type === 'receipt')
  expect(receipts.every(({ estimated }) => (estimated ?? 0) > 0)).toBe(true)
  // The call can be derived again: its tools and its model are said.
  const last = receipts.at(-1)
  const notes = [...session.notes()].filter((note) => note.type !== 'receipt' || note.len < (last?.len ?? 0))
  const again = deriveContext(session.view().slice(0, last?.len), { budget, notes, tools: [read], model: model.name })
  expect(isRight(again) && again.right.digest).toBe(last?.contextDigest)
})
