/**
 * The law of every reader: each leaf of the input is in messages, notes, aside, losses or damage. Held by planting a
 * marked leaf at every place of a valid input, one after the other, and looking for it in what was read.
 */
import { isLeft } from 'fp-ts/lib/Either.js'
import { type Json } from 'indelible'
import { oneIn } from '../../../test/rounds.ts'
import { readTranscript, type Transcript } from '@indelible/transcripts'
import type { Path } from 'indelible/internal/json'

export const mark = 'MARKED-LEAF'

/** Field names that readers and codecs use themselves where they keep what they have no word for, and a new one. */
const names = ['planted', 'entry', 'others', 'fields', 'message', 'item', 'summary', 'payload', 'raw', '__proto__']

export interface Planted {
  readonly input: Json
  /** Where the leaf stands. */
  readonly path: Path
  /** What was done, for whoever reads a failure. */
  readonly how: string
}

/** At full size every object gets a field of each name; otherwise of one, in turn, and each 24th a deep one. */

/** The input with a marked leaf: in place of every leaf there is, and as a new field of every object. */
export function* plantings(input: Json): Generator<Planted> {
  for (const [turn, path] of places(input).entries()) {
    const value = valueAt(input, path)
    if (typeof value !== 'object' || value === null) {
      if (turn % oneIn(4) === 0) yield { input: replaced(input, path, mark), path, how: 'in place of a leaf' }
    } else if (!Array.isArray(value))
      for (const [index, name] of names.entries())
        if (!Object.hasOwn(value, name) && (index - turn) % oneIn(names.length) === 0) {
          const leaf = index % 2 === 0 ? mark : deep(3)
          yield { input: added(input, path, name, leaf), path: [...path, name], how: `in the field ${name}` }
        }
  }
}

/** The input with a leaf that is nested deeper than a record holds, in a new field of every object. */
export function* deepPlantings(input: Json): Generator<Planted> {
  const objects = places(input).filter((path) => isObject(valueAt(input, path)))
  for (const [turn, path] of objects.entries())
    if (turn % oneIn(24) === 0)
      yield { input: added(input, path, 'planted', deep(1200)), path: [...path, 'planted'], how: 'deeper than 1,000' }
}

/** The input with another kind of value at every place, one after the other. */
export function* misplacings(input: Json): Generator<Json> {
  for (const path of places(input))
    for (const value of [null, 7, [{}]] satisfies Json[]) yield replaced(input, path, value)
}

const isObject = (value: Json): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

const deep = (levels: number): Json => {
  let value: Json = mark
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { in: value }
  return value
}

/** How an input becomes a file: one value, one entry of the list a line, or one over several lines after another. */
export type Layout = 'value' | 'lines' | 'values'

export const fileOf = (input: Json, layout: Layout): string =>
  layout === 'value'
    ? JSON.stringify(input)
    : (input as readonly Json[]).map((entry) => lineFor(entry, layout)).join('')

/** The text of an entry in a file. Most entries are the same objects in many inputs, so their texts are kept. */
const lineFor = (entry: Json, layout: Layout): string => {
  const write = (): string => `${JSON.stringify(entry, undefined, layout === 'lines' ? undefined : 1)}\n`
  return typeof entry === 'object' && entry !== null ? cached(written[layout], entry, write) : write()
}
const written = { value: new WeakMap(), lines: new WeakMap<object, string>(), values: new WeakMap<object, string>() }

const cached = <Key, Value>(
  values: { get: (key: Key) => Value | undefined; set: (key: Key, value: Value) => unknown },
  key: Key,
  make: () => Value,
): Value => {
  const found = values.get(key)
  if (found !== undefined) return found
  const made = make()
  values.set(key, made)
  return made
}

/** Every conversation of a file; undefined where it is refused, which nobody can take for having been read. */
export const conversationsOf = (file: string): readonly Transcript[] | undefined => {
  const first = readTranscript(file)
  if (isLeft(first)) return undefined
  const all = [first.right]
  for (let pick = 1; pick < first.right.count; pick++) {
    const next = readTranscript(file, { pick })
    if (isLeft(next)) return undefined
    all.push(next.right)
  }
  return all
}

