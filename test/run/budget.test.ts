/** What a run knows of a call goes into the budget without being told: its tools, and whether one of them recalls. */
import { describe, expect, it } from 'vitest'
import { assistant, createHistory, orThrow, settle, system, toolCall, toolResult, user, type Message } from 'indelible'
import { deriveContext, estimateTokens, recallTool, type DeriveOptions } from 'indelible/context'
import type { Note } from '../../src/notes/internal.ts'
import { run, tool, type ContextFor, type Model, type ModelRequest, type RunHandler, type Tool } from 'indelible/run'
import type { RunDerive } from '../../src/run/loop/context-for.ts'

/** A long conversation with calls, numbers and prose. */
const long: readonly Message[] = [
  system('You help with numbers.'),
  user('Add up what is in the files.'),
  ...Array.from({ length: 40 }, (_, turn): readonly Message[] => [
    assistant(`Reading file ${turn}.`, toolCall(`c${turn}`, 'read', { path: `data/${turn}.csv` })),
    toolResult(`c${turn}`, Array.from({ length: 60 }, (_, row) => `${row}, ${row * turn * 7.31}, file ${turn}`).join('\n')),
  ]).flat(),
  assistant('Done.'),
  user('And what is the largest of them?'),
] // oxfmt-ignore
const view = orThrow(settle(createHistory<Message>({ from: long }).view()))

const many = Array.from({ length: 12 }, (_, index) =>
  tool({
    name: `tool_${index}`,
    description: `Does what tool number ${index} does, which takes some words to say, as it does with tools of real servers.`,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 6 }, (_, at) => [
          `field_${at}`,
          { type: 'string', description: `the field number ${at}` },
        ]),
      ),
    },
    run: () => 'ok',
  }),
)

/** A model that keeps what it was asked and says one thing. */
const listening = (): { readonly model: Model; readonly asked: ModelRequest[] } => {
  const requests: ModelRequest[] = []
  const model: Model = {
    name: 'listening',
    async *stream(request) {
      requests.push(request)
      yield { type: 'finish', message: assistant('The last.'), reason: 'end_turn', usage: { input: 1, output: 1 } }
    },
  }
  return { model, asked: requests }
}

const sentRequest = async (
  tools: readonly Tool[],
  { budget = 6000, ...derive }: RunDerive & { readonly budget?: number } = {},
  how: 'by the run' | 'by a function' = 'by the run',
): Promise<readonly Message[]> => {
  const { model, asked: requests } = listening()
  const derived: ContextFor = (of, previous, call) =>
    deriveContext(of, { ...(derive as Partial<DeriveOptions>), budget, previous, ...call })
  await run({ model, view, tools, ...(how === 'by the run' ? { budget, derive } : { context: derived }) }).result()
  return [...(requests[0] as ModelRequest).messages]
}

const tokensOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + estimateTokens(message), 0)
const toolsOf = (tools: readonly Tool[]): number =>
  tools.reduce((sum, { name, description, parameters }) => sum + estimateTokens(user(JSON.stringify({ name, description, parameters }))), 0) // oxfmt-ignore
const said = (messages: readonly Message[]): string => JSON.stringify(messages).replaceAll('\\"', '"')

describe('a run’s tools', () => {
  it.each(['by the run', 'by a function'] as const)('reduce the budget of a context derived %s', async (how) => {
    expect(toolsOf(many)).toBeGreaterThan(1000)
    for (const budget of [4000, 6000, 12_000]) {
      const messages = await sentRequest(many, { budget }, how)
      expect(tokensOf(messages) + toolsOf(many)).toBeLessThanOrEqual(budget)
    }
    expect(tokensOf(await sentRequest([], { budget: 6000 }))).toBeGreaterThan(
      tokensOf(await sentRequest(many, { budget: 6000 }, how)),
    )
  })
  it('are read with the notes before each call', async () => {
    const { model, asked: requests } = listening()
    const notes: Note[] = []
    const pin: RunHandler = (event) => void (event.type === 'step_start' && notes.push({ type: 'pin', position: 3 }))
    await run({ model, view, budget: 4000, derive: { notes: () => notes }, handlers: [pin] }).result()
    expect([...(requests[0] as ModelRequest).messages]).toContainEqual(view.at(3))
    expect(await sentRequest([], { budget: 4000 })).not.toContainEqual(view.at(3))
  })
  it('can be passed as an option in a custom loop', () => {
    const all = orThrow(deriveContext(view, { budget: 6000 }))
    const less = orThrow(deriveContext(view, { budget: 6000, tools: many }))
    expect(all.budget - less.budget).toBe(toolsOf(many))
    expect(orThrow(deriveContext(view, { budget: 6000, tools: many, toolTokens: 500 })).budget).toBe(5500)
    expect(() => deriveContext(view, { budget: 6000, tools: [], toolTokens: NaN })).toThrow('toolTokens is NaN')
  })
  it('make an invalid budget, or one beside a function, fail at once', () => {
    const { model } = listening()
    expect(() => run({ model, view, budget: NaN })).toThrow('budget is NaN')
    const context: ContextFor = (of) => deriveContext(of, { budget: 6000 })
    expect(() => run({ model, view, budget: 6000, context })).toThrow('pass either `budget` or `context`, not both')
  })
})

describe('markers', () => {
  it("name the run's recall tool by its name there", async () => {
    const without = said(await sentRequest(many, { budget: 4000 }))
    expect(without).toMatch(/ are (?:not shown|shortened below) /)
    expect(without).not.toMatch(/recall|gives|\{"position"/)
    expect(said(await sentRequest([recallTool(() => view)]))).toMatch(
      / are (?:not shown|shortened below) .* Call recall with a position, such as \{"position": \d+\}, to read one\.\]/,
    )
    const named = said(await sentRequest([recallTool(() => view, { name: 'look_up' })]))
    expect(named).toMatch(/ Call look_up with a position, such as \{"position": \d+\}, to read one\.\]/)
    expect(named).not.toMatch(/recall/)
  })
  it('name it without a run, unless the given tools lack it', () => {
    const of = (options: Partial<DeriveOptions>): string =>
      said([...orThrow(deriveContext(view, { budget: 4000, ...options })).messages])
    expect(of({})).toMatch(/call recall with (?:a position, such as )?\{"position"/i)
    expect(of({ tools: [] })).not.toMatch(/recall|\{"position"/)
    expect(of({ tools: [recallTool(() => view)] })).toMatch(/call recall with (?:a position, such as )?\{"position"/i)
  })
})
