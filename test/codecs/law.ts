/** The law of every codec, held against samples and against random damage to them. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect } from 'vitest'
import { decodeMessage, faultMessage, type Json, type JsonObject, type Message, type Sequence } from 'indelible'
import { type Loss } from 'indelible/codecs'
import { rounds } from '../rounds.ts'
import type { Codec } from '../../src/codecs/codec.ts'

/** What the codec makes of a wire value. Fails if it can't be read. */
export const decodeOrFail = (codec: Codec<unknown>, wire: unknown): readonly Message[] => {
  const decoded = codec.decode(wire)
  if (isLeft(decoded)) throw new Error(faultMessage(decoded.left))
  for (const message of decoded.right.messages) {
    const again = decodeMessage(message)
    if (isLeft(again)) throw new Error(faultMessage(again.left))
    expectEqual(again.right, message)
  }
  expect(isEach(decoded.right.messages, Object.isFrozen)).toBe(true)
  return decoded.right.messages
}

/** What the codec makes of messages, settled or not: the law holds for both, though only settled ones become requests. */
export const write = (
  codec: Codec<unknown>,
  messages: Sequence<Message>,
): { readonly wire: unknown; readonly losses: readonly Loss[] } => {
  const encoded = codec.encode(messages, { allow: 'unsettled' })
  if (isLeft(encoded)) throw new Error(faultMessage(encoded.left))
  return encoded.right
}

/** `encode(decode(x))` is `x`, nothing is lost, and nothing is shared with the record. */
export const expectLaw = (codec: Codec<unknown>, wire: unknown): void => {
  const messages = decodeOrFail(codec, wire)
  const { wire: back, losses } = write(codec, messages)
  expectEqual(asJson(back), wire)
  expect(losses).toEqual([])
  expectFresh(back)
}

/**
 * Parts need no kept fields: without the fields that `meta` keeps, but with the names of forms, each part of `wire`
 * is written and read again equal, and nothing has to be kept. Empty texts and the borders of messages may change.
 */
export const expectLawOfParts = (codec: Codec<unknown>, wire: unknown): void => {
  const messages = without(decodeOrFail(codec, wire), ['fields', 'absent'])
  const again = decodeOrFail(codec, write(codec, messages).wire)
  expect(partsOf(again)).toEqual(partsOf(messages))
  expect(again).toEqual(without(again, ['fields', 'absent']))
}

const without = (messages: readonly Message[], fields: readonly string[]): readonly Message[] =>
  JSON.parse(JSON.stringify(messages), (key, value) => (fields.includes(key) ? undefined : value))

/** Every part, and every part of a result, alone. */
const partsOf = (messages: readonly Message[]): readonly unknown[] => {
  const parts: unknown[] = []
  const add = (part: Message['content'][number]): void => {
    if (part.type === 'tool_result') {
      parts.push({ ...part, name: undefined, content: undefined })
      for (const inner of part.content) add(inner)
    } else if (!('text' in part) || part.text !== '') parts.push(part)
  }
  for (const { content } of without(messages, ['meta'])) for (const part of content) add(part)
  return parts
}

/** Values of the same JSON text are not compared again: that would be most of what these tests do. */
const expectEqual = (actual: unknown, expected: unknown): void => {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual).toEqual(expected)
}

/** As JSON: some SDKs want objects, like a `URL`, where JSON has text. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** Nothing in it is frozen, so nothing in it is the record's. */
export const expectFresh = (value: unknown): void => {
  expect(isEach(value, (inner) => !Object.isFrozen(inner))).toBe(true)
}

/** Whether each object in a value, and the value itself, is as it should be. */
const isEach = (value: unknown, is: (object: object) => boolean): boolean =>
  typeof value !== 'object' || value === null || (is(value) && Object.values(value).every((inner) => isEach(inner, is)))

/** Random damage to samples: a value replaced, a field added or taken away, anywhere. What still decodes keeps the law. */
export const expectLawUnderDamage = (
  codec: Codec<unknown>,
  samples: readonly JsonObject[] | JsonObject,
  numRuns: number = rounds(100, 4000),
): void => {
  let stillRead = 0
  const value = fc.oneof(
    fc.constantFrom<Json>(null, '', 'x', 0, 1.5, true, [], {}, [''], { type: 'text', text: 'a' }, { '': '' }),
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
  )
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(
          fc.nat(),
          fc.constantFrom('set', 'drop', 'add'),
          fc.oneof(fc.constantFrom('type', 'content', 'name', 'id', '__proto__', 'new'), fc.string()),
          value,
        ),
        { minLength: 1, maxLength: 4 },
      ),
      (edits) => {
        const wire = JSON.parse(JSON.stringify(samples)) as Json
        for (const [at, what, key, value] of edits) damage(wire, at, what, key, structuredClone(value)) // the same value may come twice, even inside itself
        const decoded = codec.decode(wire)
        if (isLeft(decoded)) {
          expect(faultMessage(decoded.left)).not.toBe('')
          return
        }
        stillRead += 1
        const { wire: back } = write(codec, decoded.right.messages)
        expectEqual(asJson(back), asJson(wire))
      },
    ),
    { numRuns },
  )
  expect(stillRead).toBeGreaterThan(numRuns / 20)
}

type Owner = { [key: string]: Json }

const damage = (wire: Json, at: number, what: string, key: string, value: Json): void => {
  const places: [Owner, string][] = []
  const walk = (owner: Json): void => {
    if (typeof owner !== 'object' || owner === null) return
    for (const name of Object.keys(owner)) {
      places.push([owner as Owner, name])
      walk((owner as Owner)[name] as Json)
    }
  }
  walk(wire)
  if (places.length === 0) return
  const [owner, name] = places[at % places.length] as [Owner, string]
  if (what === 'drop') {
    if (Array.isArray(owner)) owner.splice(Number(name), 1)
    else delete owner[name]
  } else if (what === 'set') owner[name] = value
  else {
    const inner = owner[name]
    const target = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : owner
    if (Array.isArray(target)) target.push(value)
    else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
  }
}
