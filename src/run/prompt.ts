/** What a request says beside the messages of its context. The record and its contexts have none of it. */
import { system, text, type Message, type Sequence, type Settled } from '../message/index.ts'
import type { ModelContext } from './context-for.ts'

/** The texts that a run adds to each request. */
export interface Prompt {
  /** A system message after those of the context. */
  readonly guidance?: string | undefined
  /** A text at the end of the last user message that the run started with. */
  readonly preview?: string | undefined
}

/** Adds the texts of a prompt to contexts. */
export class Prompter {
  readonly #prompt: Prompt
  /** The message with the preview, so that a message of a later interrupt does not get it. */
  #previewed: Message | undefined
  /** The position of the preview in the last request. */
  #previewAt: number | undefined

  constructor(prompt: Prompt) {
    this.#prompt = prompt
  }

  /** The messages to send. Without a prompt, those of the context. */
  request({ messages, stablePrefix }: ModelContext): {
    readonly messages: Settled<Sequence<Message>>
    readonly stablePrefix: number
  } {
    const { guidance, preview } = this.#prompt
    if (guidance === undefined && preview === undefined) return { messages, stablePrefix }
    const sent = [...messages]
    let prefix = stablePrefix
    if (preview !== undefined) {
      const at = this.#placeOf(sent)
      const before = this.#previewAt
      this.#previewAt = at
      if (at !== undefined) {
        const message = sent[at] as Message
        sent[at] = Object.freeze({ ...message, content: Object.freeze([...message.content, text(preview)]) })
      }
      if (at !== before) prefix = Math.min(prefix, at ?? prefix, before ?? prefix)
    }
    if (guidance !== undefined) {
      const first = sent.findIndex(({ role }) => role !== 'system')
      sent.splice(first === -1 ? sent.length : first, 0, system(guidance))
      if (prefix > 0) prefix += 1
    }
    return { messages: sent as readonly Message[] as Settled<readonly Message[]>, stablePrefix: prefix } // no call was added or removed
  }

  #placeOf(sent: readonly Message[]): number | undefined {
    const known = this.#previewed === undefined ? -1 : sent.lastIndexOf(this.#previewed)
    const at = known === -1 ? sent.findLastIndex(({ role }) => role === 'user') : known
    this.#previewed ??= sent[at]
    return at === -1 ? undefined : at
  }
}
