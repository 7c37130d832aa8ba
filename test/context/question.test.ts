/** The question is readable, and the budget is used: in random and real conversations, with pastes of any size anywhere. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, system, toolCall, toolResult, user, type Message, type View } from 'indelible'
import { residencyLevels } from 'indelible/pages'
import { readTranscript } from '@indelible/transcripts'
import {
  deriveContext,
  estimateTokens,
  paged,
  window,
  type DerivedContext,
  type DeriveOptions,
  type Policy,
} from 'indelible/context'
import { itShared, readShared } from '../real-transcripts.ts'
import { conversations, expectLawful, recordOf } from './conversations.ts'
import { isFull, rounds } from '../rounds.ts'

const policies: readonly Policy[] = [paged(), window]
const numRuns = rounds(8, 200)
const anyPolicy = fc.constantFrom(...policies)

const derive = (view: View<Message>, options: DeriveOptions): DerivedContext | undefined => {
  const derived = deriveContext(view, options)
  return isLeft(derived) ? undefined : derived.right
}

/** Text of so many characters that nothing else says, without white space at its ends. */
const pasteOf = (characters: number, seed = 1): string => {
  const words: string[] = []
  for (let length = 0, state = seed; length < characters;) {
    state = (state * 48_271 + 11) % 2_147_483_647
    const word = `${['const', 'the', 'error:', 'src/a.ts', '=', 'value'][state % 6] as string}${state % 997}`
    words.push(word)
    length += word.length + 1
  }
  return words.join(' ').slice(0, characters).trim()
}

/** The latest thing that the user says: the last message with something of the user's own in it. */
const questionAt = (view: View<Message>): number =>
  [...view].findLastIndex(
    ({ role, content }) => role === 'user' && content.some((part) => part.type === 'text' && part.text.trim() !== ''),
  )

/** The user's words in the context: whole, or head and tail of them with what is gone, its size and the way back. */
const expectReadable = (context: DerivedContext, view: View<Message>): void => {
  const position = questionAt(view)
  if (position === -1) return
  const [asked] = (view.at(position) as Message).content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const said = JSON.stringify(
    [...context.messages].filter((_, index) => {
      const source = context.sources.at(index)
      return (
        (source?.type === 'clone' && source.position === position) ||
        (source?.type === 'representation' && source.level === 'compressed' && source.from === position)
      )
    }),
  )
  const json = (part: string): string => JSON.stringify(part).slice(1, -1)
  const whole = asked ?? ''
  if (whole.length <= 120) return expect(said).toContain(json(whole))
  expect(said).toContain(json(whole.slice(0, 32).toWellFormed()).replaceAll('\uFFFD', ''))
  expect(said).toContain(json(whole.slice(-16).toWellFormed()).replaceAll('\uFFFD', ''))
  if (!said.includes(json(whole))) {
    expect(said).toMatch(/… [\d,]+ of [\d,]+ characters omitted/)
    expect(said).toContain(json(`recall with {"position": ${position}}`))
  }
}

const short = Array.from({ length: 40 }, (_, index) =>
  index % 2 === 0 ? user(`Short question ${index} about the build`) : assistant(`Short answer ${index} to it`),
)

describe('a question of about 25,000 tokens after forty short messages, with a budget of 8,000', () => {
  const asked = `Why does this fail? ${pasteOf(62_000)} Answer in one line.`
  const view = recordOf([system('You help.'), ...short, user(asked)])
  it.each(policies.map((policy) => [policy.name, policy] as const))(
    '%s sends its head, its tail and the turns before',
    (_, policy) => {
      const context = derive(view, { budget: 8000, policy }) as DerivedContext
      expectLawful(context, view)
      expectReadable(context, view)
      const sent = JSON.stringify(context.messages)
      expect(sent).toContain('Why does this fail?')
      expect(sent).toContain('Answer in one line.')
      expect(context.tokens).toBeGreaterThan(policy.choose === 'epochs' ? 0.45 * 8000 : 0.85 * 8000)
      expect(context.residency.at(-1)).toBe('compressed')
    },
  )
  it('is MinimumDoesNotFit where not even its two ends fit', () => {
    for (const policy of policies) {
      const derived = deriveContext(view, { budget: 120, policy })
      expect(isLeft(derived) && derived.left._tag).toBe('MinimumDoesNotFit')
    }
  })
})

