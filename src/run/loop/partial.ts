/** Tracks a streaming answer, to know what it would contain if it were cut now. */
import type { Message, Part } from '../../message/index.ts'
import { cutAnswer } from '../../message/internal.ts'
import type { InterruptBehavior } from '../event.ts'
import type { ModelEvent } from '../model/model.ts'

export class PartialAnswer {
  readonly #whole = new Map<number, Part>()
  readonly #texts = new Map<number, string>()

  take(event: ModelEvent): void {
    if (event.type === 'text_delta' && event.block === 'text')
      this.#texts.set(event.index, (this.#texts.get(event.index) ?? '') + event.text)
    else if (event.type === 'block_end') this.#whole.set(event.index, event.part)
  }

  get #parts(): readonly (Part | string)[] {
    const indexes = new Set([...this.#texts.keys(), ...this.#whole.keys()])
    return [...indexes].toSorted((a, b) => a - b).map((index) => this.#whole.get(index) ?? this.#texts.get(index) ?? '')
  }

  get text(): string {
    return this.#parts.map((part) => (typeof part === 'string' ? part : part.type === 'text' ? part.text : '')).join('')
  }

  /** The message to record, if any: complete blocks, and text so far. An incomplete call or reasoning is dropped. */
  message(behavior: InterruptBehavior): Message | undefined {
    return behavior === 'discard' ? undefined : cutAnswer(this.#parts, behavior === 'saveMarked')
  }
}
