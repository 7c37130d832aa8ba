/**
 * A conversation in the form that every program accepts: user and assistant turns, each call with its result.
 *
 * The conversation is settled first. Content that no provider accepts, or that the program keeps
 * elsewhere, is left out or becomes text; each such change is a loss.
 */
import { isObject, isTooDeep, parseJson, isLeft, type Json, type JsonObject, type Path } from 'indelible/internal/json'
import type { Loss } from 'indelible/codecs'
import {
  mend,
  pairCalls,
  type Message,
  type PairedCall,
  type Part,
  type ReasoningPart,
  type Repair,
  type ResultPart,
  type Sequence,
  type Source,
  type ToolCallPart,
  type ToolResultPart,
} from 'indelible/message'
import { withErasedText } from 'indelible/internal/message'

/** Consecutive content of one side. */
export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: readonly TurnPart[]
  /** The calls at the end of an assistant turn; empty for the user. */
  readonly calls: readonly Call[]
  /** The source message; undefined for an inserted opening turn. */
  readonly message: Message | undefined
}

export type TurnPart = Text | Media | Link | ThoughtPart
export interface Text {
  readonly type: 'text'
  readonly text: string
}
/** An image, or a PDF where the program accepts them, as base64. */
export interface Media {
  readonly type: 'image' | 'file'
  readonly mediaType: string
  readonly data: string
}
/** An image by URL, where the program accepts them. */
export interface Link {
  readonly type: 'link'
  readonly url: string
}
/** The program's own reasoning, with the signature that its provider checks. */
export interface ThoughtPart {
  readonly type: 'thought'
  readonly text: string
  readonly signature?: string
  readonly encrypted?: string
}

export interface Call {
  readonly id: string
  readonly name: string
  readonly args: JsonObject
  /** The model's arguments if they are not an object. Programs that accept any text write them. */
  readonly raw?: string
  readonly result: readonly (Text | Media | Link)[]
  readonly isError: boolean
}

/** The content types that a program's files can hold. */
export interface HeldTypes {
  readonly pdfs: boolean
  readonly links: boolean
  /** Whether a call may have arguments that are not an object. */
  readonly anyArguments: boolean
  /** Whether a result can be marked as an error. */
  readonly errors: boolean
  /** Whether an error result may have images. */
  readonly imagesInErrors: boolean
  /** Whether the reasoning is the program's own, so that its files can hold it with its signature. */
  readonly isOwn: (part: ReasoningPart, message: Message) => boolean
  /** Matches texts that the program would treat as its own commands and skip when reading the file. */
  readonly command?: RegExp
}

interface Turns {
  readonly turns: readonly Turn[]
  readonly repairs: readonly Repair[]
  readonly losses: readonly Loss[]
}

/** How reasoning is written: the program's own as it is and others' as text, all of it as text, or none. */
type Reasoning = 'own' | 'text' | 'omit'

export const turnsOf = (messages: Sequence<Message>, holds: HeldTypes, reasoning: Reasoning): Turns => {
  const mended = mend(messages)
  const { losses, turns, add } = new TurnBuilder(mended.messages, holds, reasoning)
  for (let position = 0; position < mended.messages.length; position++) add(position)
  if (turns[0]?.role === 'assistant') {
    losses.push(lossAt(0, [], `begins with the assistant: a user message ${JSON.stringify(opening)} was put before it`))
    turns.unshift({ role: 'user', content: [{ type: 'text', text: opening }], calls: [], message: undefined })
  }
  return { turns, repairs: mended.repairs, losses }
}

const opening = '(start)'

const lossAt = (position: number, path: Path, reason: string): Loss => Object.freeze({ position, path, reason })

type Answer = NonNullable<PairedCall['answer']>

class TurnBuilder {
  readonly losses: Loss[] = []
  readonly turns: Turn[] = []
  readonly #messages: Sequence<Message>
  readonly #holds: HeldTypes
  readonly #reasoning: Reasoning
  readonly #answers: ReadonlyMap<string, Answer>
  readonly #ids = new Map<string, string>()
  readonly #taken = new Set<string>()

  constructor(messages: Sequence<Message>, holds: HeldTypes, reasoning: Reasoning) {
    this.#messages = messages
    this.#holds = holds
    this.#reasoning = reasoning
    const found = pairCalls(messages)
    this.#answers = new Map(found.flatMap(({ id, answer }) => (answer === undefined ? [] : [[id, answer]])))
    for (const { id } of found) if (isValidCallId(id)) this.#taken.add(id)
  }

