/** A provider's prompt cache by the published rules: a request's longest beginning that an earlier one had is read again. */
import { createHash } from 'node:crypto'

type Wire = { readonly [field: string]: unknown }

/** What a request's tokens are counted as. */
export interface CountedRequest {
  readonly input: number
  readonly read: number
}

export class PromptCache {
  readonly #block: number
  #beginnings = new Map<string, number>()

  /** @param block the tokens of a block: a part of one is not cached */
  constructor(block: number) {
    this.#block = block
  }

  /** Forget everything: the lifetime is over. */
  clear(): void {
    this.#beginnings = new Map()
  }

  /**
   * Count a request, and cache its beginnings.
   *
   * @param tokens how many it has in all
   */
  count(body: Wire, tokens: number): CountedRequest {
    const hash = createHash('sha256').update(String(body['model']))
    const pieces = piecesOf(body)
    const size = pieces.reduce((sum, { length }) => sum + length, 0)
    let [end, read] = [0, 0]
    const beginnings: [name: string, tokens: number][] = []
    for (const piece of pieces) {
      end += piece.length
      beginnings.push([hash.update(piece).copy().digest('hex'), Math.floor((end / size) * tokens)])
    }
    for (const [name] of beginnings) {
      const cached = this.#beginnings.get(name)
      if (cached === undefined) break
      read = Math.min(tokens, cached)
    }
    for (const [name, count] of beginnings) if (!this.#beginnings.has(name)) this.#beginnings.set(name, count)
    return { input: tokens, read: read < least ? 0 : Math.floor(read / this.#block) * this.#block }
  }
}

/** Requests with fewer tokens are not cached. */
const least = 1024

/** A request in the order in which it is cached. Marks of where to cache are no part of it, nor is what a client says of itself. */
const piecesOf = (body: Wire): readonly string[] =>
  [body['tools'], body['instructions'], body['system'], body['messages'], body['input']].flatMap((part) =>
    (Array.isArray(part) ? part : [part]).flatMap((value: unknown) => {
      const text = JSON.stringify(value, plainValue) ?? ''
      return text.includes('x-anthropic-billing-header') ? [] : [text]
    }),
  )

/** A content that is one text means the same as a list with it. */
const plainValue = (key: string, value: unknown): unknown =>
  key === 'cache_control'
    ? undefined
    : key === 'content' && typeof value === 'string'
      ? [{ type: 'text', text: value }]
      : value
