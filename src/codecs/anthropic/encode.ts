/** Encodes Anthropic Messages: a turn's results come first in the next user message, its calls last in their own. */
import { ownField } from '../../json/index.ts'
import { CallIds } from '../call-ids.ts'
import type { Encode, EncodeOptions } from '../codec.ts'
import { encoderFor, type Place, type Writing } from '../encoder.ts'
import type { Message } from '../../message/index.ts'
import type { UnerasedMessage, UnerasedPart as Part } from '../../message/internal.ts'
import { residualOf, restoreResidual, type MutableObject as Block, type Kept } from '../residual.ts'
import { asContent } from '../content.ts'
import { writePart } from './blocks.ts'
import { responseMeta } from './decode.ts'
import { format, isMarked, isTurnCall, keepsMark } from './marks.ts'
import { endsInSpace, idLetters } from './rules.ts'
import type { AnthropicConversation } from './wire.ts'

/** Options for encoding for Anthropic. */
export interface AnthropicEncodeOptions extends EncodeOptions {
  /**
   * Write content in its original form even if the API rejects it: an empty text, a text after a call, an error
   * result with an image. If false, it is written in an accepted form, with a loss for each. Default: true.
   */
  readonly exact?: boolean
}

type Speaker = 'system' | 'user' | 'assistant'

interface WrittenBlock {
  readonly block: Block
  readonly part: Part
  readonly place: Place
}

/** A wire message being written. */
interface Turn {
  readonly role: Speaker
  readonly blocks: WrittenBlock[]
  readonly kept: (Kept | undefined)[]
  readonly position: number
  /** Whether it has only results so far, so that more may follow. */
  onlyResults?: boolean
}

/** Instructions waiting for their place: a system message goes after the user's. */
interface Waiting extends Turn {
  moved: boolean
}

class Request {
  readonly wire: { system?: string | Block[]; messages: Block[] } = { messages: [] }
  readonly #ids: CallIds = new CallIds(Infinity, idLetters)
  readonly #exact: boolean
  readonly #system: Turn[] = []
  readonly #turns: Turn[] = []
  #waiting: Waiting[] = []

  constructor(exact: boolean) {
    this.#exact = exact
  }

