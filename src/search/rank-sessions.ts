/**
 * Ranks sessions for a question, from the places of its words alone. So every store gives the same order, with an
 * index and without one.
 *
 * A session scores for its words (BM25, where a message with a word is one occurrence), for its best message, for its
 * best message together with its neighbours, and for the month that the question names. An answer rarely repeats the
 * words of its question, so neighbours count.
 *
 * Source  Robertson, Zaragoza: The Probabilistic Relevance Framework, 2009
 */

/** The messages of a session that have words of the question. */
export interface WordRows {
  /** By position, the words of the message, as bits. */
  readonly bits: Map<number, number>
}

/** The parts of a session's score (bench: search-questions has the neighbours of each constant). */
const sessionPart = 1.5
const messagePart = 0.7
const windowPart = 1
const monthPart = 3
/** BM25: how soon repetitions of a word lose value, and how much a session's length counts. */
const saturation = 2
const lengthPart = 0.4
/** The distance of neighbours, in positions (a note can be between two messages), and the share of their words. */
const reach = 2
const neighbourShare = 0.5
/** The exponent of the share of the question that a message has together with its neighbours. */
const coveragePower = 0.6

/** The weight of a word, more for a rare one. */
export const weightOf = (rows: number, messages: number): number =>
  rows === 0 ? 0 : Math.log(1 + (Math.max(messages, rows) - rows + 0.5) / (rows + 0.5))

/** The sum of the weights of words. */
export const sumOfBits = (bits: number, weights: readonly number[]): number => {
  let [rest, sum] = [bits, 0]
  while (rest !== 0) {
    const index = 31 - Math.clz32(rest)
    sum += weights[index] ?? 0
    rest &= ~(1 << index)
  }
  return sum
}

/** A message's score: for its own words, and less for those of its neighbours. */
export interface RankedRow {
  readonly position: number
  readonly own: number
  readonly score: number
}

export const rankRows = ({ bits }: WordRows, weights: readonly number[]): readonly RankedRow[] => {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const rows = [...bits].toSorted(([a], [b]) => a - b)
  return rows.map(([position, ownBits], index) => {
    let near = 0
    for (let at = index - 1; at >= 0 && position - (rows[at]?.[0] as number) <= reach; at--) near |= rows[at]?.[1] ?? 0
    for (let at = index + 1; at < rows.length && (rows[at]?.[0] as number) - position <= reach; at++)
      near |= rows[at]?.[1] ?? 0
    const own = sumOfBits(ownBits, weights)
    const added = sumOfBits(near & ~ownBits, weights)
    const covered = total === 0 ? 0 : ((own + added) / total) ** coveragePower
    return { position, own, score: (own + neighbourShare * added) * covered }
  })
}

/**
 * The score of a session, from 0 to about 1: the share of the most that a session could have.
 *
 * @param length its length, as a share of the average length
 * @param inMonth how much it is of the month that the question names, 0 to 1
 */
export const scoreSession = (rows: WordRows, weights: readonly number[], length: number, inMonth: number): number => {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  if (total === 0) return 0
  const counts = weights.map(() => 0)
  for (const bits of rows.bits.values())
    for (let rest = bits; rest !== 0;) {
      const index = 31 - Math.clz32(rest)
      ;(counts[index] as number) += 1
      rest &= ~(1 << index)
    }
  const full = saturation * (1 - lengthPart + lengthPart * length)
  let session = 0
  for (const [index, count] of counts.entries())
    session += ((weights[index] as number) * count * (saturation + 1)) / (count + full)
  let [message, window] = [0, 0]
  for (const { own, score } of rankRows(rows, weights)) {
    message = Math.max(message, own)
    window = Math.max(window, score)
  }
  const found = sessionPart * session + messagePart * message + windowPart * window + monthPart * inMonth
  return found / ((sessionPart * (saturation + 1) + messagePart + windowPart) * total + monthPart)
}
