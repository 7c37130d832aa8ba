/** Requests that continue earlier ones, read and digested only as far as they are new. */
import { jsonEqual, type Json, type JsonObject } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { Forms } from '../content.ts'

/** The parts of a request that are changed into their recorded form. */
interface RequestParts {
  readonly messages: readonly Message[]
  readonly system?: Json | undefined
  readonly tools?: Json | undefined
  readonly parameters?: JsonObject | undefined
}

interface EarlierRequest {
  readonly sent: RequestParts
  readonly recorded: RequestParts
}

/** The number of earlier requests to compare a request with: agents work side by side, but not many. */
const mostEarlier = 8

const settings = ['system', 'tools', 'parameters'] as const

/** Changes requests into their recorded form. What an earlier request has, too, is the same object as there. */
export class EarlierRequests {
  readonly #forms: Pick<Forms, 'asked' | 'system' | 'tools' | 'beside'>
  /** The latest first. */
  readonly #earlier: EarlierRequest[] = []

  constructor(forms: Pick<Forms, 'asked' | 'system' | 'tools' | 'beside'>) {
    this.#forms = forms
  }

  /** The recorded form of a request. Cost: a comparison of its messages; all else O(what is new in it). */
  recorded<Request extends RequestParts>(request: Request): Request {
    const { asked, system, tools, beside } = this.#forms
    const { earlier, len, messages } = this.#longest(request.messages)
    const known = earlier?.recorded.messages.slice(0, len) ?? []
    const changes = { system, tools, parameters: beside }
    const parts = settings.flatMap((name) => {
      const value = request[name]
      if (value === undefined) return []
      const isKnown = earlier !== undefined && jsonEqual(value, earlier.sent[name])
      return [[name, isKnown ? earlier.recorded[name] : (changes[name] as (value: Json) => Json)(value)]]
    })
    const recorded = {
      ...request,
      ...Object.fromEntries(parts),
      messages: [...known, ...messages.slice(len).map((message) => asked(message))],
    } as Request
    // A request that has all of an earlier one replaces it.
    if (earlier !== undefined && len === earlier.sent.messages.length)
      this.#earlier.splice(this.#earlier.indexOf(earlier), 1)
    else if (this.#earlier.length === mostEarlier) this.#earlier.pop()
    this.#earlier.unshift({ sent: { ...request, messages }, recorded })
    return recorded
  }

  /** The earlier request that shares the most messages, and these messages with its objects in place of equal ones. */
  #longest(messages: readonly Message[]): {
    readonly earlier: EarlierRequest | undefined
    readonly len: number
    readonly messages: readonly Message[]
  } {
    const own = [...messages]
    let [best, most]: [EarlierRequest | undefined, number] = [undefined, -1]
    for (const earlier of this.#earlier) {
      const theirs = earlier.sent.messages
      let len = 0
      while (len < own.length && len < theirs.length && jsonEqual(own[len], theirs[len])) {
        own[len] = theirs[len] as Message // so that a comparison with the next is one of objects
        len++
      }
      if (len > most) [best, most] = [earlier, len]
      if (len > 0 && (len === theirs.length || len === own.length)) break
    }
    return { earlier: best, len: Math.max(most, 0), messages: own }
  }
}
