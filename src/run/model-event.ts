/** What a model gives out, as the run goes on with it: a frozen copy of its known fields, so that it stays what it was. */
import type { Either } from 'fp-ts/lib/Either.js'
import { define, formatPath, freeze, isLeft, left, NotJson, right, snapshot, ownField } from '../json/index.ts'
import type { Usage } from '../notes/kit.ts'
import type { ModelEvent } from './model.ts'

/**
 * A frozen copy of an event, or a clause that says why it is none. A piece of text may hold half a surrogate pair: the next
 * piece may have the other half.
 *
 * Cost    that of copying what it carries
 */
export const eventOf = (given: unknown): Either<string, ModelEvent> => {
  try {
    if (typeof given !== 'object' || given === null) return left(`it streamed ${quoteValue(given)}, which is no event`)
    return copyEvent(given as { readonly [field: string]: unknown })
  } catch {
    return left('it streamed an event that could not be read') // a getter, or a Proxy whose traps throw
  }
}

type Fields = { readonly [field: string]: unknown }

const copyEvent = (given: Fields): Either<string, ModelEvent> => {
  const { type } = given
  switch (type) {
    case 'text_delta':
    case 'reasoning_delta':
    case 'arguments_delta':
    case 'signature_delta':
      return of(given, { block: 'string', text: 'string' })
    case 'block_start':
      return of(given, { block: 'string', callId: 'string?', name: 'string?' })
    case 'block_end':
      return of(given, { block: 'string', part: 'json' })
    case 'finish':
      return checkFinish(of(given, { message: 'json', reason: 'string', usage: 'json', model: 'string?' }, []))
    default:
      if (typeof type !== 'string') return left(`it streamed an event whose type is ${quoteValue(type)}`)
      return jsonOf(given, 'an event that it streamed') as Either<string, ModelEvent> // one that this version does not know
  }
}

type Kind = 'string' | 'string?' | 'number' | 'json'

/** The known fields of an event, each read once. */
const of = (
  given: Fields,
  fields: { readonly [field: string]: Kind },
  common: readonly (readonly [string, Kind])[] = [['index', 'number']],
): Either<string, ModelEvent> => {
  const type = given['type'] as string
  const event: { [field: string]: unknown } = { type }
  for (const [field, kind] of [...common, ...Object.entries(fields)]) {
    const value = ownField(given, field)
    if (kind === 'json') {
      const copy = jsonOf(value, `the ${field} of its ${type}`)
      if (isLeft(copy)) return copy
      define(event, field, copy.right)
    } else if (value === undefined && kind === 'string?') continue
    else if (typeof value === kind.replace('?', '')) define(event, field, value)
    else return left(`${field} of its ${type} is ${quoteValue(value)}; expected a ${kind.replace('?', '')}`)
  }
  return right(freeze(event) as unknown as ModelEvent) // its fields were looked at above; the loop decodes messages and parts
}

/** An answer with counts that can be added up and compared with limits. */
const checkFinish = (event: Either<string, ModelEvent>): Either<string, ModelEvent> => {
  if (isLeft(event) || event.right.type !== 'finish') return event
  const usage = event.right.usage as Partial<Usage> | null
  if (typeof usage !== 'object' || usage === null) return left(`the usage of its finish is ${quoteValue(usage)}`)
  for (const field of ['input', 'output', 'cacheRead', 'cacheWrite'] as const) {
    const count: unknown = ownField(usage, field)
    if (count === undefined && (field === 'cacheRead' || field === 'cacheWrite')) continue
    if (typeof count !== 'number' || !(count >= 0))
      return left(`usage.${field} of its finish is ${quoteValue(count)}; expected a number of tokens`)
  }
  return event
}

/** A frozen copy of plain JSON data, or what is wrong with it. */
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
