/** What each message of a conversation cost as input: when it was sent first, and with each later call. */
import { pricesOf } from 'indelible/context'
import { ratesAt } from 'indelible/internal/prices'
import { textOf, type Message } from 'indelible/message'
import { dayOf } from 'indelible/internal/usage'
import type { ExplainedCall } from 'indelible/usage'
import { gistOf } from '../terminal/timeline.ts'

/** The cost of a message, or of what stands before the first one that a call answers. */
interface ContentCost {
  /** The message; null for what is sent before all of them, with the tools and the system text. */
  readonly position: number | null
  readonly text: string
  /** The tokens of one request: the share of its length among the messages that came together. */
  readonly tokens: number
  /** The number of calls that sent it. */
  readonly calls: number
  /** US dollars at list prices; absent if no price is known. */
  readonly dollars?: number
}

/** Tokens from `from` to `to` of each request, which came with the messages from `first` up to, but not including, `end`. */
interface Piece {
  readonly from: number
  to: number
  readonly first: number
  readonly end: number
  calls: number
  dollars: number
}

/**
 * The costs, the highest first. They are exact in sum while each request has all tokens of the one before; after a shortening, the
 * tokens that went are taken from the end. Cost: O(calls²)
 */
export const contentCosts = (
  messages: readonly Message[],
  calls: readonly ExplainedCall[],
): { readonly costs: readonly ContentCost[]; readonly isGrowing: boolean } => {
  const pieces: Piece[] = []
  let live: Piece[] = []
  let [isGrowing, isPriced] = [true, true]
  let [size, position] = [0, 0]
  for (const call of calls) {
    const { usage, position: answer } = call
    if (usage === undefined || answer === undefined || call.isShared === true) continue
    const { input } = usage
    if (input < size) {
      isGrowing = false
      live = live.filter(({ from }) => from < input).map((piece) => cutAt(piece, input, pieces))
    }
    if (input > size || live.length === 0) {
      const piece = {
        from: Math.min(size, input),
        to: input,
        first: position,
        end: Math.max(position, answer),
        calls: 0,
        dollars: 0,
      }
      pieces.push(piece)
      live.push(piece)
    }
    size = input
    position = Math.max(position, answer)
    const dollarsTo = dollarsUpTo(call)
    if (dollarsTo === undefined) isPriced = false
    for (const piece of live) {
      piece.calls += 1
      if (dollarsTo !== undefined) piece.dollars += dollarsTo(piece.to) - dollarsTo(piece.from)
    }
  }
  const nameOf = namesIn(messages)
  const costs: ContentCost[] = []
  for (const [index, piece] of pieces.entries())
    for (const { dollars, ...cost } of costsOf(piece, index === 0, messages, nameOf))
      costs.push(isPriced ? Object.assign(cost, { dollars }) : cost)
  return {
    costs: costs.toSorted((a, b) => (b.dollars ?? 0) - (a.dollars ?? 0) || b.tokens * b.calls - a.tokens * a.calls),
    isGrowing,
  }
}

/** The piece as far as a shorter request has it; its cost so far stays where it was. */
const cutAt = (piece: Piece, end: number, pieces: Piece[]): Piece => {
  if (piece.to <= end) return piece
  const rest = { ...piece, to: end, calls: 0, dollars: 0 }
  pieces.push(rest)
  return rest
}

/** The dollars of a request's first tokens: those read from the cache come first, then those written for an hour, then the others. */
const dollarsUpTo = (call: ExplainedCall): ((tokens: number) => number) | undefined => {
  const { model, usage } = call
  const prices = pricesOf(model)
  if (prices === undefined || usage === undefined) return undefined
  const { input, cacheRead = 0, cacheWrite = 0, cacheWriteHour = 0 } = usage
  const rates = ratesAt(prices, input, dayOf(call))
  const kinds = [
    [cacheRead, rates.cacheRead],
    [cacheWriteHour, rates.cacheWriteHour ?? 2 * rates.input],
    [cacheWrite - cacheWriteHour, rates.cacheWrite],
    [Infinity, rates.input],
  ] as const
  return (tokens) => {
    let [left, dollars] = [tokens, 0]
    for (const [count, rate] of kinds) {
      const taken = Math.min(left, Math.max(0, count))
      left -= taken
      dollars += taken * rate
    }
    return dollars / 1e6
  }
}

/** The costs of a piece's messages, by their lengths. The first piece is one: nobody says which tokens are its tools. */
const costsOf = (
  { from, to, first, end, calls, dollars }: Piece,
  isFirst: boolean,
  messages: readonly Message[],
  nameOf: (position: number) => string,
): readonly Required<ContentCost>[] => {
  const tokens = to - from
  if (isFirst) return [{ position: null, text: 'tools, system and what was sent first', tokens, calls, dollars }]
  const sizes = messages.slice(first, end).map(sizeOf)
  const sum = sizes.reduce((all, size) => all + size, 0)
  if (sum === 0) return [{ position: first, text: 'added by the program', tokens, calls, dollars }]
  return sizes.flatMap((size, index) => {
    const part = size / sum
    const position = first + index
    return size === 0
      ? []
      : [{ position, text: nameOf(position), tokens: Math.round(tokens * part), calls, dollars: dollars * part }]
  })
}

const sizeOf = (message: Message): number =>
  message.content.reduce(
    (sum, part) =>
      sum +
      (part.type === 'tool_call'
        ? part.name.length + part.arguments.length
        : part.type === 'tool_result'
          ? JSON.stringify(part.content).length
          : 0),
    textOf(message).length,
  )

/** `Read (miniz.c)` for a result, `user: Fix the test` for others. */
const namesIn = (messages: readonly Message[]): ((position: number) => string) => {
  const calls = new Map<string, string>()
  for (const { content } of messages)
    for (const part of content)
      if (part.type === 'tool_call') calls.set(part.id, `${part.name} (${part.arguments.slice(0, 80)})`)
  return (position) => {
    const message = messages[position] as Message
    const result = message.content.find((part) => part.type === 'tool_result')
    return calls.get(result?.callId ?? '') ?? `${message.role}: ${gistOf(message)}`
  }
}