  readonly add = (position: number): void => {
    const message = withErasedText(this.#messages.at(position) as Message)
    const { role, content } = message
    if (role === 'system' || role === 'developer')
      return this.#lose(position, [], `is a ${role} message: left out, because the program has its own instructions`)
    let text: TurnPart[] = []
    let calls: Call[] = []
    let open = false // whether a result of the calls is in a later message
    const speaker = role === 'assistant' || content.some(({ type }) => type === 'tool_call') ? 'assistant' : 'user'
    const finish = (): void => {
      if (text.length + calls.length > 0) this.turns.push({ role: speaker, content: text, calls, message })
      text = []
      calls = []
    }
    for (const [index, part] of content.entries()) {
      const path = ['content', index]
      if (part.type === 'tool_result') continue // written with its call
      if (part.type === 'tool_call') {
        open ||= this.#answers.get(part.id)?.position !== position
        calls.push(this.#call(part, position, path))
        continue
      }
      const written = this.#content(part, position, path, message, speaker)
      if (written === undefined) continue
      if (calls.length > 0) {
        if (open) this.#lose(position, path, 'follows a call: moved after its result')
        finish()
      }
      const isCommand =
        speaker === 'user' && text.length === 0 && written.type === 'text' && this.#holds.command?.test(written.text)
      if (isCommand === true) {
        this.#lose(position, path, 'would be read as a command by the program: a zero-width space was put before it')
        text.push({ type: 'text', text: `\u200b${written.text}` })
      } else text.push(written)
    }
    if (content.length === 0) this.#lose(position, ['content'], 'is empty: left out')
    finish()
  }

  #lose(position: number, path: Path, reason: string): void {
    this.losses.push(lossAt(position, path, reason))
  }

  #call(part: ToolCallPart, position: number, path: Path): Call {
    const answer = this.#answers.get(part.id) as Answer // exists: the conversation is settled
    const { position: at, result } = answer
    const inAnswer = ['content', answer.part]
    const id = this.#idOf(part.id, position, path)
    const name = nameOf(part.name)
    if (name !== part.name)
      this.#lose(position, [...path, 'name'], `is not a name that providers accept: written as ${name}`)
    const args = isObject(valueOf(part.arguments)) ? (valueOf(part.arguments) as JsonObject) : undefined
    if (args === undefined && !this.#holds.anyArguments)
      this.#lose(position, [...path, 'arguments'], 'are not a JSON object: written as { "input": … }')
    if (subAgents.has(part.name))
      this.#lose(position, path, 'calls a sub-agent: its result is written, but not its own conversation')
    const isError = result.isError === true
    const holds = isError && !this.#holds.imagesInErrors ? onlyText : this.#holds
    const content = result.content.flatMap(
      (item, index) => this.#held(item, at, [...inAnswer, 'content', index], holds) ?? [],
    )
    if (isError && !this.#holds.errors)
      this.#lose(at, [...inAnswer, 'isError'], 'the program does not mark failed calls')
    return {
      id,
      name,
      args: args ?? { input: part.arguments.toWellFormed() },
      ...(args === undefined && { raw: part.arguments.toWellFormed() }),
      result: content,
      isError,
    }
  }

  #idOf(id: string, position: number, path: Path): string {
    const known = this.#ids.get(id)
    if (known !== undefined) return known
    // Claude Code 2.1.330 mistakes the id `X_1` for that of call X, and drops the result.
    const isOfOther = this.#taken.has(/^(.*)_\d+$/.exec(id)?.[1] ?? '')
    let written = id
    for (
      let number = this.#ids.size;
      !isValidCallId(written) || (written === id ? isOfOther : this.#taken.has(written));
      number++
    )
      written = `call-${number}`
    if (written !== id)
      this.#lose(
        position,
        [...path, 'id'],
        `is ${isOfOther ? "another call's id with a number" : 'not an id that providers accept'}: written as ${written}`,
      )
    this.#ids.set(id, written)
    this.#taken.add(written)
    return written
  }

  #content(
    part: Exclude<Part, ToolCallPart | ToolResultPart>,
    position: number,
    path: Path,
    message: Message,
    speaker: Turn['role'],
  ): TurnPart | undefined {
    if (part.type === 'reasoning') return this.#thought(part, position, path, message)
    if (part.type === 'refusal' || part.type === 'erased')
      return this.#text(part.type === 'refusal' ? part.text : '[erased]', position, path)
    if (part.type === 'text' && isSurroundings(part.text)) {
      this.#lose(position, path, "is a program's own addition, such as a reminder: left out")
      return undefined
    }
    // No provider accepts images from the assistant.
    return this.#held(part, position, path, speaker === 'assistant' ? onlyText : this.#holds)
  }

