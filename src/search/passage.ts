/** Finds the words of a question in texts, and selects the passage with most of them. */
import { wordsIn, type SearchText, type Word } from '../entry/internal.ts'
import type { Slices } from '../store/internal.ts'
import { excerptAfter, excerptOf, sliceUnits, type MarkedWord, type Match } from './match.ts'
import type { Question } from './question.ts'
import { sumOfBits } from './rank-sessions.ts'

/** A word of a text that the question has. */
interface FoundWord extends MarkedWord {
  readonly bits: number
}

/** A text whose words are stemmed counts as so many times its length: a slice then takes as long as others. */
const stemmedCost = 4

/** The words of a question that a text has, in order, with their places. Cost: O(text), in slices. */
async function* wordsFound(text: string, { bitsOf }: Question, slices: Slices): AsyncGenerator<FoundWord> {
  let before: Word | undefined
  let counted = 0
  for (const word of wordsIn(text)) {
    if (word.start - counted >= sliceUnits) {
      await slices.next(stemmedCost * (word.start - counted))
      counted = word.start
    }
    const bits = bitsOf(word, before)
    if (bits !== 0)
      yield { bits, start: word.joined && before !== undefined ? before.start : word.start, end: word.end }
    before = word
  }
  await slices.next(stemmedCost * (text.length - counted))
}

/** The words of the question that texts have, as bits. */
export const bitsIn = async (texts: readonly SearchText[], question: Question, slices: Slices): Promise<number> => {
  let bits = 0
  for (const { text } of texts) for await (const found of wordsFound(text, question, slices)) bits |= found.bits
  return bits
}

/** The part of texts, as long as an excerpt, whose words weigh most; of equal ones the first. Undefined if none has a word. */
export const passageIn = async (
  texts: readonly SearchText[],
  question: Question,
  weights: readonly number[],
  slices: Slices,
): Promise<Omit<Match, 'score'> | undefined> => {
  let best: { readonly text: SearchText; readonly words: readonly FoundWord[]; readonly weight: number } | undefined
  for (const text of texts) {
    const window: FoundWord[] = []
    for await (const found of wordsFound(text.text, question, slices)) {
      window.push(found)
      while (found.end - (window[0] as FoundWord).start > excerptAfter && window.length > 1) window.shift()
      const weight = sumOfBits(
        window.reduce((bits, each) => bits | each.bits, 0),
        weights,
      )
      if (best === undefined || weight > best.weight) best = { text, words: [...window], weight }
    }
  }
  return best && { of: best.text.of, excerpt: excerptOf(best.text.text, best.words) }
}
