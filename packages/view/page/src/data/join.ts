/** Calls and their results: a result is shown with its call. */
import type { ToolCallPart, ToolResultPart } from 'indelible/message'
import type { Entry } from './entry.ts'

/** A result, and where it stands. */
export interface PlacedResult {
  readonly entry: Entry
  readonly part: ToolResultPart
}

export class Join {
  readonly #open = new Map<string, ToolCallPart>()
  readonly #results = new Map<ToolCallPart, PlacedResult>()
  /** The calls whose result can't be shown, and why. */
  readonly #lost = new Map<ToolCallPart, 'erased' | 'damaged'>()
  readonly #joined = new Set<ToolResultPart>()
  /** The messages that show nothing of their own, with the message that shows them. */
  readonly #shownIn = new Map<number, number>()
  readonly #callers = new Map<ToolCallPart, number>()

  add(entry: Entry): void {
    let all = entry.message.content.length > 0
    let shownIn: number | undefined
    for (const part of entry.message.content) {
      if (part.type === 'tool_call') {
        this.#open.set(part.id, part)
        this.#callers.set(part, entry.position)
      }
      const answered = part.type === 'tool_result' || part.type === 'erased' ? part.callId : undefined
      const call = answered === undefined ? undefined : this.#open.get(answered)
      const lost = part.type === 'erased' ? 'erased' : entry.state === 'damaged' ? 'damaged' : undefined
      if (lost !== undefined && call !== undefined) this.#lost.set(call, lost)
      if (part.type !== 'tool_result' || call === undefined || lost !== undefined) {
        all = false
        continue
      }
      this.#open.delete(part.callId)
      this.#results.set(call, { entry, part })
      this.#joined.add(part)
      shownIn ??= this.#callers.get(call)
    }
    if (all && shownIn !== undefined) this.#shownIn.set(entry.position, shownIn)
  }

  /** The result of a call. */
  resultOf(call: ToolCallPart): PlacedResult | undefined {
    return this.#results.get(call)
  }

  /** The result of a call, or why it can't be shown. */
  answerTo(call: ToolCallPart): PlacedResult | 'erased' | 'damaged' | undefined {
    return this.#lost.get(call) ?? this.#results.get(call)
  }

  /** The position of the message with a call. */
  callerOf(call: ToolCallPart): number | undefined {
    return this.#callers.get(call)
  }

  /** Whether a result is shown with its call. */
  isJoined(part: ToolResultPart): boolean {
    return this.#joined.has(part)
  }

  /** The message that shows another one whole: of a message of joined results, that of the first call. */
  shownIn(position: number): number {
    return this.#shownIn.get(position) ?? position
  }
}
