/** What a request has beside the messages of its context: instructions, and texts about the call log. The record and its contexts have none of it. */
import { textTokens } from '../../context/internal.ts'
import { describe } from '../../json/index.ts'
import { system, text, textOf, type Message, type Sequence, type Settled } from '../../message/index.ts'

/** The texts that a run adds to each request. */
export interface Prompt {
  /** The text of a system message in place of the leading system messages of the context. */
  readonly instructions?: string | undefined
  /** A system message after the leading ones. */
  readonly guidance?: string | undefined
  /** A text at the end of the last user message that the run started with. */
  readonly preview?: string | undefined
}

/** The messages of a context or a request, and how many leading ones are those of the last call. */
interface PromptedMessages {
  readonly messages: Settled<Sequence<Message>>
  readonly stablePrefix: number
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
  request({ messages, stablePrefix }: PromptedMessages): PromptedMessages {
    const { instructions, guidance, preview } = this.#prompt
    if (instructions === undefined && guidance === undefined && preview === undefined) return { messages, stablePrefix }
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
    const leading = leadingSystemMessages(sent).length
    const own = [instructions ?? '', guidance ?? ''].filter((text) => text !== '').map((text) => system(text))
    const replaced = instructions === undefined ? 0 : leading
    sent.splice(leading - replaced, replaced, ...own)
    if (prefix > 0) prefix = Math.max(prefix - replaced, 0) + own.length
    return { messages: sent as readonly Message[] as Settled<readonly Message[]>, stablePrefix: prefix } // no call was added or removed
  }

  #placeOf(sent: readonly Message[]): number | undefined {
    const known = this.#previewed === undefined ? -1 : sent.lastIndexOf(this.#previewed)
    const at = known === -1 ? sent.findLastIndex(({ role }) => role === 'user') : known
    this.#previewed ??= sent[at]
    return at === -1 ? undefined : at
  }
}

/** The system messages before the first other message: those that instructions replace. */
const leadingSystemMessages = (messages: Iterable<Message>): readonly Message[] => {
  const leading: Message[] = []
  for (const message of messages) {
    if (message.role !== 'system') break
    leading.push(message)
  }
  return leading
}

/** The tokens by which the texts of a prompt make a request longer than its context. */
export const promptTokens = (
  { instructions, guidance = '', preview = '' }: Prompt,
  messages: Iterable<Message>,
): number => {
  const replaced = instructions === undefined ? [] : leadingSystemMessages(messages)
  const own = [instructions ?? '', guidance, preview].reduce((sum, text) => sum + textTokens(text), 0)
  return Math.max(0, own - replaced.reduce((sum, message) => sum + textTokens(textOf(message)), 0))
}

/** The instructions, checked: an empty text sends none, and leaves out those of the record. */
export const checkedInstructions = (value: unknown): string | undefined => {
  if (value === undefined) return undefined
  if (typeof value !== 'string')
    throw new TypeError(`run: \`instructions\` is ${describe(value)}; expected the text of the system prompt`)
  return value.toWellFormed()
}