describe('random conversations with a paste of 1 kB to 1 MB anywhere', () => {
  const paste = fc.record({
    characters: fc.oneof(fc.integer({ min: 1000, max: 60_000 }), fc.constantFrom(1000, 100_000, 100_000, 1_000_000)),
    as: fc.constantFrom('user', 'assistant', 'result', 'last'),
    place: fc.nat(),
  })
  const pasted = (
    messages: readonly Message[],
    { characters, as, place }: typeof paste extends fc.Arbitrary<infer T> ? T : never,
  ): readonly Message[] => {
    const said = pasteOf(characters, place + 1)
    const steps =
      as === 'result'
        ? [assistant(toolCall('pasted', 'read', '{"path":"a.log"}')), toolResult('pasted', said)]
        : [as === 'assistant' ? assistant(said) : user(said)]
    // Between steps: a paste amid calls and results would be another thing.
    const places = [...messages.keys()].filter((index) => messages[index]?.role === 'user')
    const at = as === 'last' || places.length === 0 ? messages.length : (places[place % places.length] as number)
    return [...messages.slice(0, at), ...steps, ...messages.slice(at)]
  }
  const budgets = fc.oneof(fc.integer({ min: 200, max: 2000 }), fc.integer({ min: 2000, max: 40_000 }))

  it('the question is readable, or the minimum does not fit', () => {
    fc.assert(
      fc.property(conversations({ damaged: true }), paste, budgets, anyPolicy, (messages, paste, budget, policy) => {
        const view = recordOf(pasted(messages, paste))
        const context = derive(view, { budget, policy })
        if (context === undefined) return
        expectLawful(context, view)
        expectReadable(context, view)
      }),
      { numRuns },
    )
  })

  it('the budget is used, or the provenance gives the reason', () => {
    fc.assert(
      fc.property(conversations({ damaged: false }), paste, budgets, anyPolicy, (messages, paste, budget, policy) => {
        const view = recordOf(pasted(messages, paste))
        const context = derive(view, { budget, policy })
        const size = [...view].reduce((sum, message) => sum + estimateTokens(message), 0)
        if (context === undefined || size <= budget) return
        const isUsed = context.tokens >= (policy.choose === 'always' ? 0.85 : 0.45) * budget
        const excuse = context.provenance.find((said) => said.startsWith('unused:'))
        expect(excuse !== undefined).toBe(!isUsed)
        // An image is sent whole or not at all, and so are three calls with their answers, at 120 characters each: about
        // 1,100 tokens of these, 15 % of 8,000.
        const hasImage = JSON.stringify(messages).includes('"type":"image"')
        if (budget >= 8000 && !hasImage) expect(excuse).toBeUndefined()
      }),
      { numRuns },
    )
  })

  it('a message shorter than a marker is shown when the question must be cut', () => {
    const view = recordOf([user('hi'), user(pasteOf(1000))])
    const whole = [...view].reduce((sum, message) => sum + estimateTokens(message), 0)
    for (let budget = whole; budget > whole - 80; budget -= 5)
      expect([budget, derive(view, { budget, policy: window })?.residency.at(0)]).toEqual([budget, 'full'])
  })

  it('a larger budget never shows less, in policies without epochs', () => {
    const always = fc.constant(window)
    const more = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 50, max: 5000 }))
    fc.assert(
      fc.property(
        conversations({ damaged: false }),
        paste,
        budgets,
        more,
        always,
        (messages, paste, budget, more, policy) => {
          const view = recordOf(pasted(messages, paste))
          const [less, full] = [derive(view, { budget, policy }), derive(view, { budget: budget + more, policy })]
          if (less !== undefined) expect(full).toBeDefined()
          if (less === undefined || full === undefined) return
          for (let position = 0; position < view.length; position++) {
            const [before, after] = [less, full].map((context) => shownOf(context, position))
            expect([position, (after as number) >= (before as number)]).toEqual([position, true])
          }
        },
      ),
      { numRuns },
    )
  })
})

/** How much of a position a context shows: its level, and of a message of its own that is shortened the characters. */
const shownOf = (context: DerivedContext, position: number): number => {
  const level = residencyLevels.length - residencyLevels.indexOf(context.residency.at(position) as 'full')
  if (level === 1) return 0
  const said = [...context.messages].filter((_, index) => {
    const source = context.sources.at(index)
    return source?.type === 'representation' && source.level !== 'pointer' && source.from === position
  })
  return level * 10_000_000 + (level === 4 ? 0 : JSON.stringify(said.map(({ content }) => content)).length)
}

describe('real conversations', () => {
  itShared('the question is readable wherever something large is pasted, and the budget is used', () => {
    const pastes = [1_000, 1_000_000].map((characters, run) => pasteOf(characters, run + 1))
    const names = ['coding-agent.pi-session.jsonl', 'claude-code-opus-4-5.jsonl', 'codex-gpt-5-2.jsonl']
    for (const [file, name] of names.entries()) {
      const transcript = readTranscript(readShared(`transcripts/${name}`))
      if (isLeft(transcript)) throw new Error(name)
      const { messages } = transcript.right
      for (const [run, paste] of pastes.slice(0, isFull || file === 0 ? 2 : 1).entries())
        for (const share of isFull ? [0.3, 1] : [run === 0 ? 0.3 : 1]) {
          const callable = messages.findLastIndex(
            ({ role }, index) => index <= share * (messages.length - 1) && role !== 'assistant',
          )
          const before = messages.slice(0, callable + 1)
          const view = recordOf([...before, user(`What is this? ${paste} Say it in one line.`)])
          const size = [...view].reduce((sum, message) => sum + estimateTokens(message), 0)
          for (const policy of policies)
            for (const budget of [share === 1 ? 32_000 : 4_000]) {
              const context = derive(view, { budget, policy })
              if (context === undefined) throw new Error(`${name} at ${callable}, ${budget}, ${policy.name}`)
              expectReadable(context, view)
              if (size <= budget) continue
              const used = context.tokens / budget
              const excuse = context.provenance.some((said) => said.startsWith('unused:'))
              expect([name, policy.name, used >= (policy.choose === 'always' ? 0.85 : 0.45) || excuse]).toEqual([
                name,
                policy.name,
                true,
              ])
            }
        }
    }
  })
})

it('a shortened message shares every unchanged part with the record', () => {
  const asked = user('Why?', pasteOf(40_000), 'One line.')
  const view = recordOf([...short, asked])
  const context = derive(view, { budget: 4000 }) as DerivedContext
  const recorded = view.at(-1) as Message
  const sent = context.messages.at(-1) as Message
  expect(sent).not.toBe(recorded)
  expect(sent.content[0]).toBe(recorded.content[0])
  expect(sent.content[1]).not.toBe(recorded.content[1])
  expect(sent.content[2]).toBe(recorded.content[2])
})
