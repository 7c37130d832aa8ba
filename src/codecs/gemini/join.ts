/** Joins the chunks of a streamed answer into one response. */
import { isObject, listOrEmpty } from '../../json/index.ts'
import { mergeCounts, type Fields } from '../joining.ts'

/** Joins chunks as they arrive. */
export class JoinedResponse {
  #rest: Fields = {}
  readonly #candidates = new Map<number, Candidate>()
  readonly #unread: unknown[] = []
  #seen = false

  /** Adds a chunk of the stream. It may be kept and modified. */
  take(chunk: unknown): void {
    this.#seen = true
    if (!isObject(chunk)) return void this.#unread.push(chunk)
    const { candidates, usageMetadata: usage, ...rest } = chunk as Fields
    this.#rest = { ...this.#rest, ...rest }
    if (isObject(usage)) this.#rest['usageMetadata'] = mergeCounts(this.#rest['usageMetadata'], usage) // of the stream so far
    for (const candidate of objectsIn(candidates, this.#unread)) {
      const index = typeof candidate['index'] === 'number' ? candidate['index'] : 0
      const known = this.#candidates.get(index) ?? new Candidate(this.#unread)
      this.#candidates.set(index, known)
      known.take(candidate)
    }
  }

  /** The response so far; undefined before the first chunk. */
  get body(): Fields | undefined {
    if (!this.#seen) return undefined
    const candidates = [...this.#candidates.values()].map((candidate) => candidate.whole)
    return {
      ...this.#rest,
      ...(candidates.length > 0 && { candidates }),
      ...(this.#unread.length > 0 && { unreadChunks: this.#unread }),
    }
  }
}

/**
 * Joins stream chunks into one response, as `generateContent` would have returned it. Consecutive texts are merged,
 * as are reasoning parts and arguments sent in pieces. A piece without a valid place stays in `partialArgs` of its
 * call. Chunks, candidates and parts that are not objects go into `unreadChunks` of the response.
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
  for (const chunk of chunks as Iterable<unknown>) joined.take(isObject(chunk) ? plainOf(chunk) : chunk)
  return joined.body ?? {}
}

/** Converts a chunk to plain JSON: the client's chunks are class instances with HTTP headers. */
const plainOf = ({ sdkHttpResponse: _headers, ...chunk }: Fields): Fields => JSON.parse(JSON.stringify(chunk)) as Fields

/** The objects in a list. Everything else goes to `aside`. */
const objectsIn = (list: unknown, aside: unknown[]): readonly Fields[] => {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) return (aside.push(list), [])
  return list.filter((item): item is Fields => isObject(item) || (aside.push(item), false))
}

class Candidate {
  readonly #unread: unknown[]
  #rest: Fields = {}
  #content: Fields | undefined
  readonly #parts: Fields[] = []
  /** The part with a call whose arguments are still arriving. */
  #open: Fields | undefined

  constructor(unread: unknown[]) {
    this.#unread = unread
  }

  take({ content, citationMetadata, ...rest }: Fields): void {
    const known = this.#rest['citationMetadata']
    this.#rest = { ...this.#rest, ...rest }
    if (isObject(citationMetadata))
      this.#rest['citationMetadata'] = {
        ...citationMetadata,
        ...(isObject(known) && { citations: [...listIn(known), ...listIn(citationMetadata)] }),
      }
    if (!isObject(content)) {
      if (content !== undefined && content !== null) this.#unread.push(content)
      return
    }
    const { parts, ...others } = content as Fields
    this.#content = { ...this.#content, ...others }
    for (const part of objectsIn(parts, this.#unread)) this.#add(part)
  }

  get whole(): Fields {
    return { ...this.#rest, ...(this.#content !== undefined && { content: { ...this.#content, parts: this.#parts } }) }
  }

  #add(part: Fields): void {
    const last = this.#parts.at(-1)
    if (isPlainText(part) && part['text'] === '') return // many streams end with one, which a whole answer has not
    if (last !== undefined && isPlainText(part) && isPlainText(last) && last['thought'] === part['thought'])
      last['text'] = `${String(last['text'])}${String(part['text'])}`
    else if (isObject(part['functionCall'])) this.#call(part, part['functionCall'] as Fields)
    else this.#parts.push(part)
  }

  /** Adds a call, or a piece of the open call's arguments. Source: Vertex AI, streaming of arguments (2026-11) */
  #call(part: Fields, call: Fields): void {
    const { partialArgs, willContinue, ...plain } = call
    const { functionCall: _, ...beside } = part
    const open = plain['name'] === undefined ? this.#open : undefined
    const whole = open ?? { ...part, functionCall: {} }
    if (open === undefined) this.#parts.push(whole)
    const target = { ...plain, ...(whole['functionCall'] as Fields) }
    Object.assign(whole, { ...beside, ...whole, functionCall: target })
    const pieces = listOrEmpty(partialArgs)
    if (pieces.length > 0) target['args'] ??= {}
    for (const piece of pieces)
      if (!(isObject(target['args']) && isObject(piece) && putArgument(target['args'], piece)))
        (target['partialArgs'] = listOrEmpty(target['partialArgs'])).push(piece)
    this.#open = willContinue === true ? whole : undefined
  }
}

const listIn = ({ citations }: Fields): readonly unknown[] => listOrEmpty(citations)

const isPlainText = (part: Fields): boolean =>
  typeof part['text'] === 'string' && Object.keys(part).every((field) => field === 'text' || field === 'thought')

/** Puts a piece of arguments at its path; false if the path is invalid. Text is appended to existing text. */
const putArgument = (args: Fields, piece: Fields): boolean => {
  const steps = stepsOf(piece['jsonPath'])
  const value = valueOf(piece)
  if (steps === undefined || value === undefined) return false
  let owner = args
  for (const [at, step] of steps.entries()) {
    // Reject an index beyond the end: list items arrive in order, and it would create holes.
    if (Array.isArray(owner) ? typeof step !== 'number' || step > owner.length : typeof step === 'number') return false
    const there = Object.hasOwn(owner, step) ? owner[step] : undefined
    const next = steps[at + 1]
    if (next === undefined) {
      if (typeof there === 'object' && there !== null) return false
      owner[step] = typeof value === 'string' && typeof there === 'string' ? there + value : value
      return true
    }
    if (there === undefined) owner[step] = typeof next === 'number' ? [] : {}
    else if (typeof there !== 'object' || there === null) return false
    owner = owner[step] as Fields
  }
  return false
}

const valueOf = ({
  stringValue,
  numberValue,
  boolValue,
  ...rest
}: Fields): string | number | boolean | null | undefined => {
  if (typeof stringValue === 'string') return stringValue
  if (typeof numberValue === 'number') return numberValue
  if (typeof boolValue === 'boolean') return boolValue
  return Object.hasOwn(rest, 'nullValue') ? null : undefined
}

/** More steps than any real arguments have. */
const mostSteps = 100

/** The steps of a path such as `$.a[0]['b']`; undefined if it is invalid or contains `__proto__`. */
const stepsOf = (path: unknown): readonly (string | number)[] | undefined => {
  if (typeof path !== 'string' || !path.startsWith('$')) return undefined
  const steps: (string | number)[] = []
  const step = /\.([^.[\]]+)|\[(\d{1,7})\]|\['([^']*)'\]/y
  for (step.lastIndex = 1; step.lastIndex < path.length;) {
    const found = step.exec(path)
    if (found === null || steps.length === mostSteps) return undefined
    const [, name, place, quoted = ''] = found
    steps.push(place === undefined ? (name ?? quoted) : Number(place))
  }
  return steps.includes('__proto__') ? undefined : steps
}
