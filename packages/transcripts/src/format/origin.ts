/** Collects where a conversation came from, entry by entry. */
import { pricesOf } from 'indelible/context'
import {
  fieldsBeside,
  isObject,
  ownField,
  ownFields,
  type Json,
  type JsonObject,
  present,
} from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { Usage } from 'indelible/internal/notes'
import type { UsageCall } from 'indelible/usage'
import type { Origin, OriginUse } from '../transcript.ts'
import type { ExportedHead } from 'indelible/internal/session'

type UsageFields = { readonly [Key in Exclude<keyof Usage, 'cacheWriteHour'>]-?: Json | undefined } & {
  readonly cacheWriteHour?: Json | undefined
}

/** What is known of a call beside its tokens. */
export interface CallDetails {
  /** The messages of its answer. */
  readonly answer?: readonly Message[]
  /** How it was served, where that changes its price. */
  readonly tier?: string
  /** When it was made, in ISO 8601. Default: the last time seen. */
  readonly time?: Json | undefined
  /** Names it in the file, which may report it again. Then the later figures count. Default: it is another call. */
  readonly key?: string | number | symbol
  /** Names it in this file and in copies of its lines. Default: its lines are never copied. */
  readonly id?: string | undefined
  /** Whether it was copied from another file. Default: if that file has a call with its id. */
  readonly isCopy?: boolean
  /** Whether it is the sum of several calls. Default: false. */
  readonly isSum?: boolean
}

interface CountedCall {
  readonly model: string | undefined
  readonly day: string | undefined
  readonly at: number
  readonly used: UsageFields
  readonly undercounted: boolean
  readonly isSum: boolean
}

export class OriginDraft {
  version: string | undefined
  #id: string | undefined
  title: string | undefined
  head: ExportedHead | undefined
  /** Whether it is an export of an erasable session. */
  erasable = false
  metadata: JsonObject = {}
  #started: string | undefined
  #ended: string | undefined
  readonly #models = new Set<string>()
  readonly #calls = new Map<string | number | symbol, CountedCall>()
  readonly #callIds = new Set<string>()
  readonly #copied = new Set<string | number | symbol>()
  #model: string | undefined
  readonly #aside = new Map<string, number>()
  readonly #countedElsewhere: ReadonlySet<string>

  /** @param countedElsewhere the ids of the calls of the file that this one has copies of */
  constructor(countedElsewhere: ReadonlySet<string> = new Set()) {
    this.#countedElsewhere = countedElsewhere
  }

  get id(): string | undefined {
    return this.#id
  }

  /** An id that looks like a path, such as `../../x`, is dropped, so that it never names a file or a session. */
  set id(id: string | undefined) {
    this.#id = id !== undefined && leaves.test(id) ? undefined : id
  }

  /** Set the id of an Indelible export without checking it: it is a session id, never used as a path. */
  ownId(id: string | undefined): void {
    this.#id = id
  }

  /** The first time seen. */
  get started(): string | undefined {
    return this.#started
  }

  /** The time of an entry. Anything but text is ignored. */
  time(time: Json | undefined): void {
    if (typeof time !== 'string' || time === '') return
    this.#started ??= time
    this.#ended = time
  }

  model(name: Json | undefined): void {
    if (typeof name !== 'string' || name === '') return
    this.#models.add(name)
    this.#model = name
  }

  /**
   * Read a header: the named text fields, and all others as metadata. A start time is left out of
   * the metadata if it is the first time seen.
   *
   * @param known fields to leave out of the metadata
   */
  describe(
    header: JsonObject,
    names: { readonly [Field in 'version' | 'id' | 'title' | 'started']?: string },
    known: readonly string[] = [],
  ): void {
    const { started, ...texts } = names
    const read = started !== undefined && header[started] === this.#started ? [started] : []
    for (const [field, name] of Object.entries(texts) as ['version' | 'id' | 'title', string][]) {
      this[field] = textIn(header, name)
      if (this[field] !== undefined) read.push(name)
    }
    this.metadata = fieldsBeside(header, [...known, ...read]) ?? {}
  }

