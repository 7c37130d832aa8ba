/** Reads requests that continue earlier ones: they are decoded and redacted only as far as they are new. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, type Json, type JsonObject } from 'indelible/internal/json'
import { decodeNext, type ListReading } from 'indelible/internal/codecs'
import type { Message } from 'indelible/message'
import type { Api } from '../apis/index.ts'
import type { Forms } from './content.ts'
import { GrowingLists, isSameJson } from './growing-lists.ts'
import { GrownTexts } from './grown-texts.ts'
import { parseRequestBody, withoutMarks, type ObservedRequest, type ParsedRequest } from './wire.ts'

/** A list of messages as it was sent. */
interface SentList {
  readonly api: Api
  readonly list: readonly unknown[]
  readonly messages: readonly Message[]
  /**
   * The reading of its first `len` elements, none of them as the last of a list. It gave `settled` messages that no later
   * element changes.
   */
  readonly begun: { readonly reading: ListReading; readonly len: number; readonly settled: number }
}

/** The last elements of a list, which clients change most: they move cache marks there. */
const lastElements = 8

/** Reads requests. A message that an earlier request has, too, is the same object as there, in each of its forms. */
export class RequestReader {
  readonly #forms: RecordedForms
  readonly #texts = new GrownTexts()
  readonly #lists = new GrowingLists<SentList>()
  readonly #recorded = new WeakMap<Message, Message>()
  readonly #settings = { system: new Changed(), tools: new Changed(), parameters: new Changed() }

  constructor(forms: RecordedForms) {
    this.#forms = forms
  }

  /** As `parseRequestBody`. Cost: a comparison with earlier ones; all else O(what is new in it). */
  parse(api: Api, body: string, request: ObservedRequest): Either<string, ParsedRequest> {
    return parseRequestBody(api, body, request, {
      parse: (text, listIn) => this.#texts.parse(text, listIn),
      decode: (list) => this.#decode(api, list),
    })
  }

  /** A request in the form in which it is recorded. */
  recorded(request: ParsedRequest): ParsedRequest {
    const { name, client, folder, asked: wanted, system, tools, beside } = this.#forms
    return {
      ...request,
      model: name(request.model),
      client: request.client === undefined ? undefined : client(request.client),
      folder: request.folder === undefined ? undefined : folder(request.folder),
      system: this.#settings.system.of(request.system, system),
      tools: this.#settings.tools.of(request.tools, tools),
      parameters: this.#settings.parameters.of(request.parameters, beside) as JsonObject,
      messages: request.messages.map((message) => {
        const known = this.#recorded.get(message)
        if (known !== undefined) return known
        const form = wanted(message)
        this.#recorded.set(message, form)
        return form
      }),
    }
  }

  /** The messages of a list; undefined if it can't be read in pieces. */
  #decode(api: Api, whole: readonly unknown[]): readonly Message[] | undefined {
    const grown = this.#lists.find(whole)
    const { earlier, list } = grown
    // What comes last in a list may be read in another way, so a list that was cut to that length is read anew.
    const isContinued =
      earlier !== undefined && earlier.api === api && earlier.begun.len <= grown.len && earlier.begun.len < list.length
    const before = isContinued ? earlier.begun : undefined
    const reading = before === undefined ? api.reading() : before.reading.copy()
    const from = before?.len ?? 0
    const to = Math.max(from, list.length - lastElements)
    const first = decodeNext(reading, list.slice(from, to), false)
    if (isLeft(first)) return undefined
    const begun = reading.copy()
    const decoded = decodeNext(reading, list.slice(to), true)
    if (isLeft(decoded)) return undefined
    const settled = before?.settled ?? 0
    const known = isContinued ? earlier.messages : []
    const messages = [
      ...known.slice(0, settled),
      ...decoded.right.messages.slice(settled).map((message, index) => {
        const own = withoutMarks(message)
        const same = known[settled + index]
        return same !== undefined && isSameJson(own, same) ? same : own
      }),
    ]
    const seen = {
      ...{ api, list, messages },
      begun: { reading: begun, len: to, settled: Math.max(0, first.right.messages.length - 1) },
    }
    this.#lists.add(seen, grown)
    return messages
  }
}

/** The forms of the parts of a request. */
type RecordedForms = Pick<Forms, 'name' | 'client' | 'folder' | 'asked' | 'system' | 'tools' | 'beside'>

/** Values that were changed last, with the results. */
class Changed {
  /** The latest first. */
  readonly #known: { readonly value: Json; readonly result: Json }[] = []

  of<T extends Json | undefined>(value: T, change: (value: Json) => Json): T {
    if (value === undefined) return value
    const at = this.#known.findIndex((known) => isSameJson(known.value, value))
    const [known] = at === -1 ? [{ value, result: change(value) }] : this.#known.splice(at, 1)
    this.#known.unshift(known as { readonly value: Json; readonly result: Json })
    if (this.#known.length > mostSettings) this.#known.pop()
    return known?.result as T
  }
}

/** The number of settings to remember of each kind. */
const mostSettings = 8
