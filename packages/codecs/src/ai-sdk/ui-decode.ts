/**
 * Decodes AI SDK UI messages. An assistant message holds all steps of a turn, and a tool part its
 * call and its result. Each step becomes an assistant message followed by its results.
 */
import {
  aList,
  anObject,
  aString,
  isObject,
  readEach,
  readIn,
  Unexpected,
  type Json,
  type JsonObject,
  ownField,
  ownFields,
} from 'indelible/internal/json'
import type { FilePart, ImagePart, Message, Part, Role, ToolResultPart } from 'indelible/message'
import {
  type Decode,
  joinMarks,
  keepingOf,
  type KeptMeta,
  messageOf,
  stringIn,
  textPart,
} from 'indelible/internal/codecs'
import { uiFormat as format } from './format.ts'
import { decodeLive } from './live-values.ts'
import { mediaOf, urlSource } from './media.ts'
import { readReasoning } from './reasoning.ts'
import { isToolPart, readTool } from './ui-tool.ts'

const { keep, mark, raw } = keepingOf(format)

/** Decodes UI messages, an array. */
export const decodeUi: Decode = (wire) =>
  decodeLive(format, wire, (value) => {
    const messages: Message[] = []
    let before: unknown
    readEach(aList(value), (item) => {
      const message = anObject(item)
      for (const each of readMessage(message, before === 'assistant')) messages.push(each)
      before = message['role']
    })
    return messages
  })

/** @param follows whether it follows another assistant message, so that a mark must separate them */
const readMessage = (wire: JsonObject, follows: boolean): readonly Message[] => {
  const role = wire['role']
  // `ai` 3 had tool messages, and chats stored by it still have them.
  if (role !== 'system' && role !== 'user' && role !== 'assistant' && role !== 'tool')
    throw new Unexpected(['role'], 'one of system, user, assistant', role)
  const parts = readIn(wire, 'parts', aList)
  const id = stringIn(wire, 'id')
  const keptMeta = (as: string | undefined): KeptMeta => keep(wire, { id: id ?? '', role }, as, ['parts'])
  if (role === 'assistant') {
    const turn = new Turn()
    readIn(wire, 'parts', () => readEach(parts, (part) => turn.read(anObject(part))))
    return turn.end(id, (as) => keptMeta(joinMarks(follows && 'message', ...as)))
  }
  const content = readIn(wire, 'parts', () => readEach(parts, (part) => readSaid(anObject(part), role)))
  const as = joinMarks(role === 'tool' && role, content.length === 0 && 'empty')
  return [messageOf(role, content, keptMeta(as), id)]
}

/** A message under construction, with the marks of a form that is not the default. */
interface Draft {
  readonly role: Role
  readonly content: Part[]
  readonly words: string[]
  readonly id?: string
  readonly kept?: KeptMeta
}

/** The steps of one message. Each starts with `step-start`, unless marked otherwise. */
class Turn {
  readonly #drafts: Draft[] = []
  #step: Draft | undefined
  #results: ToolResultPart[] = []

  read(wire: JsonObject): void {
    if (wire['type'] === 'step-start' && Object.keys(wire).length === 1) return this.#startStep(wire)
    const steering = readSteering(wire)
    if (steering !== undefined) {
      if (this.#step === undefined && this.#drafts.length === 0) this.#open(['no-step'])
      this.#close()
      this.#drafts.push(steering)
      return
    }
    const step = this.#step ?? this.#open(['no-step'])
    const tool = isToolPart(wire) ? readTool(wire) : undefined
    if (tool === undefined) step.content.push(readSaid(wire, 'assistant'))
    else {
      step.content.push(tool.call)
      if (tool.result === undefined) return
      // A provider's result stays next to its call; an application's result goes into the next message.
      if (ownField(wire, 'providerExecuted') === true) step.content.push(tool.result)
      else this.#results.push(tool.result)
    }
  }

  /** All messages of the turn. The first one gets the whole message's id and kept fields. */
  end(wholeId: string | undefined, keptOf: (words: readonly string[]) => KeptMeta): readonly Message[] {
    const last = this.#drafts.findLast(({ role }) => role !== 'tool')
    // A step that was started but has no content is not a separate message.
    if (this.#step?.content.length === 0 && this.#step.words.length === 0 && last?.role === 'assistant')
      last.content.push(raw(freeze({ type: 'step-start' })))
    else if (this.#step !== undefined || this.#drafts.length === 0) {
      if (this.#step === undefined) this.#open(['no-step'])
      this.#close()
    }
    return this.#drafts
      .map(ownFields)
      .map(({ role, content, words, id, kept }, index) =>
        index === 0
          ? messageOf(role, content, keptOf(words), wholeId)
          : messageOf(role, content, kept ?? mark(joinMarks(...words)), id),
      )
  }

  #startStep(wire: JsonObject): void {
    if (this.#step?.content.length === 0) this.#step.content.push(raw(wire))
    else {
      this.#close()
      this.#open([])
    }
  }

  #open(words: string[]): Draft {
    this.#step = { role: 'assistant', content: [], words }
    return this.#step
  }

  #close(): void {
    if (this.#step !== undefined) this.#drafts.push(this.#step)
    if (this.#results.length > 0) this.#drafts.push({ role: 'tool', content: this.#results, words: [] })
    this.#step = undefined
    this.#results = []
  }
}

/** A message that somebody sent to the assistant between two of its steps. */
const readSteering = (wire: JsonObject): Draft | undefined => {
  const { type, id, parts } = wire
  if (type !== 'steering-message' || typeof id !== 'string' || !Array.isArray(parts) || !parts.every(isObject))
    return undefined
  const content = readIn(wire, 'parts', () =>
    readEach(parts as readonly Json[], (part) => readSaid(anObject(part), 'user')),
  )
  return { role: 'user', content, words: [], id, kept: keep(wire, { type, id }, 'steering', ['parts']) }
}

const readSaid = (wire: JsonObject, role: Role): Part => {
  const state = role === 'assistant' ? { state: 'done' } : undefined
  switch (wire['type']) {
    case 'text': {
      const text = readIn(wire, 'text', aString)
      return textPart(text, keep(wire, { type: 'text', text, ...state }))
    }
    case 'reasoning':
      return role === 'assistant' ? readReasoning(format, wire, 'providerMetadata', { state: 'done' }) : raw(wire)
    case 'file':
      return typeof wire['url'] === 'string' && role !== 'system' ? readFile(wire, wire['url']) : raw(wire)
    default: // sources, application data, reasoning files, future kinds
      return raw(wire)
  }
}

const readFile = (wire: JsonObject, url: string): ImagePart | FilePart => {
  const { part, fields } = mediaOf(wire, urlSource(url, stringIn(wire, 'mediaType')), false)
  return freeze({ ...part, ...keep(wire, { type: 'file', url, ...fields }) })
}

const { freeze } = Object
