/**
 * Finds many phrases in one pass over the words of a text, however many there are and however long they are: an
 * automaton whose states are the beginnings of phrases, with words as its symbols.
 *
 * Source  Aho, Corasick: Efficient string matching, 1975
 */
import type { Word } from '../entry/internal.ts'

/** A sequence of adjacent words. */
export interface Phrase {
  /** The words, at least one. */
  readonly units: readonly Pick<Word, 'text' | 'joined' | 'unspaced'>[]
  /** Whether the last word is a prefix. */
  readonly prefix: boolean
}

/** The beginning of a phrase. */
class State {
  readonly next = new Map<string, State>()
  /** The longest other beginning of a phrase with which the words of this one end; undefined for the empty one. */
  shorter: State | undefined
  /** The phrases that end here. */
  readonly ends: Phrase[] = []
  /** The phrases that lack only their last word here, and it is a prefix; by that word. */
  readonly prefixes = new Map<string, Phrase[]>()
  /** The distinct lengths of these words. */
  lengths: readonly number[] = []
  /** The longest shorter state with ends, and that with prefixes. */
  shorterEnd: State | undefined
  shorterPrefix: State | undefined
}

/** A phrase in a text. */
interface FoundPhrase {
  readonly phrase: Phrase
  /** The start of its first word in the text. */
  readonly start: number
}

export class PhraseFinder {
  readonly #root = new State()
  /** The number of words of the longest phrase. */
  readonly #longest: number
  /** The distances of joined characters from a phrase's last word. Phrases without any are absent. */
  readonly #joins = new Map<Phrase, readonly number[]>()

  constructor(phrases: readonly Phrase[]) {
    this.#longest = phrases.reduce((most, { units }) => Math.max(most, units.length), 0)
    for (const phrase of phrases) this.#add(phrase)
    this.#link()
  }

  /**
   * A search in a text: takes its words in order, and returns the phrases that end with each.
   *
   * Cost    O(1) for each word and each phrase found, amortized
   */
  search(): (word: Word) => readonly FoundPhrase[] {
    // The last words, at their number modulo the length of the longest phrase.
    const starts: number[] = []
    const joined: boolean[] = []
    let [count, streak] = [0, 0]
    let state = this.#root
    return (word) => {
      const found: FoundPhrase[] = []
      starts[count % this.#longest] = word.start
      joined[count % this.#longest] = word.joined
      streak = word.joined ? streak + 1 : 0
      const add = (phrase: Phrase): void => {
        const { length } = phrase.units
        const joins = streak < length - 1 ? this.#joins.get(phrase) : undefined
        if (joins?.some((distance) => joined[(count - distance) % this.#longest] === false) === true) return
        found.push({ phrase, start: starts[(count - length + 1) % this.#longest] as number })
      }
      if (!word.unspaced) eachPrefix(state, word.text, add)
      state = this.#after(state, word.text)
      const first = state.ends.length > 0 ? state : state.shorterEnd
      for (let at = first; at !== undefined; at = at.shorterEnd) at.ends.forEach(add)
      count += 1
      return found
    }
  }

  #add(phrase: Phrase): void {
    const { units, prefix } = phrase
    let state = this.#root
    for (const [index, { text }] of units.entries()) {
      if (prefix && index === units.length - 1) addTo(state.prefixes, text, phrase)
      const next = state.next.get(text) ?? new State()
      state.next.set(text, next)
      state = next
    }
    state.ends.push(phrase) // a prefix, too: its last word can be there as a whole
    const joins = units.flatMap(({ joined }, index) => (joined ? [units.length - 1 - index] : [])).toReversed()
    if (joins.length > 0) this.#joins.set(phrase, joins)
  }

  /** Links the states to shorter ones, short ones first. */
  #link(): void {
    const states = [this.#root]
    for (const state of states) {
      state.lengths = [...new Set([...state.prefixes.keys()].map(({ length }) => length))]
      for (const [text, next] of state.next) {
        const shorter = state === this.#root ? this.#root : this.#after(state.shorter as State, text)
        next.shorter = shorter
        next.shorterEnd = shorter.ends.length > 0 ? shorter : shorter.shorterEnd
        next.shorterPrefix = shorter.prefixes.size > 0 ? shorter : shorter.shorterPrefix
        states.push(next)
      }
    }
  }

  #after(from: State, text: string): State {
    for (let state: State | undefined = from; state !== undefined; state = state.shorter) {
      const next = state.next.get(text)
      if (next !== undefined) return next
    }
    return this.#root
  }
}

/** Calls a function with each phrase that ends with a word that begins with its last word, and is longer. */
const eachPrefix = (state: State, text: string, add: (phrase: Phrase) => void): void => {
  const first = state.prefixes.size > 0 ? state : state.shorterPrefix
  for (let at = first; at !== undefined; at = at.shorterPrefix)
    for (const length of at.lengths) if (length < text.length) at.prefixes.get(text.slice(0, length))?.forEach(add)
}

const addTo = (phrases: Map<string, Phrase[]>, text: string, phrase: Phrase): void => {
  const known = phrases.get(text)
  if (known === undefined) phrases.set(text, [phrase])
  else known.push(phrase)
}
