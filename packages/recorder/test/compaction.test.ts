/** Summaries that a client takes out of an answer: the outermost elements, each up to the first end of its name. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { assistant, user, type Message } from 'indelible'
import { compactionOf, type IndexedMessages } from '../src/conversations/compaction.ts'
import { identityOf } from '../src/messages/identity.ts'

const indexed = (messages: readonly Message[]): IndexedMessages => ({
  len: messages.length,
  at: (index) => messages[index],
  identityAt: (index) => identityOf(messages[index] as Message),
})

/** What is inside the elements of a text, read one tag after the other. */
const insidesOf = (text: string): readonly string[] => {
  const insides: string[] = []
  for (let at = 0; ;) {
    const [tag, name] = /<(\w+)>/.exec(text.slice(at)) ?? []
    if (tag === undefined) return insides
    const start = text.indexOf(tag, at) + tag.length
    const end = text.indexOf(`</${name}>`, start)
    if (end !== -1) insides.push(text.slice(start, end))
    at = end === -1 ? start : end
  }
}

const summaryIn = (answer: string, output: string): string | undefined => {
  const talk = [user('Go.'), assistant('I went.'), user('Sum it up.'), assistant(answer)]
  return compactionOf(indexed(talk), [user(`It was like this: ${output} Go on.`)], 0, [])?.summary
}

it('property: the longest element quoted by a request is the summary', () => {
  const piece = fc.oneof(
    fc.constantFrom('<a>', '</a>', '<b>', '</b>', '<c>', '</c>'),
    fc.nat(9).map((number) => `these are the words number ${number}.`),
  )
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
      const answer = `This is what there is. ${pieces.join(' ')}`
      const insides = insidesOf(answer).map((inside) => inside.trim())
      for (const inside of insides) {
        const [longest] = insides
          .filter((other) => other.length >= 20 && inside.includes(other))
          .toSorted((a, b) => b.length - a.length)
        expect(summaryIn(answer, inside)).toBe(longest)
      }
      expect(summaryIn(answer, answer)).toBe(answer)
    }),
  )
})

it('of a request that begins anew with the last answer, only a message before the answer is made', () => {
  const talk = [user('Go.'), assistant('I went.')]
  const messages = [user('So far:'), ...talk, user('Go on.'), user('Now.')]
  expect(compactionOf(indexed(talk), messages, 0, [])?.places).toEqual(['made', 0, 1, 'new', 'new'])
  expect(compactionOf(indexed(talk), messages.slice(0, 3), 0, [])?.places).toEqual(['made', 0, 1])
})

it('short texts and quotes outside elements are not summaries', () => {
  expect(summaryIn('<a>nineteen letters x</a>', 'nineteen letters x')).toBeUndefined()
  expect(summaryIn('<a>just twenty letters x</a>', 'just twenty letters x')).toBe('just twenty letters x')
  expect(
    summaryIn('These words are in no element. <a>But these are.</a>', 'These words are in no element.'),
  ).toBeUndefined()
})

it.each(['<c>', '</c> <c>', '<c> </c>'])(
  'an element without a content of its own hides none after it: %s',
  (before) => {
    expect(summaryIn(`${before} <a>just twenty letters x</a>`, 'just twenty letters x')).toBe('just twenty letters x')
  },
)
