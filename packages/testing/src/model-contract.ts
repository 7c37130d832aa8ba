/**
 * The suite that every model adapter must pass.
 *
 * @example
 * for (const { name, run } of modelContract('mine', async (scene) => ({ model: myModel(await providerThatPlays(scene)) }))) it(name, run)
 */
import { isLeft } from 'indelible/internal/json'
import { decodeMessage, mend, textOf, toolCallsOf, toolResult, user, type Message } from 'indelible/message'
import type { Model, ModelEvent, ModelRequest } from 'indelible/run'
import { mustCome, mustHold, mustEqual, type ContractCase } from './check.ts'

/**
 * What the provider behind the model must do on every request. `text`: answer `Hello, world.` in at
 * least two chunks, and finish. `calls`: answer `Reading.`, then call `read` with `{"path":"a"}`
 * and `read` with `{}` in parallel. `cut`: send part of `text`, and end the stream. `fails`: answer
 * with an error. `hangs`: send part of `text`, and nothing more.
 */
export type ModelScene = 'text' | 'calls' | 'cut' | 'fails' | 'hangs'

/** The place of the model suite. */
export interface ModelPlace {
  /** A model whose provider plays the scene. */
  readonly model: Model
  /** Clean up. */
  readonly leave?: () => Promise<void>
}

/**
 * The suite that every model must pass: cases for any test runner.
 *
 * @param name the name of the adapter, for case names
 * @param make creates a model for a scene
 */
export const modelContract = (
  name: string,
  make: (scene: ModelScene) => Promise<ModelPlace>,
): readonly ContractCase[] =>
  cases.map(({ title, scene, work }) => ({
    name: `${name}: ${title}`,
    run: async () => {
      const place = await make(scene)
      try {
        await work(place.model)
      } finally {
        await place.leave?.()
      }
    },
  }))

interface ModelCase {
  readonly title: string
  readonly scene: ModelScene
  readonly work: (model: Model) => Promise<void>
}

const requestWith = (...messages: readonly Message[]): ModelRequest => ({
  messages: mend([user('Say it.'), ...messages]).messages,
  tools: [
    {
      name: 'read',
      description: 'Read a file.',
      parameters: { type: 'object', properties: { path: { type: 'string' } } },
    },
  ],
  stablePrefix: 0,
  parameters: {},
})

const collectEvents = async (
  model: Model,
  request: ModelRequest = requestWith(),
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly ModelEvent[]> => {
  const events: ModelEvent[] = []
  for await (const event of model.stream(request, signal)) events.push(event)
  return events
}

const finishOf = (events: readonly ModelEvent[]): Extract<ModelEvent, { type: 'finish' }> => {
  const last = events.at(-1)
  if (last?.type !== 'finish') throw new Error(`the last event is ${last?.type ?? 'none'}, expected finish`)
  return last
}

const textIn = (events: readonly ModelEvent[]): string =>
  events.map((event) => (event.type === 'text_delta' ? event.text : '')).join('')

const failureOf = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('it succeeded, expected a failure')
}

const cases: readonly ModelCase[] = [
  {
    title: 'the complete answer is in `finish`, which is the last event and the only one of its kind',
    scene: 'text',
    work: async (model) => {
      const events = await collectEvents(model)
      const { message, reason, usage } = finishOf(events)
      mustEqual(events.filter(({ type }) => type === 'finish').length, 1, 'the number of finish events')
      mustEqual([message.role, textOf(message), reason], ['assistant', 'Hello, world.', 'end_turn'])
      mustHold(usage.input >= 0 && usage.output >= 0, 'usage counts tokens')
      const recordable = decodeMessage(message)
      if (isLeft(recordable)) throw new Error(`the message can't be recorded: ${JSON.stringify(recordable.left)}`)
    },
  },
  {
    title: 'the pieces of a text add up to it',
    scene: 'text',
    work: async (model) => {
      const events = await collectEvents(model)
      mustEqual(textIn(events), 'Hello, world.')
      mustHold(events.filter(({ type }) => type === 'text_delta').length > 1, 'a text comes in pieces')
    },
  },
  {
    title: 'every block starts, continues and ends under its number, with its type',
    scene: 'calls',
    work: async (model) => {
      const open = new Map<number, string>()
      let started = 0
      for (const event of await collectEvents(model)) {
        if (event.type === 'finish') continue
        if (event.type === 'block_start') {
          mustEqual(event.index, started++, 'the number of a block that starts')
          open.set(event.index, event.block)
        } else mustEqual(open.get(event.index), event.block, `the type of block ${event.index} at ${event.type}`)
        if (event.type === 'block_end') open.delete(event.index)
      }
      mustEqual(open.size, 0, 'the number of blocks that never ended')
    },
  },
  {
    title: 'parallel calls arrive complete and in order, in the blocks and in the answer',
    scene: 'calls',
    work: async (model) => {
      const events = await collectEvents(model)
      const { message, reason } = finishOf(events)
      const calls = toolCallsOf(message)
      mustEqual(reason, 'tool_calls')
      mustEqual(
        calls.map(({ name, arguments: args }) => [name, JSON.parse(args)]),
        [
          ['read', { path: 'a' }],
          ['read', {}],
        ],
      )
      mustEqual(new Set(calls.map(({ id }) => id)).size, 2, 'the number of ids')
      const ended = events.flatMap((event) =>
        event.type === 'block_end' && event.part.type === 'tool_call' ? [[event.part.id, event.part.arguments]] : [],
      )
      mustEqual(
        ended,
        calls.map(({ id, arguments: args }) => [id, args]),
        'the calls in the blocks',
      )
    },
  },
  {
    title: 'an answer with its results can be sent in a request',
    scene: 'calls',
    work: async (model) => {
      const { message } = finishOf(await collectEvents(model))
      const results = toolCallsOf(message).map(({ id, name }) => toolResult(id, 'ok', { name }))
      finishOf(await collectEvents(model, requestWith(message, ...results)))
    },
  },
  {
    title: 'a stream that ends early has no finish, or throws',
    scene: 'cut',
    work: async (model) => {
      const events: ModelEvent[] = []
      try {
        for await (const event of model.stream(requestWith(), new AbortController().signal)) events.push(event)
      } catch {
        // an error is a valid answer too
      }
      mustHold(!events.some(({ type }) => type === 'finish'), 'an incomplete answer has no finish')
    },
  },
  {
    title: 'a failure is thrown',
    scene: 'fails',
    work: async (model) => {
      await failureOf(collectEvents(model))
    },
  },
  {
    title: 'the signal ends a stream that hangs',
    scene: 'hangs',
    work: async (model) => {
      const abort = new AbortController()
      const events: ModelEvent[] = []
      const listening = (async () => {
        for await (const event of model.stream(requestWith(), abort.signal)) {
          events.push(event)
          if (event.type === 'text_delta') setTimeout(() => abort.abort(), 1)
        }
      })()
      // An error or a normal end both count. It only must not hang.
      const ended = listening.catch(() => undefined)
      await mustCome(ended, 'after the abort the stream continued')
      mustHold(!events.some(({ type }) => type === 'finish'), 'an aborted answer has no finish')
    },
  },
]
