/**
 * Decodes unknown data into a `Message`, or returns a fault that names the place and what was expected there.
 *
 * The shapes are checked by hand: a schema library with the same guarantees takes twice as long on real messages and
 * adds more to a bundle (bench: decode).
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../either/index.ts'
import { describe, isArray, isObject, NotJson, ownField, ownSnapshot, type Path } from '../json/index.ts'
import { isBlockId } from '../proof/internal.ts'
import type { MessageFault } from './fault.ts'
import { isRole, roles } from './guards.ts'
import type { Message } from './message.ts'

/**
 * Decodes one message. The result is a frozen copy that shares nothing with the input. An input
 * that is already such a copy is checked and returned as is.
 *
 * Unknown fields are rejected, not dropped; put an application's own data in `meta`. Never throws.
 *
 * Cost    one copy-and-freeze and one check per field (bench: decode)
 *
 * @param input any value
 * @returns the message; or `UnexpectedShape` or `NotPlainJson` with the path
 * @example
 * decodeMessage({ role: 'user', content: [{ type: 'text' }] })
 * // Left: content[0].text should be a string, found nothing
 */
export const decodeMessage = (input: unknown): Either<MessageFault, Message> => {
  let value: unknown
  try {
    value = ownSnapshot(input)
  } catch (error) {
    if (error instanceof NotJson) return left({ _tag: 'NotPlainJson', path: error.path, reason: error.reason })
    // Only a Proxy with hostile traps gets here, and its error has no path.
    return left({ _tag: 'NotPlainJson', path: [], reason: 'could not be read' })
  }
  const problem = checkMessage(value)
  return problem === undefined ? right(value as Message) : left(problem) // the checks below are the definition of Message
}

/**
 * Checks plain JSON data that is already frozen. Copies nothing.
 *
 * @param value plain JSON data
 * @returns why the value is not a message; undefined if it is one
 */
export const checkMessage = (value: unknown): MessageFault | undefined => {
  const problem = aMessage(value)
  return problem === undefined ? undefined : { _tag: 'UnexpectedShape', ...problem }
}

interface Problem {
  readonly path: Path
  readonly expected: string
  readonly found: string
}

/** Returns the first problem of a value, if any. */
type Check = (value: unknown) => Problem | undefined

type Shape = { readonly [field: string]: Check }

const problem = (expected: string, value: unknown): Problem => ({ path: [], expected, found: describe(value) })

const atKey = (key: string | number, inner: Problem | undefined): Problem | undefined =>
  inner && { expected: inner.expected, found: inner.found, path: [key, ...inner.path] }

const aString: Check = (value) => (typeof value === 'string' ? undefined : problem('a string', value))
const aBoolean: Check = (value) => (typeof value === 'boolean' ? undefined : problem('true or false', value))
const anything: Check = (value) => (value === undefined ? problem('a value', value) : undefined)

const listOf =
  (item: Check, expected: string): Check =>
  (value) => {
    if (!isArray(value)) return problem(expected, value)
    for (let index = 0; index < value.length; index++) {
      const found = item(value[index])
      if (found !== undefined) return atKey(index, found)
    }
    return undefined
  }

/** An object with all required and no unknown fields. */
const objectOf = (expected: string, required: Shape, optional: Shape): Check => {
  const names = Object.keys(required)
  const known: Shape = Object.assign(Object.create(null), required, optional)
  const list = Object.keys(known).join(', ')
  return (value) => {
    if (!isObject(value)) return problem(expected, value)
    for (const name of names) if (!Object.hasOwn(value, name)) return atKey(name, (known[name] as Check)(undefined))
    for (const name of Object.keys(value)) {
      const check = known[name]
      if (check === undefined)
        return atKey(name, { path: [], expected: `one of the fields ${list}`, found: 'a field that is not known' })
      const wrong = check(value[name])
      if (wrong !== undefined) return atKey(name, wrong)
    }
    return undefined
  }
}

/** One of several objects, distinguished by `type`. */
const oneOf = (expected: string, kinds: { readonly [type: string]: Check }): Check => {
  const known: { readonly [type: string]: Check } = Object.assign(Object.create(null), kinds)
  const types = `one of ${Object.keys(kinds).join(', ')}`
  return (value) => {
    if (!isObject(value)) return problem(expected, value)
    const type = ownField(value, 'type')
    const check = typeof type === 'string' ? known[type] : undefined
    return check === undefined ? atKey('type', problem(types, type)) : check(value)
  }
}

const meta: Check = (value) => (isObject(value) ? undefined : problem('an object with one member per namespace', value))
const blockId: Check = (value) => (isBlockId(value) ? undefined : problem('64 lowercase hexadecimal digits', value))
const role: Check = (value) => (isRole(value) ? undefined : problem(`one of ${roles.join(', ')}`, value))

const source = oneOf('a source object', {
  url: objectOf('a source', { type: aString, url: aString }, { mediaType: aString }),
  base64: objectOf('a source', { type: aString, data: aString, mediaType: aString }, {}),
  block: objectOf('a source', { type: aString, id: blockId }, { mediaType: aString }),
})

const resultParts = {
  text: objectOf('a part', { type: aString, text: aString }, { meta }),
  image: objectOf('a part', { type: aString, source }, { meta }),
  file: objectOf('a part', { type: aString, source }, { name: aString, meta }),
  provider: objectOf('a part', { type: aString, provider: aString, raw: anything }, { meta }),
}

const resultContent = listOf(oneOf('a part object', resultParts), 'an array of parts')

const aPart = oneOf('a part object', {
  ...resultParts,
  tool_call: objectOf('a part', { type: aString, id: aString, name: aString, arguments: aString }, { meta }),
  tool_result: objectOf(
    'a part',
    { type: aString, callId: aString, content: resultContent },
    { name: aString, isError: aBoolean, meta },
  ),
  reasoning: objectOf(
    'a part',
    { type: aString, text: aString },
    { summary: listOf(aString, 'an array of strings'), signature: aString, encrypted: aString, meta },
  ),
  refusal: objectOf('a part', { type: aString, text: aString }, { meta }),
  erased: objectOf('a part', { type: aString }, { id: aString, callId: aString, meta }),
})

const aMessage = objectOf(
  'a message object',
  { role, content: listOf(aPart, 'an array of parts') },
  { id: aString, name: aString, meta },
)