  write(message: UnerasedMessage, writing: Writing): void {
    // A response's id belongs to the API, which does not expect it back.
    if (message.id !== undefined && message.meta?.[responseMeta] === undefined)
      writing.lose(['id'], 'Anthropic messages have no id')
    if (message.name !== undefined) writing.lose(['name'], 'Anthropic messages have no name')
    if (message.role === 'developer') writing.lose(['role'], 'Anthropic has no developer role: written as system')
    const kept = this.#exact ? residualOf(format, message) : knownFields(message, writing)
    if (this.#exact && (keepsMark(kept, 'exact') || keepsMark(kept, 'message')))
      return this.#repeat(message, kept, writing)
    if (message.content.length === 0) return writing.lose(['content'], 'Anthropic does not accept empty messages')
    this.#speak(message, kept, writing)
  }

  finish(writing: Writing): void {
    this.#place(writing)
    this.#trimEnd(writing)
    const [only, ...others] = this.#system
    if (only !== undefined)
      this.wire.system =
        others.length === 0 ? contentOf(only) : this.#system.flatMap(({ blocks }) => blocks.map(({ block }) => block))
    for (const turn of this.#turns) {
      const message = { role: turn.role, content: contentOf(turn) }
      for (const kept of turn.kept) restoreResidual(message, kept)
      this.wire.messages.push(message)
    }
  }

  /** Writes a message in its original form, unchecked. */
  #repeat(message: UnerasedMessage, kept: Kept | undefined, writing: Writing): void {
    const role = speakerOf(message)
    const blocks = this.#say(message, () => role, writing)
    if (role === 'system' && !keepsMark(kept, 'message'))
      this.#system.push({ role, blocks, kept: [kept], position: writing.position })
    else if (role === 'user' && keepsMark(kept, 'joined') && this.#turns.at(-1)?.role === 'user') this.#join(blocks)
    else this.#push({ role, blocks, kept: [kept], position: writing.position }, writing, true)
  }

  /** Writes results as the user and calls as the assistant, in any message. */
  #speak(message: UnerasedMessage, kept: Kept | undefined, writing: Writing): void {
    const own = speakerOf(message)
    const blocks = this.#say(
      message,
      ({ type }) => (type === 'tool_result' ? 'user' : type === 'tool_call' ? 'assistant' : own),
      writing,
    )
    if (own !== 'assistant' && blocks.some(({ part }) => part.type === 'tool_call'))
      writing.lose(['role'], `a ${message.role} message with calls: written as assistant`)
    if (message.role === 'tool')
      for (const { part, place } of blocks)
        if (part.type !== 'tool_result' && part.type !== 'tool_call')
          place.lose("is next to results: written as the user's")
    let first = true
    for (const step of stepsOf(blocks, own))
      for (const [role, run] of inOrder(step, own)) {
        if (run.length === 0) continue
        if (role === 'user' && (first ? this.#joins(run, kept) : this.#turns.at(-1)?.role === 'user')) this.#join(run)
        else this.#push({ role, blocks: run, kept: first ? [kept] : [], position: writing.position }, writing)
        first = false
      }
  }

  /** Whether user content is appended to the previous wire message, to keep results together. */
  #joins([first]: readonly WrittenBlock[], kept: Kept | undefined): boolean {
    const last = this.#turns.at(-1)
    if (last?.role !== 'user') return false
    return (
      keepsMark(kept, 'joined') ||
      (first?.part.type === 'tool_result' && last.onlyResults === true && !(this.#exact && keepsMark(kept, 'apart')))
    )
  }

  #join(run: readonly WrittenBlock[]): void {
    const last = this.#turns.at(-1)
    if (last === undefined) return
    for (const block of run) last.blocks.push(block)
    last.onlyResults &&= run.every(isResult)
  }

  #say(message: UnerasedMessage, speaker: (part: Part) => Speaker, writing: Writing): WrittenBlock[] {
    const blocks: WrittenBlock[] = []
    for (let index = 0; index < message.content.length; index++) {
      const part = message.content[index] as Part
      const place = writing.at('content', index)
      const block = writePart(part, { role: speaker(part), exact: this.#exact, ids: this.#ids, place })
      if (block !== undefined) blocks.push({ block, part, place })
    }
    return blocks
  }

  #push(turn: Turn, writing: Writing, found = false): void {
    if (turn.role === 'system' && !found) {
      if (this.#turns.length === 0) this.#system.push(turn)
      else this.#waiting.push({ ...turn, moved: false })
      return
    }
    if (turn.role === 'user') for (const waiting of this.#waiting) waiting.moved = true
    else this.#place(writing)
    if (this.#turns.length === 0 && turn.role === 'assistant' && !found) {
      this.#turns.push({
        role: 'user',
        blocks: [
          { block: { type: 'text', text: opening }, part: { type: 'text', text: opening }, place: writing.at() },
        ],
        kept: [],
        position: turn.position,
      })
      writing.lose(
        [],
        `an Anthropic conversation must start with the user: ${JSON.stringify(opening)} is inserted before it`,
      )
    }
    turn.onlyResults = turn.blocks.length > 0 && turn.blocks.every(isResult)
    this.#turns.push(turn)
  }

  /**
   * Places instructions after the user's message and before the assistant's, in one message. After an assistant's
   * message they become the user's: before the conversation they would change the cached prefix, and leave a request
   * that ends with the assistant.
   */
  #place(writing: Writing): void {
    const [first] = this.#waiting
    if (first === undefined) return
    const before = this.#turns.at(-1)?.role
    for (const { moved, position } of this.#waiting) {
      const how =
        before === 'assistant'
          ? "after a user message: written as the user's"
          : before !== 'user'
            ? 'after a user message: moved before the conversation'
            : moved
              ? 'between user and assistant: moved after the next user message'
              : undefined
      if (how !== undefined) writing.lose([], `Anthropic accepts instructions only ${how}`, position)
    }
    if (before === 'user' || before === 'assistant')
      this.#turns.push({
        role: before === 'user' ? 'system' : 'user',
        blocks: this.#waiting.flatMap(({ blocks }) => blocks),
        kept: before === 'user' ? this.#waiting.flatMap(({ kept }) => kept) : [],
        position: first.position,
      })
    else for (const entry of this.#waiting) this.#system.push(entry)
    this.#waiting = []
  }

  #trimEnd(writing: Writing): void {
    const turn = this.#turns.at(-1)
    const last = turn?.blocks.at(-1)
    const text = last && ownField(last.block, 'text')
    if (turn?.role !== 'assistant' || last === undefined || typeof text !== 'string' || !endsInSpace(text)) return
    if (this.#exact && isMarked(last.part, 'exact')) return
    last.block['text'] = text.trimEnd()
    writing.lose(
      [...last.place.path, 'text'],
      'the last assistant text must not end in white space: trimmed',
      turn.position,
    )
  }
}

