/** The chunks of a streamed answer, as the one response that they come to. */
import { isObject } from '../../json/index.ts'

type Fields = { [field: string]: unknown }

/** The chunks of a stream, joined as they come. */
export class JoinedResponse {
  #rest: Fields = {}
  readonly #candidates = new Map<number, Candidate>()
  #seen = false

  /** Take a chunk of the stream. It may be kept, and changed. */
  take({ candidates, ...rest }: Fields): void {
    this.#seen = true
    this.#rest = { ...this.#rest, ...rest } // usage is of the whole stream so far
    for (const candidate of objectsIn(candidates)) {
      const index = typeof candidate['index'] === 'number' ? candidate['index'] : 0
      const known = this.#candidates.get(index) ?? new Candidate()
      this.#candidates.set(index, known)
      known.take(candidate)
    }
  }

  /** The response so far; undefined before the first chunk. */
  get response(): Fields | undefined {
    if (!this.#seen) return undefined
    const candidates = [...this.#candidates.values()].map((one) => one.whole)
    return { ...this.#rest, ...(candidates.length > 0 && { candidates }) }
  }
}

/**
 * Join the chunks of a stream to one response, as `generateContent` would have given it: texts in a row are one, reasoning
 * likewise, and arguments that came in pieces are put together.
 *
 * @param chunks the chunks, in order
 * @returns the response, for {@link decodeResponse}
 * @example
 * const chunks = []
 * for await (const chunk of await client.models.generateContentStream(request)) chunks.push(chunk)
 * decodeResponse(joinResponses(chunks))
 */
export const joinResponses = (chunks: Iterable<object>): { readonly [field: string]: unknown } => {
  const joined = new JoinedResponse()
  for (const chunk of chunks) {
    const { sdkHttpResponse: _headers, ...plain } = chunk as Fields
    joined.take(structuredCloneOf(plain))
  }
  return joined.response ?? {}
}

const structuredCloneOf = (value: Fields): Fields => JSON.parse(JSON.stringify(value)) as Fields

const objectsIn = (list: unknown): readonly Fields[] => (Array.isArray(list) ? (list.filter(isObject) as Fields[]) : [])

class Candidate {
  #rest: Fields = {}
  #content: Fields | undefined
  readonly #parts: Fields[] = []
  /** A call whose arguments come in pieces. */
  #open: Fields | undefined

  take({ content, citationMetadata, ...rest }: Fields): void {
    const known = this.#rest['citationMetadata']
    this.#rest = { ...this.#rest, ...rest }
    if (isObject(citationMetadata))
      this.#rest['citationMetadata'] = {
        ...citationMetadata,
        ...(isObject(known) && { citations: [...listIn(known), ...listIn(citationMetadata)] }),
      }
    if (!isObject(content)) return
    const { parts, ...others } = content as Fields
    this.#content = { ...this.#content, ...others }
    for (const part of objectsIn(parts)) this.#add(part)
  }

  get whole(): Fields {
    return { ...this.#rest, ...(this.#content !== undefined && { content: { ...this.#content, parts: this.#parts } }) }
  }

  #add(part: Fields): void {
    const last = this.#parts.at(-1)
    if (last !== undefined && isPlainText(part) && isPlainText(last) && last['thought'] === part['thought'])
      last['text'] = `${String(last['text'])}${String(part['text'])}`
    else if (isObject(part['functionCall'])) this.#call(part, part['functionCall'] as Fields)
    else this.#parts.push(part)
  }

  /** A call, or a piece of the arguments of the one that is open. Source: Vertex AI, streaming of arguments (2026-11) */
  #call(part: Fields, call: Fields): void {
    const { partialArgs, willContinue, ...plain } = call
    const goesOn = this.#open !== undefined && plain['name'] === undefined
    const target = goesOn ? (this.#open as Fields) : plain
    if (!goesOn) this.#parts.push({ ...part, functionCall: target })
    const pieces = objectsIn(partialArgs)
    if (pieces.length > 0) {
      const args = isObject(target['args']) ? (target['args'] as Fields) : {}
      target['args'] = args
      for (const piece of pieces) put(args, piece)
    }
    this.#open = willContinue === true ? target : undefined
  }
}

const listIn = (metadata: object): readonly Fields[] => objectsIn((metadata as Fields)['citations'])

const isPlainText = (part: Fields): boolean =>
  typeof part['text'] === 'string' && Object.keys(part).every((field) => field === 'text' || field === 'thought')

/** Put a piece of arguments where its path says. A text goes on the one that stands there. */
const put = (args: Fields, piece: Fields): void => {
  const steps = stepsOf(piece['jsonPath'])
  const last = steps.pop()
  if (last === undefined) return
  let owner = args
  for (const [index, step] of steps.entries()) {
    const there = Object.hasOwn(owner, step) ? owner[step] : undefined
    const next = typeof there === 'object' && there !== null ? there : isNumber(steps[index + 1] ?? last) ? [] : {}
    owner[step] = next
    owner = next as Fields
  }
  const before = Object.hasOwn(owner, last) ? owner[last] : undefined
  const { stringValue, numberValue, boolValue } = piece
  owner[last] =
    typeof stringValue === 'string'
      ? `${typeof before === 'string' ? before : ''}${stringValue}`
      : (numberValue ?? boolValue ?? null)
}

const isNumber = (step: string): boolean => /^\d+$/.test(step)

/** The steps of a path such as `$.a[0]['b']`. Nothing that all objects have is one. */
const stepsOf = (path: unknown): string[] => {
  if (typeof path !== 'string') return []
  const steps = [...path.matchAll(/\.([^.[\]]+)|\[(\d{1,4})\]|\['([^']*)'\]/g)].map(
    ([, name, place, quoted]) => name ?? place ?? quoted ?? '',
  )
  return steps.includes('__proto__') ? [] : steps
}
