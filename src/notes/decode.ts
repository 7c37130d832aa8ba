/** Decodes unknown data into a `Note`, or returns a fault that names the place. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../either/index.ts'
import { NotJson, ownSnapshot, type Path, ownField, isCount, isObject } from '../json/index.ts'
import { isPageKind, pageKinds } from '../pages/index.ts'
import type { NoteFault } from './fault.ts'
import type { Note } from './note.ts'

/**
 * Decodes one note. The result is a frozen copy. Unknown fields are rejected, not dropped; put an
 * application's own data in an `application` note. Never throws.
 *
 * @param input any value
 * @returns the note; or `NotANote` with the path and the expected shape
 */
export const decodeNote = (input: unknown): Either<NoteFault, Note> => {
  let value: unknown
  try {
    value = ownSnapshot(input)
  } catch (error) {
    const at = error instanceof NotJson ? error : { path: [], reason: 'could not be read' }
    return left({ _tag: 'NotANote', path: at.path, expected: `plain JSON data (it ${at.reason})` })
  }
  const problem = checkNote(value)
  return problem === undefined ? right(value as Note) : left(problem) // the shapes below are the definition of Note
}

/**
 * Checks plain JSON data that is already frozen. Copies nothing.
 *
 * @param value plain JSON data
 * @returns why the value is not a note; undefined if it is one
 */
export const checkNote = (value: unknown): NoteFault | undefined => {
  const problem = aNote(value)
  return problem === undefined ? undefined : { _tag: 'NotANote', ...problem }
}

type Problem = { readonly path: Path; readonly expected: string } | undefined
type Field = readonly [expected: string, holds: (value: unknown) => boolean]
type Shape = { readonly [field: string]: Field }

const isText = (value: unknown): boolean => typeof value === 'string'

const text: Field = ['a string', isText]
const position: Field = ['a position (0, 1, 2, …)', isCount]
const count: Field = ['a whole number from 0', isCount]
const digest: Field = [
  '64 lowercase hexadecimal digits',
  (value) => isText(value) && /^[0-9a-f]{64}$/.test(value as string),
]
const optional = ([expected, holds]: Field): Field => [expected, (value) => value === undefined || holds(value)]

const usageShape: Shape = {
  input: count,
  output: count,
  cacheRead: optional(count),
  cacheWrite: optional(count),
  cacheWriteHour: optional(count),
}

const headShape: Shape = { size: count, root: digest }

const hasShape =
  (shape: Shape): Field[1] =>
  (value) =>
    isObject(value) && fieldsOf(value, shape) === undefined
const listed = (expected: string, holds: Field[1]): Field => [
  `a list of ${expected}`,
  (value) => Array.isArray(value) && value.every((item) => holds(item)),
]
const listOf = (expected: string, holds: Field[1]): Field => optional(listed(expected, holds))
const texts: Field = listOf('strings', isText)
const objects: Field = listOf('objects', isObject)
const boolean: Field = ['true or false', (value) => typeof value === 'boolean']
const object: Field = ['an object', isObject]

const blockShape: Shape = {
  index: position,
  text: optional(text),
  part: optional(object),
  after: optional(count),
}

const keptBlockShape: Shape = { id: digest, key: optional(text) }

const inputStates = ['queued', 'taken', 'waiting', 'answered', 'failed', 'cancelled'] as const

const shapes: { readonly [Type in Note['type']]: Shape } = {
  page: { position, kind: [`one of ${pageKinds.join(', ')}`, isPageKind] },
  pin: { position },
  unpin: { position },
  summary: {
    from: position,
    to: position,
    sourceDigest: digest,
    text,
    model: optional(text),
    promptDigest: optional(digest),
  },
  retraction: { from: position, to: position },
  receipt: {
    len: count,
    head: optional(['an object with size and root', hasShape(headShape)]),
    contextDigest: digest,
    instructions: optional(digest),
    model: text,
    parameters: optional(object),
    estimated: optional(count),
    usage: optional([`an object with ${Object.keys(usageShape).join(', ')}`, hasShape(usageShape)]),
    details: optional(object),
  },
  tool_started: { callId: text, name: text, arguments: optional(text) },
  journal: {
    step: text,
    lease: optional(count),
    said: listOf('objects with index, text, part, after', hasShape(blockShape)),
    answer: optional(object),
    together: optional(boolean),
    started: texts,
    results: objects,
    waiting: texts,
    external: texts,
    closed: optional(['true', (value) => value === true]),
  },
  input: {
    id: text,
    state: [`one of ${inputStates.join(', ')}`, (value) => inputStates.some((state) => state === value)],
    at: optional(position),
    message: optional(object),
    reason: optional(text),
  },
  metadata: { value: optional(object), patches: objects, before: optional(object) },
  kept_file: {
    program: text,
    file: text,
    from: count,
    to: count,
    size: count,
    digest,
    blocks: listed('objects with id and key', hasShape(keptBlockShape)),
  },
  seal: {},
  erased: { was: text },
  application: {
    namespace: ['a string that is not empty', (value) => isText(value) && value !== ''],
    content: ['a JSON value', (value) => value !== undefined],
    calls: texts,
  },
}

const aNote = (value: unknown): Problem => {
  if (!isObject(value)) return { path: [], expected: 'an object' }
  const { type } = value
  if (typeof type !== 'string' || !Object.hasOwn(shapes, type))
    return { path: ['type'], expected: `one of ${Object.keys(shapes).join(', ')}` }
  const problem = fieldsOf(value, shapes[type as Note['type']], 'type')
  if (problem !== undefined) return problem
  if ((type === 'summary' || type === 'retraction') && (value['from'] as number) >= (value['to'] as number))
    return { path: ['to'], expected: 'greater than `from`' }
  if (
    type === 'kept_file' &&
    !((value['from'] as number) <= (value['to'] as number) && (value['to'] as number) <= (value['size'] as number))
  )
    return { path: ['to'], expected: 'from `from` to `size`' }
  if (type === 'metadata' && (ownField(value, 'value') === undefined) === (ownField(value, 'patches') === undefined))
    return { path: [], expected: 'either `value` or `patches`' }
  return undefined
}

/** @param but an additional field that is allowed */
const fieldsOf = (value: { readonly [key: string]: unknown }, shape: Shape, but?: string): Problem => {
  for (const name of Object.keys(value))
    if (name !== but && !Object.hasOwn(shape, name))
      return { path: [name], expected: `one of the fields ${Object.keys(shape).join(', ')}` }
  for (const name of Object.keys(shape)) {
    const [expected, holds] = shape[name] as Field
    if (!holds(ownField(value, name))) return { path: [name], expected }
  }
  return undefined
}
