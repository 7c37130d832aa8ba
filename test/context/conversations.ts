/** Conversations for the tests of contexts: random ones, whole and damaged, and a check of every law on one context. */
import * as fc from 'fast-check'
import { expect } from 'vitest'
import {
  assistant,
  createHistory,
  image,
  minFidelity,
  reasoning,
  settle,
  system,
  text,
  toolCall,
  toolResult,
  user,
  type Message,
  type PageKind,
  type View,
} from 'indelible'
import { pageKinds, residencyLevels } from 'indelible/pages'
import type { DerivedContext } from 'indelible/context'
import type { Position } from '../../src/history/view.ts'

const words = fc.constantFrom(
  'read',
  'the',
  'file',
  'src/a.ts',
  'must',
  'error: no such',
  'ünïcode',
  '🙂🙂',
  '\n\n',
  '    ',
  'const a = 1',
  'again again',
)
/** Text of very different lengths: from nothing to several thousand characters. */
const saying = fc
  .tuple(fc.array(words, { maxLength: 20 }), fc.constantFrom(1, 1, 1, 30))
  .map(([list, times]) => `${list.join(' ')} `.repeat(times))
const callId = fc.constantFrom('a', 'b', 'c', 'a_2')

const single: fc.Arbitrary<Message> = fc.oneof(
  { weight: 1, arbitrary: saying.map((output) => system(output)) },
  { weight: 4, arbitrary: saying.map((output) => user(output)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      user('ok, continue'),
      user('yes'),
      user('see', image({ type: 'url', url: 'https://example.com/a.png' })),
    ),
  },
  { weight: 4, arbitrary: saying.map((output) => assistant(reasoning('thinking', { signature: 's' }), output)) },
  { weight: 1, arbitrary: fc.constant<Message>({ role: 'assistant', content: [] }) },
)

/** A step as a well-behaved agent takes it: calls, then their results. */
const step = (fresh: () => string): fc.Arbitrary<readonly Message[]> =>
  fc.array(fc.tuple(saying, saying, fc.boolean()), { minLength: 1, maxLength: 3 }).map((calls) => {
    const ids = calls.map(() => fresh())
    const made = assistant(
      'Looking.',
      ...calls.map(([args], index) => toolCall(ids[index] as string, 'read', { args })),
    )
    return [made].concat(
      calls.map(([, answer, isError], index) => toolResult(ids[index] as string, answer, isError ? { isError } : {})),
    )
  })

/** Anything at all that concerns calls: unanswered, orphaned, late, twice. */
const damage: fc.Arbitrary<Message> = fc.oneof(
  fc
    .array(callId, { minLength: 1, maxLength: 2 })
    .map((ids) => assistant(...ids.map((id) => toolCall(id, 'run', '{"x": 1}')))),
  fc.tuple(callId, saying).map(([id, answer]) => toolResult(id, answer)),
  fc.tuple(callId, saying).map(([id, answer]): Message => ({
    role: 'user',
    content: [{ type: 'tool_result', callId: id, content: [text(answer)] }, text('and?')],
  })),
)

export const conversations = (options: {
  readonly damaged: boolean
  readonly maxLength?: number
}): fc.Arbitrary<readonly Message[]> => {
  let count = 0
  const fresh = (): string => `call_${(count += 1)}`
  const whole = fc.oneof(
    { weight: 2, arbitrary: single.map((message) => [message]) },
    { weight: 3, arbitrary: step(fresh) },
  )
  const some = options.damaged
    ? fc.oneof(
        whole,
        damage.map((message) => [message]),
      )
    : whole
  return fc.array(some, { maxLength: options.maxLength ?? 25 }).map((steps) => steps.flat())
}

/** A record of messages, some of them tagged. */
export const recordOf = (messages: readonly Message[], tags: readonly (PageKind | undefined)[] = []): View<Message> => {
  const history = createHistory<Message>()
  for (const [index, message] of messages.entries()) {
    const tag = tags[index]
    if (tag === undefined) history.append(message)
    else history.append(message, tag)
  }
  return history.view()
}

export const tags: fc.Arbitrary<readonly (PageKind | undefined)[]> = fc.array(
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(...pageKinds) }),
  { maxLength: 60 },
)

/** Every law that holds for one context of a record or a conversation, looked up in the context itself. */
export const expectLawful = (
  context: DerivedContext,
  view: View<Message>,
  kindOf: (position: number) => PageKind = (position) => view.pages.at(view.before(position)) as PageKind,
): void => {
  expect(settle(context.messages)._tag).toBe('Right')
  const end = view.positionAt(view.length) as number
  expect(context.length).toBe(end)
  expect(context.residency.length).toBe(end)
  const positions = new Set(Array.from(view, (_, index) => view.positionAt(index)))
  expect(context.sources.length).toBe(context.messages.length)
  expect(context.tokens).toBeLessThanOrEqual(context.budget)

  // Each position is somewhere, and where its residency says it is. One look at what was found wrong: there are many positions.
  const wrong: string[] = []
  const expectTrue = (holds: boolean, output: string): void => void (holds || wrong.push(output))
  const found = new Map<number, Set<string>>()
  const note = (from: number, to: number, level: string): void => {
    for (let position = from; position < to; position++)
      found.set(position, (found.get(position) ?? new Set()).add(level))
  }
  for (const [index, source] of [...context.sources].entries()) {
    const message = context.messages.at(index) as Message
    if (source.type === 'clone') {
      note(source.position, source.position + 1, 'full')
      expectTrue(positions.has(source.position as Position), `${source.position} is not in the view`)
      const recorded = view.at(view.before(source.position)) as Message
      expectTrue(source.mended !== undefined || message === recorded, `${source.position} is not as it was recorded`)
    } else if (source.type === 'representation') {
      note(source.from, source.to, source.level)
      for (const position of source.briefs ?? []) note(position, position + 1, 'structured')
      expectTrue(source.level === 'pointer' || source.to === source.from + 1, `${source.from} stands for several`)
      expectTrue(positions.has(source.from as Position), `${source.from} is not in the view`)
      if (source.level === 'pointer') {
        expect(message.role).toBe('user')
        expect(message.content).toMatchObject([
          { type: 'text', text: expect.stringContaining(`{"position": ${source.from}}`) as string },
        ])
      }
    } else if (source.type === 'summary') note(source.from, source.to, 'pointer')
  }
  const least = (position: number): number => residencyLevels.indexOf(minFidelity(kindOf(position)))
  for (let position = 0; position < end; position++) {
    if (!positions.has(position as Position)) {
      expectTrue(context.residency.at(position) === 'pointer', `position ${position} is not in the view, and shown`)
      continue
    }
    const levels = found.get(position)
    const level = context.residency.at(position) as string
    expectTrue(levels?.has(level) === true, `position ${position} is ${level}, found at ${[...(levels ?? [])].join()}`)
    const isEnough = residencyLevels.indexOf(level as 'full') <= least(position)
    expectTrue(isEnough, `position ${position}, ${kindOf(position)}, is ${level}`)
  }
  expect(wrong).toEqual([])
}