export const encode: Encode<AnthropicConversation, AnthropicEncodeOptions> = encoderFor(
  format,
  ({ exact = true }) => new Request(exact),
  { exact: true },
)

/** The kept fields that the API accepts; others are losses: "messages.0.id: Extra inputs are not permitted". */
const knownFields = (message: Message, writing: Writing): Kept | undefined => {
  const { fields, ...kept } = residualOf(format, message) ?? {}
  const known = Object.entries(fields ?? {}).filter(([field]) => {
    const isKnown = message.role === 'system' && (field === 'clear_at' || field === 'output_config')
    if (!isKnown) writing.lose([field], 'is not a field of an Anthropic message')
    return isKnown
  })
  return { ...kept, fields: Object.fromEntries(known) }
}

/** The shortest possible text. */
const opening = '(start)'

const contentOf = ({ blocks, kept: [kept] }: Turn): string | Block[] =>
  asContent(
    blocks.map(({ block }) => block),
    keepsMark(kept, 'parts') || blocks.length === 0,
  )

const speakerOf = ({ role }: Message): Speaker =>
  role === 'assistant' ? role : role === 'system' || role === 'developer' ? 'system' : 'user'

const isResult = ({ part }: WrittenBlock): boolean => part.type === 'tool_result'

/** A step of a message. It ends when its calls have results in the same message; later content goes after those. */
interface Step {
  readonly calls: WrittenBlock[]
  readonly results: WrittenBlock[]
  readonly others: WrittenBlock[]
  /** Others that were after a call, or before a result that must come first. */
  readonly misplaced: WrittenBlock[]
}

const stepsOf = (blocks: readonly WrittenBlock[], own: Speaker): readonly Step[] => {
  const steps: Step[] = []
  let step: Step | undefined
  const open = new Set<string>()
  for (const block of blocks) {
    const { part } = block
    if (
      step === undefined ||
      (part.type !== 'tool_result' &&
        step.results.length > 0 &&
        open.size === 0 &&
        (own === 'assistant' || part.type === 'tool_call'))
    ) {
      step = { calls: [], results: [], others: [], misplaced: [] }
      steps.push(step)
    }
    if (part.type === 'tool_result') {
      if (step.calls.length + step.results.length === 0) for (const other of step.others) step.misplaced.push(other)
      step.results.push(block)
      open.delete(part.callId)
    } else if (part.type === 'tool_call' && (own !== 'assistant' || isTurnCall(part))) {
      step.calls.push(block)
      open.add(part.id)
    } else {
      if (step.calls.length > 0) step.misplaced.push(block)
      step.others.push(block)
    }
  }
  return steps
}

/** A step in the order that the API requires: calls after all other assistant content, results before user content. */
const inOrder = (
  { calls, results, others, misplaced }: Step,
  own: Speaker,
): readonly (readonly [Speaker, WrittenBlock[]])[] => {
  const why =
    calls.length > 0
      ? 'comes after a call; Anthropic requires calls last'
      : 'comes before a result; Anthropic requires results first'
  for (const { place } of misplaced) place.lose(why)
  if (own !== 'assistant')
    return calls.length > 0
      ? [
          [own, others],
          ['assistant', calls],
          ['user', results],
        ]
      : own === 'user'
        ? [['user', [...results, ...others]]]
        : [
            ['user', results],
            [own, others],
          ]
  if (calls.length > 0)
    return [
      ['assistant', [...others, ...calls]],
      ['user', results],
    ]
  let end = others.length
  for (; end > 0 && others[end - 1]?.part.type === 'reasoning'; end--)
    (others[end - 1] as WrittenBlock).place.lose('Anthropic does not accept messages that end in thinking')
  return [
    ['user', results],
    ['assistant', others.slice(0, end)],
  ]
}
