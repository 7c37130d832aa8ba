/**
 * Approval responses, which share tool messages with results. They are kept at the end of the assistant message that
 * asked, because every provider requires results directly after their calls. A mark records their original place.
 *
 * `after:N` is a separate tool message after N tool messages with results; a plain `after` continues it. `in:N:I` is
 * index I of tool message N with results.
 */
import type { JsonObject } from 'indelible/internal/json'
import type { Part, ProviderPart } from 'indelible/message'
import { keepResidual, residualOf, restoreResidual, mutableCopy, type MutableObject } from 'indelible/internal/codecs'
import { format } from './format.ts'

/** A tool message's parts other than results, marked. `follows`: the tool messages with results before it. */
export const setAside = (wire: JsonObject, content: readonly Part[], follows: number): readonly ProviderPart[] => {
  const alone = content.every(isProvider)
  return content.flatMap((part, index) => {
    if (!isProvider(part)) return []
    if (!alone) return [markPart(part, `in:${follows}:${index}`)]
    return [
      index > 0
        ? markPart(part, 'after')
        : freeze({ ...part, ...keepResidual(format, wire, { role: 'tool' }, `after:${follows}`, ['content']) }),
    ]
  })
}

const markPart = (part: ProviderPart, as: string): ProviderPart =>
  freeze({ ...part, meta: freeze({ [format]: freeze({ as }) }) })

export const isProvider = (part: Part): part is ProviderPart => part.type === 'provider'

/** The parts set aside with one assistant message, to be written back. */
export class Aside {
  readonly #alone = new Map<number, MutableObject[]>()
  readonly #among = new Map<number, Map<number, unknown>>()
  #open: unknown[] | undefined

  /** Takes a part if it was set aside. Returns whether it was. */
  take(part: Part): boolean {
    if (!isProvider(part) || part.provider !== format) return false
    const kept = residualOf(format, part)
    const [word, follows, index] = kept?.as?.split(':') ?? []
    const raw = mutableCopy(part.raw)
    if (word === 'in') getOrMake(this.#among, Number(follows), () => new Map<number, unknown>()).set(Number(index), raw)
    else if (word !== 'after') return false
    else if (follows === undefined && this.#open !== undefined) this.#open.push(raw)
    else {
      this.#open = [raw]
      getOrMake(this.#alone, Number(follows ?? 0), (): MutableObject[] => []).push(
        restoreResidual<MutableObject>({ role: 'tool', content: this.#open }, kept),
      )
    }
    return true
  }

  /** The separate tool messages before tool message `follows` with results. */
  before(follows: number): readonly MutableObject[] {
    const found = this.#alone.get(follows) ?? []
    this.#alone.delete(follows)
    return found
  }

  /** The content of tool message `follows`: its results with the parts among them. */
  among(follows: number, results: readonly unknown[]): unknown[] {
    const others = this.#among.get(follows)
    if (others === undefined) return [...results]
    this.#among.delete(follows)
    const content: unknown[] = []
    for (const result of results) {
      while (others.has(content.length)) content.push(others.get(content.length))
      content.push(result)
    }
    return [...content, ...[...others].flatMap(([index, raw]) => (index >= content.length ? [raw] : []))]
  }

  /** The parts left over because their tool messages no longer have results. */
  rest(): readonly MutableObject[] {
    const content = [...this.#among.values()].flatMap((others) => Array.from(others.values()))
    return [...this.#alone.values()].flat().concat(content.length > 0 ? [{ role: 'tool', content }] : [])
  }
}

const getOrMake = <T>(map: Map<number, T>, key: number, make: () => T): T => {
  const found = map.get(key) ?? make()
  map.set(key, found)
  return found
}

const { freeze } = Object