  /**
   * Count a call. `input` is all input tokens, cached ones included. An answer without tokens, such as the text of an error, is no
   * call.
   */
  usage(used: UsageFields, details: CallDetails = {}): void {
    const { answer = [], tier, time, key = Symbol(), id, isCopy, isSum = false } = ownFields(details)
    if (count(used.input) + count(used.output) === 0) return
    if (id !== undefined) this.#callIds.add(id)
    if (isCopy ?? (id !== undefined && this.#countedElsewhere.has(id))) return void this.#copied.add(key)
    this.#calls.set(key, {
      model: tier === undefined || this.#model === undefined ? this.#model : `${this.#model} (${tier})`,
      day: /^\d{4}-\d\d-\d\d(?=T)/.exec(textOr(time, this.#ended ?? ''))?.[0],
      at: Date.parse(textOr(time, this.#ended ?? '')),
      used,
      undercounted: isUndercounted(answer, count(used.output)),
      isSum,
    })
  }

  /**
   * Count what a total of a model has beyond its calls. A later total with the same key takes its place.
   *
   * @param key names the total
   */
  total(model: string, used: UsageFields, key: string): void {
    const name = `total ${key} ${model}`
    const calls = [...this.#calls].filter(
      ([other, call]) => call.model === model && !String(other).startsWith('total '),
    )
    const sum = calls.reduce<Required<Usage> | undefined>((before, [, call]) => sumOf(before, call.used), undefined)
    const rest = (field: keyof Required<UsageFields>): number => Math.max(0, count(used[field]) - (sum?.[field] ?? 0))
    const [input, output, cacheRead, cacheWrite] = [
      rest('input'),
      rest('output'),
      rest('cacheRead'),
      rest('cacheWrite'),
    ]
    this.#calls.delete(name)
    this.model(model)
    this.usage({ input, output, cacheRead, cacheWrite }, { key: name, isSum: true })
  }

  aside(kind: string, times = 1): void {
    this.#aside.set(kind, (this.#aside.get(kind) ?? 0) + times)
  }

  done(): Origin {
    const { version, id, title, head } = this
    const { uses, usage } = this.#sums()
    return freeze({
      ...present({ version, id, title, started: this.#started, ended: this.#ended }),
      models: freeze([...this.#models]),
      ...(usage !== undefined && { usage: freeze(trimUsage(usage)) }),
      ...(this.#calls.size > 0 && { calls: freeze(this.#eachCall()) }),
      ...(uses.some((use) => ownField(use, 'model') !== undefined || ownField(use, 'day') !== undefined) && {
        uses: freeze(uses.map((use) => freeze(use))),
      }),
      ...(this.#copied.size > 0 && { copied: this.#copied.size }),
      ...(this.#callIds.size > 0 && { callIds: freeze([...this.#callIds]) }),
      ...(head !== undefined && { head: freeze(head) }),
      ...(this.erasable && { erasable: true as const }),
      metadata: freeze(this.metadata),
      aside: freeze(Object.fromEntries(this.#aside)),
    })
  }

  /** Each call, in the order of the file. */
  #eachCall(): readonly UsageCall[] {
    return Array.from(this.#calls.values(), ({ model = '', at, used, undercounted, isSum }) => ({
      model,
      usage: callUsage(sumOf(undefined, used)),
      ...(!Number.isNaN(at) && { at }),
      ...(undercounted && { isUndercounted: true }),
      ...(isSum && { calls: 1 }),
    }))
  }

  /** By model and day, and in all. */
  #sums(): { readonly uses: readonly OriginUse[]; readonly usage: Required<Usage> | undefined } {
    const uses = new Map<string, OriginUse>()
    let usage: Required<Usage> | undefined
    for (const { model, day, used, undercounted: isUnder } of this.#calls.values()) {
      usage = sumOf(usage, used)
      const above = model === undefined ? undefined : pricesOf(model)?.long?.above
      const isLong = above !== undefined && count(used.input) > above
      const key = `${day} ${isLong} ${model}`
      const before = uses.get(key)
      const undercounted = (before?.undercounted ?? 0) + (isUnder ? 1 : 0)
      uses.set(key, {
        ...present({ model, day }),
        calls: (before?.calls ?? 0) + 1,
        ...(isLong && { long: true as const }),
        ...(undercounted > 0 && { undercounted }),
        ...trimUsage(sumOf(before, used)),
      })
    }
    return { uses: [...uses.values()], usage }
  }
}

const { freeze } = Object
const emptyObject = ownFields<JsonObject>({})

const textOr = (value: Json | undefined, other: string): string => (typeof value === 'string' ? value : other)

const leaves = /^[/\\~]|^[a-z]:[/\\]|(?:^|[/\\])\.{1,2}(?:[/\\]|$)|\p{Cc}/iu

/** Those of these fields that are texts. */
export const textsAmong = (value: JsonObject, ...fields: readonly string[]): readonly string[] =>
  fields.filter((field) => typeof value[field] === 'string')

/** A field, if it is a text. */
export const textIn = (value: JsonObject, key: string): string | undefined =>
  typeof value[key] === 'string' ? value[key] : undefined

/** Milliseconds since 1970 as a time in ISO 8601; undefined for any other value. */
export const isoOf = (milliseconds: Json | undefined): string | undefined =>
  typeof milliseconds === 'number' && Math.abs(milliseconds) <= 8.64e15
    ? new Date(milliseconds).toISOString()
    : undefined

/** The milliseconds of a time that programs write in seconds or, in later versions, in milliseconds. */
export const millisecondsOf = (time: Json | undefined): number | undefined =>
  typeof time === 'number' ? time * (time > 1e11 ? 1 : 1000) : undefined

export const objectIn = (value: JsonObject, key: string): JsonObject => {
  const found = ownField(value, key)
  return isObject(found) ? found : emptyObject
}

export const count = (value: Json | undefined): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0

/** The characters of a token, at most: about 4 are usual. */
const mostCharacters = 8

/** Whether an answer plainly holds more tokens than were counted: Claude Code writes some with the count from the start of their stream. */
export const isUndercounted = (answer: readonly Message[], output: number): boolean => {
  let characters = 0
  for (const { content } of answer)
    for (const part of content)
      characters += part.type === 'text' ? part.text.length : part.type === 'tool_call' ? part.arguments.length : 0
  return characters > output * mostCharacters
}

/** The sum of two counts. The second may hold values that are not numbers. */
const sumOf = (
  before: Usage | undefined,
  used: { readonly [Key in keyof Required<Usage>]?: Json | undefined },
): Required<Usage> => ({
  input: (before?.input ?? 0) + count(used.input),
  output: (before?.output ?? 0) + count(used.output),
  cacheRead: ((before && ownField(before, 'cacheRead')) ?? 0) + count(ownField(used, 'cacheRead')),
  cacheWrite: ((before && ownField(before, 'cacheWrite')) ?? 0) + count(ownField(used, 'cacheWrite')),
  cacheWriteHour: ((before && ownField(before, 'cacheWriteHour')) ?? 0) + count(ownField(used, 'cacheWriteHour')),
})

/** Zeros of the cache are counts too. */
const callUsage = ({ cacheWriteHour, ...usage }: Required<Usage>): Usage => ({
  ...usage,
  ...(cacheWriteHour > 0 && { cacheWriteHour }),
})

const trimUsage = ({ input, output, cacheRead, cacheWrite, cacheWriteHour }: Required<Usage>): Usage => ({
  input,
  output,
  ...(cacheRead > 0 && { cacheRead }),
  ...(cacheWrite > 0 && { cacheWrite }),
  ...(cacheWriteHour > 0 && { cacheWriteHour }),
})
