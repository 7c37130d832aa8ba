/**
 * Joins the pieces of streamed calls. A piece belongs to the call at its index, with its id, or to the last call. It
 * begins another call if its id is new, or if it names a function after that call's arguments.
 */
import { isObject, ownField } from '../../json/index.ts'
import { valuesIn, type Fields } from '../joining.ts'

/** A piece of the first choice's message. */
export interface ChatGrowth {
  /** The text field, the part of the content or the call that grew: the same value for all its pieces. */
  readonly key: unknown
  readonly field: string
  readonly text: string
  /** A message with nothing else, as far as it came. */
  readonly message: () => Fields
}

interface Piece {
  readonly wire: Fields
  readonly index: unknown
  readonly id: string | undefined
  readonly name: string | undefined
  readonly input: unknown
}

/** How far the text of a JSON value has come. */
class JsonProgress {
  #depth = 0
  #inString = false
  #escaped = false
  #blank = true

  /** Adds a piece. Cost: O(piece). */
  add(piece: string): void {
    for (const sign of piece) {
      if (this.#escaped) this.#escaped = false
      else if (this.#inString) {
        if (sign === '\\') this.#escaped = true
        else if (sign === '"') this.#inString = false
      } else if (sign === '"') this.#inString = true
      else if (sign === '{' || sign === '[') this.#depth++
      else if (sign === '}' || sign === ']') this.#depth--
      if (this.#blank && sign.trim() !== '') this.#blank = false
    }
  }

  /** `empty`: only white space so far. `open`: more must follow. `complete`: a whole value, or something else. */
  get state(): 'empty' | 'open' | 'complete' {
    if (this.#blank) return 'empty'
    return this.#depth > 0 || this.#inString ? 'open' : 'complete'
  }
}

class Call {
  readonly fields: Fields = {}
  readonly place: number
  /** The number of calls that began before it. */
  readonly position: number
  readonly #input = new JsonProgress()
  #isWhole = false
  id: string | undefined
  name: string | undefined
  /** A piece that repeats the name after complete arguments. If more arguments follow, it began another call. */
  repeated: Piece | undefined

  constructor(place: number, position: number) {
    this.place = place
    this.position = position
  }

  get state(): 'empty' | 'open' | 'complete' {
    if (this.#isWhole) return 'complete'
    const { state } = this.#input
    return state === 'complete' && isObject(this.fields['custom']) ? 'open' : state // a custom tool's input is any text
  }

  /** Adds a piece. Returns its text of arguments. */
  add({ wire, id, name, input }: Piece): string {
    this.id ??= id
    const { fields } = this
    for (const [field, value] of valuesIn(wire)) {
      if (field === 'index') continue
      const before = ownField(fields, field)
      if (field === 'function' || field === 'custom') {
        if (isObject(value)) fields[field] = this.#inner(isObject(before) ? (before as Fields) : {}, value as Fields)
        else fields[field] ??= value
      } else if (isObject(value) && isObject(before)) Object.assign(before, value)
      else if (before === undefined || (value !== '' && field !== 'id' && field !== 'type')) fields[field] = value
    }
    if (id !== undefined && fields['id'] === '') fields['id'] = id
    if (name !== undefined) this.name = name
    if (isObject(input)) this.#isWhole = true
    if (typeof input !== 'string') return ''
    this.#input.add(input)
    return input
  }

  #inner(known: Fields, more: Fields): Fields {
    for (const [field, value] of valuesIn(more)) {
      const before = ownField(known, field)
      if (field === 'name' && typeof value === 'string' && typeof before === 'string')
        known[field] = joinedName(before, value, this.state === 'empty')
      else if ((field === 'arguments' || field === 'input') && typeof value === 'string' && typeof before === 'string')
        known[field] = before + value
      else known[field] = value
    }
    return known
  }
}

/** A name that is repeated, or comes in pieces before the arguments. */
const joinedName = (before: string, more: string, mayGrow: boolean): string =>
  more === before || !mayGrow ? before : more.startsWith(before) ? more : before + more

export class JoinedCalls {
  readonly #calls: Call[] = []
  readonly #at = new Map<unknown, Call>()
  /** The last call of each id. */
  readonly #byId = new Map<string, Call>()
  /** The calls that may lack arguments, in the order in which they began. */
  readonly #open: Call[] = []
  /** The call of the last piece. */
  #last: Call | undefined
  #legacy: Call | undefined

  /** Adds the pieces of one chunk. */
  take(list: unknown): readonly ChatGrowth[] {
    const touched = new Set<Call>()
    return (Array.isArray(list) ? (list as readonly unknown[]) : [list]).filter(isObject).map((item): ChatGrowth => {
      const piece = pieceOf(item as Fields)
      const call = this.#callOf(piece, touched)
      const before = call.state
      const text = call.add(piece)
      this.#last = call
      if (before === 'complete' && call.state !== 'complete') this.#open.push(call)
      if (call.id !== undefined && (this.#byId.get(call.id)?.position ?? 0) <= call.position)
        this.#byId.set(call.id, call)
      touched.add(call)
      const message = (): Fields => ({ role: 'assistant', tool_calls: [wholeCall(call.fields)] })
      return { key: call, field: 'tool_calls', text, message }
    })
  }

  /** Adds a piece of the only call in the form before calls had ids. */
  takeLegacy(call: Fields): void {
    this.#legacy ??= new Call(0, 0)
    this.#legacy.add(pieceOf({ function: call }))
  }

  /** The calls so far, in the order of their indexes. */
  get calls(): readonly Fields[] {
    const named = this.#calls.filter(({ fields }) => Object.keys(fields).length > 0)
    return named.toSorted((a, b) => a.place - b.place).map(({ fields }) => wholeCall(fields))
  }

  get legacy(): unknown {
    return this.#legacy?.fields['function']
  }

  /** The last call that still lacks arguments, if any. */
  get #unfinished(): Call | undefined {
    while (this.#open.at(-1)?.state === 'complete') this.#open.pop()
    return this.#open.at(-1) ?? this.#last
  }

  #callOf(piece: Piece, touched: ReadonlySet<Call>): Call {
    const { index, id, name } = piece
    const here = index === undefined ? undefined : this.#at.get(index)
    const withId = id === undefined ? undefined : this.#byId.get(id)
    const last = this.#last?.state === 'complete' && name === undefined ? this.#unfinished : this.#last
    const isNext = index !== undefined && here === undefined && (id !== undefined || name !== undefined)
    const known = here !== undefined && (withId === undefined || here.id === id) ? here : (withId ?? here ?? last)
    if (known === undefined) return this.#begin(piece)
    const isOfKnown = known === withId ? continues(known, piece) : known.id === undefined && name === undefined
    if (isNext && !isOfKnown) return this.#begin(piece)
    const isAnother = touched.has(known) && name !== undefined && (id === undefined || id !== known.id)
    if (isAnother || beginsAfter(known, piece)) {
      const begun = this.#begin(piece)
      if (known.repeated !== undefined && name === undefined) begun.add({ ...known.repeated, input: undefined })
      known.repeated = undefined
      return begun
    }
    if (index !== undefined) this.#at.set(index, known)
    return known
  }

  #begin({ index }: Piece): Call {
    const place = typeof index === 'number' ? index : (this.#last?.place ?? 0)
    const call = new Call(place, this.#calls.length)
    this.#calls.push(call)
    this.#open.push(call)
    if (index !== undefined) this.#at.set(index, call)
    return call
  }
}

/** Whether a piece with another id, or without a known one, goes on with arguments that are not complete. */
const continues = (call: Call, { name, input }: Piece): boolean =>
  call.state === 'open' &&
  (name === undefined || name === call.name) &&
  typeof input === 'string' &&
  input.trim() !== '' &&
  !input.trimStart().startsWith('{')

const beginsAfter = (call: Call, piece: Piece): boolean => {
  const { id, name, input } = piece
  if (id !== undefined && call.id !== undefined && id !== call.id) return !continues(call, piece)
  const hasInput = isObject(input) || (typeof input === 'string' && input.trim() !== '')
  if (name === undefined) return call.repeated !== undefined && hasInput
  if (call.name === undefined || call.state === 'empty') return false
  if (name !== call.name) return true
  if (call.state === 'open') return false
  if (id === undefined && !hasInput) call.repeated = piece
  return hasInput && !(isObject(input) && id !== undefined)
}

const pieceOf = (wire: Fields): Piece => {
  const { function: called, custom } = wire
  const inner = isObject(called) ? called : isObject(custom) ? custom : {}
  return {
    wire,
    index: wire['index'] ?? undefined,
    id: textIn(wire, 'id'),
    name: textIn(inner as Fields, 'name'),
    input: inner['arguments'] ?? inner['input'],
  }
}

const textIn = (fields: Fields, field: string): string | undefined => {
  const value = fields[field]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A call with the fields that a whole answer has, which a stream may leave out. */
const wholeCall = (fields: Fields): Fields => {
  const { function: called } = fields
  if (!isObject(called)) return fields
  return {
    ...fields,
    type: textIn(fields, 'type') ?? 'function',
    function: { ...called, arguments: called['arguments'] ?? '' },
  }
}
