/** JSON texts that are sent again and again as a list in them grows: what an earlier text has, too, is not parsed again. */
import { isLeft, parseJson, scanJson } from 'indelible/internal/json'

/** A text with its list of messages. */
interface SeenText {
  readonly text: string
  /** Where its list begins, and where each of its elements ends. */
  readonly start: number
  readonly ends: readonly number[]
  readonly list: readonly unknown[]
}

/** The number of earlier texts to compare a text with: agents work side by side, but not many. */
const mostTexts = 8

/** The number of equal elements from which on a text is parsed in pieces. */
const fewestShared = 8

/** Takes the place of the elements that were parsed before. It is random, so that no request can contain it. */
const mark = `elements parsed before ${Math.random()}`

export class GrownTexts {
  /** The latest first. */
  readonly #seen: SeenText[] = []

  /**
   * As `parseJson`, but elements of the list that an earlier text begins with are the objects of that text. Cost: to parse
   * what is new, and a comparison of the texts.
   *
   * @param listIn the list in a value that was parsed
   */
  parse(text: string, listIn: (value: unknown) => unknown): ReturnType<typeof parseJson> {
    for (const seen of this.#seen) {
      const len = sharedLength(seen, text)
      if (len < fewestShared) continue
      const { start } = seen
      const end = seen.ends[len - 1] as number
      const parsed = parseJson(`${text.slice(0, start)}${JSON.stringify(mark)}${text.slice(end)}`)
      const list = isLeft(parsed) ? undefined : listIn(parsed.right)
      if (!Array.isArray(list) || list[0] !== mark) break // another list has this name
      list.splice(0, 1, ...seen.list.slice(0, len))
      this.#add({ text, start, ends: [...seen.ends.slice(0, len), ...endsOf(text, end)], list: [...list] }, seen)
      return parsed
    }
    const parsed = parseJson(text)
    const list = isLeft(parsed) ? undefined : listIn(parsed.right)
    const start = listStart.exec(text)
    if (!Array.isArray(list) || start === null) return parsed
    const from = start.index + start[0].length
    this.#add({ text, start: from, ends: endsOf(text, from), list: [...list] })
    return parsed
  }

  /** Remember a text, in place of one that it continues. */
  #add(own: SeenText, continued?: SeenText): void {
    if (own.ends.length !== own.list.length) return
    if (continued !== undefined && continued.list.length <= own.list.length)
      this.#seen.splice(this.#seen.indexOf(continued), 1)
    else if (this.#seen.length === mostTexts) this.#seen.pop()
    this.#seen.unshift(own)
  }
}

/** The lists of messages in the requests of the APIs. */
const listStart = /"(?:messages|input|contents)"\s*:\s*\[/

/** The number of elements that both texts begin with. Cost: O(text) for a few comparisons of bytes. */
const sharedLength = ({ text, start, ends }: SeenText, other: string): number => {
  const isShared = (len: number): boolean => {
    const end = len === 0 ? start : (ends[len - 1] as number)
    return text.slice(0, end) === other.slice(0, end)
  }
  // Almost every text has all elements, or all but the last few.
  let [low, high] = [-1, ends.length + 1]
  for (let step = 1; high > 0 && low < 0; step *= 2) {
    const len = Math.max(0, high - step)
    if (isShared(len)) low = len
    else high = len
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (isShared(middle)) low = middle
    else high = middle
  }
  return low
}

/** The ends of the elements of a list. `from` is where the first begins, or where the one before them ends. */
const endsOf = (json: string, from: number): readonly number[] => {
  const ends: number[] = []
  let depth = 0
  scanJson(json, from, (sign, index) => {
    if (depth === 0 && index > from && (sign === ',' || sign === ']')) ends.push(index)
    if (sign === '[' || sign === '{') depth++
    return (sign === ']' || sign === '}') && depth-- === 0
  })
  return ends
}