/** Where a planted leaf is told of: undefined if nowhere. */
export const whereabouts = (
  { input, path }: Planted,
  layout: Layout,
  read: readonly Transcript[] | undefined,
  totals: Map<string, readonly number[]>,
): string | undefined => {
  if (read === undefined) return 'refused'
  if (holds(read)) return 'read'
  const line = layout === 'value' ? 1 : lineOf(input as readonly Json[], Number(path[0]), layout)
  const inLine = layout === 'value' ? path : path.slice(1)
  if (read.some(({ damage }) => damage.some((each) => each.line === line))) return 'damage'
  if (read.some(({ losses }) => losses.some((loss) => loss.line === line && begins(inLine, loss.path)))) return 'losses'
  return isAside(input, path, layout, read, totals) ? 'aside' : undefined
}

/** The line that an entry begins in. */
const lineOf = (input: readonly Json[], index: number, layout: Layout): number =>
  fileOf(input.slice(0, index), layout).split('\n').length

/** Whether what was read has the mark in it: spelled out, or as the bytes of a text. */
export const holds = (value: unknown): boolean => {
  const text = JSON.stringify(value)
  return text.includes(mark) || text.includes(btoa(mark).slice(0, -4))
}

const begins = (path: Path, with_: Path): boolean => with_.every((step, index) => path[index] === step)

/**
 * Whether an entry that the leaf is in is counted in `aside`, in every conversation of the file: without the entry, other
 * numbers stand there.
 *
 * @param totals the numbers without each entry of the sample, which are the same whatever is planted in that entry
 */
const isAside = (
  input: Json,
  path: Path,
  layout: Layout,
  read: readonly Transcript[],
  totals: Map<string, readonly number[]>,
): boolean => {
  for (let length = 1; length <= path.length; length++) {
    if (typeof path[length - 1] !== 'number') continue
    const entry = path.slice(0, length)
    const without = cached(totals, JSON.stringify(entry), () =>
      (conversationsOf(fileOf(removed(input, entry), layout)) ?? []).map(total),
    )
    if (without.length !== read.length) continue
    if (read.every((transcript, pick) => total(transcript) !== without[pick])) return true
  }
  return false
}

const total = (transcript: Transcript | undefined): number =>
  Object.values(transcript?.origin.aside ?? {}).reduce((all, count) => all + count, 0)

const places = (value: Json, path: Path = []): readonly Path[] =>
  typeof value !== 'object' || value === null
    ? [path]
    : [path, ...Object.entries(value).flatMap(([key, inner]) => places(inner as Json, [...path, step(value, key)]))]

const step = (owner: object, key: string): string | number => (Array.isArray(owner) ? Number(key) : key)

type Owner = { [key: string | number]: Json }

const valueAt = (input: Json, path: Path): Json =>
  path.reduce<Json>((value, each) => (value as unknown as Owner)[each] as Json, input)

/** A copy with another value at a path; it shares what is beside the path. */
const replaced = (input: Json, path: Path, value: Json): Json => {
  const [step, ...rest] = path
  if (step === undefined) return value
  const copy = (Array.isArray(input) ? [...input] : { ...(input as object) }) as Json
  set(copy, step, replaced(Object.hasOwn(input as object, step) ? valueAt(input, [step]) : null, rest, value))
  return copy
}

const added = (input: Json, path: Path, name: string, value: Json): Json => replaced(input, [...path, name], value)

const set = (owner: Json, key: string | number, value: Json): void =>
  void Object.defineProperty(owner, key, { value, writable: true, enumerable: true, configurable: true })

const removed = (input: Json, path: Path): Json => {
  const owner = path.slice(0, -1)
  return replaced(input, owner, (valueAt(input, owner) as readonly Json[]).toSpliced(Number(path.at(-1)), 1))
}
