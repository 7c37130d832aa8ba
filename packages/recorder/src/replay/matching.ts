/** The parts of a request that are compared, as texts that are equal where the requests count as equal. */
import { isObject, sortKeys, type Immutable, type Json, type JsonObject } from 'indelible/internal/json'
import type { Message, Part, ResultPart } from 'indelible/message'
import { isInstruction } from '../conversations/compaction.ts'
import { identityOf } from '../messages/identity.ts'
import {
  itemWithoutBookkeeping,
  resultWithoutBookkeeping,
  systemWithoutBookkeeping,
  withoutBookkeeping,
} from './bookkeeping.ts'
import { mapJson } from './json-map.ts'
import type { RecordedRequestFacts } from './recorded-calls.ts'
import { isSameFolder, withFolder, type WorkFolder } from './work-folder.ts'

/** What a comparison may leave out. */
export type Ignored = 'results' | 'system' | 'tools' | 'model' | 'parameters' | 'dates' | 'folder'

export const ignorable: readonly Ignored[] = ['results', 'system', 'tools', 'model', 'parameters', 'dates', 'folder']

/** The settings of a request beside its messages, as texts. Undefined: unknown. */
export interface Settings {
  readonly api: string | undefined
  readonly model: string | undefined
  readonly system: string | undefined
  readonly tools: string | undefined
  readonly parameters: string | undefined
}

export const settingNames = ['api', 'model', 'tools', 'system', 'parameters'] as const

/** Compares requests. Cost: O(what is new in a request): an object that was seen before is not read again. */
export class Matching {
  readonly #ignore: ReadonlySet<Ignored>
  readonly #identities = new WeakMap<object, { readonly folder: WorkFolder | undefined; readonly id: string }>()
  readonly #texts = new WeakMap<object, { readonly folder: WorkFolder | undefined; readonly text: string }>()

  constructor(ignore: readonly Ignored[]) {
    this.#ignore = new Set(ignore)
  }

  /** The messages that are compared. */
  messages<M extends { readonly role: string }>(messages: readonly M[]): readonly M[] {
    return this.#ignore.has('system') ? messages.filter((message) => !isInstruction(message)) : messages
  }

  settings({ api, model, system, tools, parameters }: RecordedRequestFacts, folder: WorkFolder | undefined): Settings {
    const textUnless = (name: 'system' | 'tools' | 'parameters', value: Json | undefined): string | undefined =>
      value === undefined || this.#ignore.has(name) ? undefined : this.#settingText(name, value, folder)
    return {
      api,
      model: this.#ignore.has('model') ? undefined : model,
      system: textUnless('system', system),
      tools: textUnless('tools', tools),
      parameters: textUnless('parameters', parameters),
    }
  }

  /** The identity of a message: equal for messages that count as equal. */
  identity(message: Immutable<Message>, folder: WorkFolder | undefined): string {
    const known = this.#identities.get(message)
    if (known !== undefined && isSameFolder(known.folder, folder)) return known.id
    const id = identityOf(this.comparable(message as Message, folder))
    this.#identities.set(message, { folder, id })
    return id
  }

  /** A message without what is not compared. */
  comparable(message: Message, folder: WorkFolder | undefined): Message {
    const content = message.content.map((part) => this.#part(part, folder))
    if (content.every((part, index) => part === message.content[index])) return message
    // Its digest is that of the text as it was sent, so that what is left out would count.
    const { indelible: _, ...meta } = message.meta ?? {}
    return { ...message, content, meta }
  }

  #part<P extends Part | ResultPart>(part: P, folder: WorkFolder | undefined): P {
    switch (part.type) {
      case 'text': {
        const text = this.text(part.text, folder)
        return text === part.text ? part : { ...part, text }
      }
      case 'tool_call': {
        const text = this.text(part.arguments, folder)
        return text === part.arguments ? part : { ...part, arguments: text }
      }
      case 'tool_result': {
        if (this.#ignore.has('results')) return { ...part, content: [] }
        const content = part.content.map((inner) => {
          const plain = inner.type === 'text' ? resultWithoutBookkeeping(inner.text) : undefined
          const own = inner.type === 'text' && plain !== inner.text ? { ...inner, text: plain as string } : inner
          return this.#part(own, folder)
        })
        return content.every((inner, index) => inner === part.content[index]) ? part : { ...part, content }
      }
      case 'provider': {
        const raw = this.#json(itemWithoutBookkeeping(part.raw), folder)
        return JSON.stringify(raw) === JSON.stringify(part.raw) ? part : { ...part, raw }
      }
      default:
        return part
    }
  }

  /** A text without dates and without the folder, if these are not compared. */
  text(text: string, folder: WorkFolder | undefined): string {
    // The folder is first: its path may have a date.
    const moved = this.#ignore.has('folder') && folder !== undefined ? withFolder(text, folder, folderMark) : text
    return this.#ignore.has('dates') ? moved.replaceAll(dates, '[date]') : moved
  }

  #json(value: Json, folder: WorkFolder | undefined): Json {
    if (!this.#ignore.has('dates') && !this.#ignore.has('folder')) return value
    return mapJson(value, (inner) => (typeof inner === 'string' ? this.text(inner, folder) : inner))
  }

  /** A setting as text, whatever the order of its fields, without bookkeeping and cache marks. */
  #settingText(name: 'system' | 'tools' | 'parameters', value: Json, folder: WorkFolder | undefined): string {
    const known = this.#texts.get(Object(value) as object)
    if (known !== undefined && isSameFolder(known.folder, folder)) return known.text
    const own =
      name === 'system'
        ? systemWithoutBookkeeping(value)
        : name === 'parameters' && isObject(value)
          ? withoutBookkeeping(value as JsonObject)
          : value
    const plain = mapJson(this.#json(own, folder), (inner, field) => (field === 'cache_control' ? undefined : inner))
    const text = JSON.stringify(sortKeys(plain), undefined, 1)
    if (typeof value === 'object' && value !== null) this.#texts.set(value, { folder, text })
    return text
  }
}

/** Whether settings are equal, or unknown on one side. The name of the first that differs. */
export const otherSetting = (a: Settings, b: Settings): (typeof settingNames)[number] | undefined =>
  settingNames.find((name) => a[name] !== undefined && b[name] !== undefined && a[name] !== b[name])

const folderMark: WorkFolder = { path: '[folder]', project: '[folder]', slug: '[folder]' }

const months = 'January|February|March|April|May|June|July|August|September|October|November|December'

/** Dates and times as prompts have them. */
const dates = new RegExp(
  [
    String.raw`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?`,
    String.raw`\b(?:(?:Mon|Tues?|Wednes|Wed|Thurs?|Fri|Satur|Sat|Sun)(?:day)?,? )?(?:(?:${months}|[A-Z][a-z]{2})\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}|\d{1,2} (?:${months}) \d{4})`,
    String.raw`\b\d{1,2}[/.]\d{1,2}[/.]\d{4}\b`,
  ].join('|'),
  'g',
)
