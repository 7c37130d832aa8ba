/** An answer while it streams: what there would be of it if it were cut now. */
import { text, type Message, type Part } from '../message/index.ts'
import type { InterruptBehavior } from './event.ts'
import type { ModelEvent } from './model.ts'

/** What a marked answer ends with, for the model to read; `meta.indelible.interrupted` says it to programs. */
export const interruptedMark = '[interrupted]'

export class PartialAnswer {
  readonly #whole = new Map<number, Part>()
  readonly #texts = new Map<number, string>()

  take(event: ModelEvent): void {
    if (event.type === 'text_delta' && event.block === 'text')
      this.#texts.set(event.index, (this.#texts.get(event.index) ?? '') + event.text)
    else if (event.type === 'block_end') this.#whole.set(event.index, event.part)
  }

  get text(): string {
    const indexes = new Set([...this.#texts.keys(), ...this.#whole.keys()])
    return [...indexes]
      .toSorted((a, b) => a - b)
      .map((index) => this.#textAt(index))
      .join('')
  }

  #textAt(index: number): string {
    const whole = this.#whole.get(index)
    return whole === undefined ? (this.#texts.get(index) ?? '') : whole.type === 'text' ? whole.text : ''
  }

  /** The message to record, or none: whole blocks, and text as far as it came. A call or reasoning that is not whole is left out. */
  message(behavior: InterruptBehavior): Message | undefined {
    if (behavior === 'discard') return undefined
    const indexes = [...new Set([...this.#texts.keys(), ...this.#whole.keys()])].toSorted((a, b) => a - b)
    const parts = indexes.flatMap((index): readonly Part[] => {
      const whole = this.#whole.get(index)
      if (whole !== undefined) return [whole]
      const said = (this.#texts.get(index) ?? '').toWellFormed()
      return said === '' ? [] : [text(said)]
    })
    // Reasoning alone is no answer, and providers refuse it without what it led to.
    const content = parts.some(({ type }) => type !== 'reasoning') ? parts : []
    if (behavior === 'savePartial') return content.length === 0 ? undefined : { role: 'assistant', content }
    return { role: 'assistant', content: marked(content), meta: { indelible: { interrupted: true } } }
  }
}

/** The mark stands after the last text, so before the calls: some formats say all text before calls. */
const marked = (parts: readonly Part[]): readonly Part[] => {
  const last = parts.findLastIndex(({ type }) => type === 'text')
  const at = last === -1 ? parts.filter(({ type }) => type === 'reasoning').length : last + 1
  const before = parts[last]
  const spaced = before?.type !== 'text' || /\s$/.test(before.text)
  return [...parts.slice(0, at), text(spaced ? interruptedMark : ` ${interruptedMark}`), ...parts.slice(at)]
}
