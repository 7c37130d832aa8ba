/** Collects where a conversation came from, entry by entry. */
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
import { isUndercounted } from './undercount.ts'
import type { Origin, OriginUse } from './transcript.ts'
import type { ExportedHead } from 'indelible/internal/session'

type UsageFields = { readonly [Key in Exclude<keyof Usage, 'cacheWriteHour'>]-?: Json | undefined } & {
  readonly cacheWriteHour?: Json | undefined
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
  #models = new Set<string>()
  #usage: Required<Usage> | undefined
  /** By model and day. */
  #uses = new Map<string, OriginUse>()
  #model: string | undefined
  #aside = new Map<string, number>()

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
   * Count the usage of one answer. `input` is all input tokens, cached ones included. An answer without tokens, such as the
   * text of an error, is no call.
   */
  usage(used: UsageFields, answer: readonly Message[] = [], tier?: string): void {
    if (count(used.input) + count(used.output) === 0) return
    this.#usage = sumOf(this.#usage, used)
    const day = /^\d{4}-\d\d-\d\d(?=T)/.exec(this.#ended ?? '')?.[0]
    const model = tier === undefined || this.#model === undefined ? this.#model : `${this.#model} (${tier})`
    const key = `${day} ${model}`
    const before = this.#uses.get(key)
    const undercounted = (before?.undercounted ?? 0) + (isUndercounted(answer, count(used.output)) ? 1 : 0)
    this.#uses.set(key, {
      ...present({ model, day }),
      calls: (before?.calls ?? 0) + 1,
      ...(undercounted > 0 && { undercounted }),
      ...trimUsage(sumOf(before, used)),
    })
  }

  aside(kind: string, times = 1): void {
    this.#aside.set(kind, (this.#aside.get(kind) ?? 0) + times)
  }

  /** Replace everything by the state of another draft. */
  become(other: OriginDraft): void {
    this.version = other.version
    this.#id = other.#id
    this.title = other.title
    this.head = other.head
    this.erasable = other.erasable
    this.metadata = other.metadata
    this.#started = other.#started
    this.#ended = other.#ended
    this.#models = other.#models
    this.#usage = other.#usage
    this.#uses = other.#uses
    this.#model = other.#model
    this.#aside = other.#aside
  }

  done(): Origin {
    const { version, id, title, head } = this
    const uses = [...this.#uses.values()]
    return freeze({
      ...present({ version, id, title, started: this.#started, ended: this.#ended }),
      models: freeze([...this.#models]),
      ...(this.#usage !== undefined && { usage: freeze(trimUsage(this.#usage)) }),
      ...(uses.some((use) => ownField(use, 'model') !== undefined || ownField(use, 'day') !== undefined) && {
        uses: freeze(uses.map((use) => freeze(use))),
      }),
      ...(head !== undefined && { head: freeze(head) }),
      ...(this.erasable && { erasable: true as const }),
      metadata: freeze(this.metadata),
      aside: freeze(Object.fromEntries(this.#aside)),
    })
  }
}

const { freeze } = Object
const emptyObject = ownFields<JsonObject>({})

const leaves = /^[/\\~]|^[a-z]:[/\\]|(?:^|[/\\])\.{1,2}(?:[/\\]|$)|\p{Cc}/iu

/** Those of these fields that are texts. */
export const textsAmong = (value: JsonObject, ...fields: readonly string[]): readonly string[] =>
  fields.filter((field) => typeof value[field] === 'string')

/** A field, if it is a text. */
export const textIn = (value: JsonObject, key: string): string | undefined =>
  typeof value[key] === 'string' ? value[key] : undefined

export const objectIn = (value: JsonObject, key: string): JsonObject => {
  const found = value[key]
  return isObject(found) ? found : emptyObject
}

export const count = (value: Json | undefined): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0

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

const trimUsage = ({ input, output, cacheRead, cacheWrite, cacheWriteHour }: Required<Usage>): Usage => ({
  input,
  output,
  ...(cacheRead > 0 && { cacheRead }),
  ...(cacheWrite > 0 && { cacheWrite }),
  ...(cacheWriteHour > 0 && { cacheWriteHour }),
})
