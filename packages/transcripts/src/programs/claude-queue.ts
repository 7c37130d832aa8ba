/**
 * What a person types while Claude Code works: its queue of prompts. A prompt is added (`enqueue`), and then
 * sent as an own message (`dequeue`), put into the running turn (`remove`, and an attachment `queued_command` in later
 * versions) or taken back for editing (`popAll`). It may be written as each of these, and again as a message.
 *
 * Source  observed files of versions 2.0 to 2.1; the format is undocumented
 */
import { isObject, type Json, type JsonObject } from 'indelible/internal/json'
import { textIn } from '../format/origin.ts'

interface Prompt {
  readonly text: string
  readonly entry: JsonObject
  readonly line: number
}

type TextOfEntry = readonly [text: string, index: number]

interface Recent {
  readonly attachments: TextOfEntry[]
  readonly messages: TextOfEntry[]
}

export class PromptQueue {
  #queued: Prompt[] = []
  /** Prompts that left the queue for a message that has not been read. */
  #due: Prompt[] = []
  /** The texts of attachments whose removal from the queue has not been read. */
  readonly #attached: string[] = []
  /** The prompts since the last answer, each with its entry. */
  #recent: Recent = { attachments: [], messages: [] }

  /** Read an operation. Returns the prompts that never reached the model. */
  operation(entry: JsonObject, line: number): readonly Prompt[] {
    const text = textIn(entry, 'content')
    switch (entry['operation']) {
      case 'enqueue':
        if (text !== undefined) this.#queued.push({ text, entry, line })
        return []
      case 'dequeue': {
        const prompt = this.#take(text)
        if (prompt !== undefined) this.#due.push(prompt)
        return []
      }
      case 'remove': {
        const attached = text === undefined ? 0 : this.#attached.indexOf(text)
        if (this.#attached[attached] !== undefined) {
          this.#attached.splice(attached, 1)
          return []
        }
        const prompt = this.#take(text) ?? (text === undefined ? undefined : { text, entry, line })
        if (prompt === undefined) return []
        const reason = textIn(entry, 'reason')
        const isSent = (reason === undefined || reason.startsWith('absorbed')) && !isNotification(prompt.text)
        if (isSent) this.#due.push(prompt)
        return isSent ? [] : [prompt]
      }
      default: {
        const left = this.#queued
        this.#queued = []
        return text === undefined || left.some((prompt) => prompt.text === text)
          ? left
          : [...left, { text, entry, line }]
      }
    }
  }

  /** Read the prompt of an attachment. Returns the entry of a message since the last answer that is the same prompt. */
  attach(text: string, index: number): number | undefined {
    this.#queued = without(this.#queued, text)
    this.#due = without(this.#due, text)
    this.#attached.push(text)
    return sameOf(text, index, this.#recent.messages, this.#recent.attachments)
  }

  /** Read a message of the user. Returns the entry of an attachment since the last answer that is the same prompt. */
  message(text: string, index: number): number | undefined {
    const due = this.#due
    // A command is written in another form than it had in the queue, and several prompts can become one message.
    this.#due = due.some((prompt) => prompt.text === text)
      ? without(due, text)
      : due.filter((prompt) => !text.includes(prompt.text) && !/^\s*[/!#]/.test(prompt.text))
    return sameOf(text, index, this.#recent.attachments, this.#recent.messages)
  }

  /** The prompts that the next answer was given, in no other form than this. */
  beforeAnswer(): readonly Prompt[] {
    const due = this.#due
    this.#due = []
    this.#recent = { attachments: [], messages: [] }
    return due
  }

  /** The prompts that were still queued at the end. */
  end(): readonly Prompt[] {
    return this.#queued
  }

  #take(text: string | undefined): Prompt | undefined {
    const at = text === undefined ? 0 : this.#queued.findIndex((prompt) => prompt.text === text)
    return at === -1 ? undefined : this.#queued.splice(at, 1)[0]
  }
}

/** The entry with this text among the others; if there is none, the text is added to its own kind. */
const sameOf = (text: string, index: number, others: TextOfEntry[], own: TextOfEntry[]): number | undefined => {
  const at = others.findIndex(([other]) => other === text)
  if (at === -1) own.push([text, index])
  return at === -1 ? undefined : others.splice(at, 1)[0]?.[1]
}

const without = (prompts: readonly Prompt[], text: string): Prompt[] => {
  const at = prompts.findIndex((prompt) => prompt.text === text)
  return at === -1 ? [...prompts] : prompts.toSpliced(at, 1)
}

/** Claude Code's own message about a background task. */
const isNotification = (text: string): boolean => /^\s*<task-notification\b/.test(text)

/** The prompt in an attachment: a text or content blocks. Undefined for another attachment. */
export const promptIn = ({ attachment }: JsonObject): Json | undefined =>
  isObject(attachment) && attachment['type'] === 'queued_command' ? (attachment['prompt'] as Json) : undefined

/** Whether a person typed the prompt in an attachment. */
export const isTyped = ({ attachment }: JsonObject): boolean => {
  if (!isObject(attachment) || attachment['isMeta'] === true) return false
  const { commandMode, origin } = attachment
  return (commandMode ?? 'prompt') === 'prompt' && (!isObject(origin) || origin['kind'] === 'human')
}

export const promptText = (content: Json | undefined): string => {
  if (typeof content === 'string') return content
  const blocks = Array.isArray(content) ? (content as readonly Json[]) : []
  return blocks
    .flatMap((block) => (isObject(block) && typeof block['text'] === 'string' ? [block['text']] : []))
    .join('\n')
}
