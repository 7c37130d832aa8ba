/** Copies a model's output: the known fields, frozen, so that later changes have no effect. */
import type { Either } from 'fp-ts/lib/Either.js'
import { define, formatPath, isLeft, left, NotJson, present, right, snapshot, ownField } from '../../json/index.ts'
import type { Usage } from '../../notes/internal.ts'
import type { ModelEvent } from './model.ts'

/**
 * A frozen copy of an event, or a clause that explains why it is not one. A piece of text may end
 * within a surrogate pair, which the next piece completes.
 *
 * Cost    O(content)
 */
export const eventOf = (value: unknown): Either<string, ModelEvent> => {
  try {
    if (typeof value !== 'object' || value === null)
      return left(`it streamed ${quoteValue(value)}, which is not an event`)
    const { type } = value as { readonly type?: unknown }
    if (typeof type !== 'string')
      return left(`it streamed an event with the type ${quoteValue(type)}; expected a string`)
    const kinds = fieldsOf.get(type)
    if (kinds !== undefined) return copyFields(value as Fields, type, kinds)
    return jsonOf(value, 'an event that it streamed') as Either<string, ModelEvent> // an unknown event type
  } catch {
    return left('it streamed an event that could not be read') // a getter or Proxy trap that throws
  }
}

type Fields = { readonly [field: string]: unknown }

type Kind = 'string' | 'string?' | 'number' | 'json' | 'usage'

type Kinds = { readonly [field: string]: Kind }

const text = { index: 'number', block: 'string', text: 'string' } as const

/** The known fields of each type of event. */
const fieldsOf: ReadonlyMap<string, Kinds> = new Map<string, Kinds>([
  ['text_delta', text],
  ['reasoning_delta', text],
  ['arguments_delta', text],
  ['signature_delta', text],
  ['block_start', { index: 'number', block: 'string', callId: 'string?', name: 'string?' }],
  ['block_end', { index: 'number', block: 'string', part: 'json' }],
  ['finish', { message: 'json', reason: 'string', usage: 'usage', model: 'string?' }],
])

/** Copies the known fields of an event, reading each once. */
const copyFields = (object: Fields, type: string, kinds: Kinds): Either<string, ModelEvent> => {
  const event: { [field: string]: unknown } = { type }
  for (const [field, kind] of Object.entries(kinds)) {
    const value = ownField(object, field)
    if (kind === 'json') {
      const copy = jsonOf(value, `the ${field} of its ${type}`)
      if (isLeft(copy)) return copy
      define(event, field, copy.right)
    } else if (kind === 'usage') define(event, field, usageOf(value))
    else if (value === undefined && kind === 'string?') continue
    else if (typeof value === kind.replace('?', '')) define(event, field, value)
    else return left(`${field} of its ${type} is ${quoteValue(value)}; expected a ${kind.replace('?', '')}`)
  }
  return right(Object.freeze(event) as unknown as ModelEvent) // the loop decodes messages and parts
}

/** An answer's counts. One that is no number of tokens is unknown and counts 0: the answer itself is complete. */
const usageOf = (value: unknown): Usage => {
  const count = (field: keyof Usage): number | undefined => {
    const found: unknown = ownField(Object(value) as Usage, field)
    return Number.isSafeInteger(found) && (found as number) >= 0 ? (found as number) : undefined
  }
  const cache = present({
    cacheRead: count('cacheRead'),
    cacheWrite: count('cacheWrite'),
    cacheWriteHour: count('cacheWriteHour'),
  })
  return Object.freeze({ input: count('input') ?? 0, output: count('output') ?? 0, ...cache })
}

/** A frozen copy of plain JSON, or what is wrong with it. */
const jsonOf = (value: unknown, name: string): Either<string, unknown> => {
  try {
    return right(snapshot(value))
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    return left(`${formatPath(error.path) || name} ${error.reason}`)
  }
}

const quoteValue = (value: unknown): string =>
  typeof value === 'string'
    ? JSON.stringify(value.slice(0, 40))
    : typeof value === 'object' && value !== null
      ? 'an object'
      : String(value)