  #thought(part: ReasoningPart, position: number, path: Path, message: Message): TurnPart | undefined {
    const { signature, encrypted } = part
    const text = part.text || (part.summary ?? []).join('\n\n')
    if (this.#reasoning === 'own' && this.#holds.isOwn(part, message))
      return { type: 'thought', text, ...(signature && { signature }), ...(encrypted && { encrypted }) }
    if (this.#reasoning === 'omit' || text.trim() === '') {
      this.#lose(position, path, 'is reasoning: left out')
      return undefined
    }
    this.#lose(position, path, 'is reasoning: written as text, without its signature')
    return this.#text(text, position, path)
  }

  #text(text: string, position: number, path: Path): Text | undefined {
    const written = text.toWellFormed()
    if (written !== text)
      this.#lose(position, path, 'has half a surrogate pair, which is no character: written as U+FFFD')
    if (written.trim() !== '') return { type: 'text', text: written }
    if (text !== '') this.#lose(position, path, 'is blank: left out')
    return undefined
  }

  /** A part in the program's form. A part that it can't hold becomes a text that names it. */
  #held(
    part: ResultPart,
    position: number,
    path: Path,
    holds: HeldMedia = this.#holds,
  ): Text | Media | Link | undefined {
    if (part.type === 'text') return this.#text(part.text, position, path)
    if (part.type === 'provider') {
      const words = wordsOfAgent(part.raw)
      if (words !== '') {
        this.#lose(position, path, 'is from another agent of the program: written as text')
        return this.#text(words, position, path)
      }
      this.#lose(position, path, `is known only to ${part.provider}: left out`)
      return undefined
    }
    const { source } = part
    if (source.type === 'base64' && isBase64(source.data)) {
      const { mediaType, data } = source
      if (part.type === 'image' && holds.images !== false && images.has(mediaType))
        return { type: 'image', mediaType, data }
      if (holds.pdfs && mediaType === 'application/pdf') return { type: 'file', mediaType, data }
    }
    if (holds.links && part.type === 'image' && source.type === 'url' && /^https?:\/\//.test(source.url))
      return { type: 'link', url: source.url }
    const what = part.type === 'file' && part.name !== undefined ? `file ${part.name}` : part.type
    this.#lose(
      position,
      path,
      `is ${part.type === 'image' ? 'an image' : 'a file'} that the program can't hold: replaced by a text that names it`,
    )
    return this.#text(`[${what}: ${placeOf(source)}]`, position, path)
  }
}

/** The tools that call sub-agents. Source: Claude Code, Codex, Gemini CLI and opencode, their tool lists (2026-11) */
const subAgents: ReadonlySet<string> = new Set(['Agent', 'Task', 'task', 'spawn_agent', 'invoke_agent'])

/** The text of a message between Codex agents; empty for anything else. */
const wordsOfAgent = (raw: Json): string => {
  if (!isObject(raw) || raw['type'] !== 'agent_message' || !Array.isArray(raw['content'])) return ''
  return raw['content']
    .flatMap((block) => (isObject(block) && typeof block['text'] === 'string' ? [block['text']] : []))
    .join('\n')
}

type HeldMedia = Pick<HeldTypes, 'pdfs' | 'links'> & { readonly images?: false }
const onlyText: HeldMedia = { images: false, pdfs: false, links: false }

/** Image types that all providers accept. Source: their API references (2026-11) */
const images: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

const isBase64 = (data: string): boolean => data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)

const placeOf = (source: Source): string =>
  source.type === 'url' ? source.url.slice(0, 200) : source.type === 'block' ? source.id : source.mediaType

/** Whether every provider accepts the call id. */
const isValidCallId = (id: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(id)

const nameOf = (name: string): string => {
  const written = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
  return /^[a-zA-Z_]/.test(written) ? written : `_${written}`.slice(0, 64)
}

const valueOf = (text: string): Json | undefined => {
  const parsed = parseJson(text === '' ? '{}' : text.toWellFormed())
  return isLeft(parsed) || isTooDeep(parsed.right) ? undefined : (parsed.right as Json)
}

/**
 * Whether a program added this text to the user's message. The program that continues adds its own.
 *
 * Source  Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0 on loopback (2026-11)
 */
const isSurroundings = (text: string): boolean =>
  /^\s*(?:<(system-reminder|environment_context|user_instructions|permissions instructions|session_context)>[\s\S]*<\/\1>|# AGENTS\.md instructions[\s\S]*<\/INSTRUCTIONS>)\s*$/.test(
    text,
  )
