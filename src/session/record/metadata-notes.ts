/** Metadata as a fold of notes: the first and every 32nd have the whole value, the others Immer's patches. */
import { enablePatches, Immer, type Patch } from 'immer'
import type { Either } from 'fp-ts/lib/Either.js'
import {
  isArray,
  jsonEqual,
  left,
  ownFields,
  ownSnapshot,
  right,
  type JsonObject,
  type MutableJson,
} from '../../json/index.ts'
import type { MetadataNote, Note } from '../../notes/internal.ts'

enablePatches()

const immer = new Immer({ autoFreeze: false }) // the caller's inserted objects are copied later, so they must not be frozen

/** The metadata inside a recipe, which may change it. */
export type MetadataDraft = { [key: string]: MutableJson }

/** The metadata after a note. */
export interface MetadataEntry {
  /** The row of the note. */
  readonly row: number
  /** The metadata after it; undefined if it was erased, or has patches of an erased one. */
  readonly value: JsonObject | undefined
  /** The metadata before the first note. */
  readonly before: JsonObject | undefined
}

/** Every how many notes one has the whole value. */
const wholeEvery = 32

/**
 * Adds a note to the fold.
 *
 * @param entries the fold so far. Changed in place, if the note is about metadata
 * @param row the row of the note
 * @returns why its patches do not fit, as those of another program may not; undefined otherwise
 */
export const foldMetadata = (entries: MetadataEntry[], row: number, note: Note): string | undefined => {
  if (note.type === 'erased' && note.was === 'metadata') entries.push({ row, value: undefined, before: undefined })
  if (note.type !== 'metadata') return undefined
  const value = valueAfter(entries.at(-1), note)
  if (value._tag === 'Left') return value.left
  entries.push({ row, value: value.right, before: note.before })
  return undefined
}

const valueAfter = (
  last: MetadataEntry | undefined,
  { value, patches = [], before = {} }: MetadataNote,
): Either<string, JsonObject | undefined> => {
  if (value !== undefined) return right(value)
  if (last !== undefined && last.value === undefined) return right(undefined)
  if (!patches.every(isPatch)) return left('one of its patches is none')
  try {
    return right(
      ownSnapshot(immer.applyPatches(last?.value ?? before, patches as unknown as readonly Patch[])) as JsonObject,
    )
  } catch {
    return left('its patches do not fit the metadata')
  }
}

const isPatch = (patch: JsonObject): boolean => {
  const { op, path } = ownFields(patch)
  return (
    (op === 'add' || op === 'replace' || op === 'remove') &&
    isArray(path) &&
    path.every((key) => typeof key === 'string' || typeof key === 'number')
  )
}

/** The metadata after the latest note of the session itself; undefined if it has none, or an erasure took it. */
export const latestMetadata = (entries: readonly MetadataEntry[], inherited: number): JsonObject | undefined => {
  const last = entries.at(-1)
  return last !== undefined && last.row >= inherited ? last.value : undefined
}

/**
 * The metadata at an earlier head.
 *
 * @param current the metadata now, which is also that before the first note if no note has another
 */
export const metadataAtRow = (
  entries: readonly MetadataEntry[],
  size: number,
  inherited: number,
  current: JsonObject,
): JsonObject => {
  const before = entries.findLast(({ row }) => row < size && (row >= inherited || size <= inherited))
  if (before !== undefined) return before.value ?? none
  const next = entries.find(({ row }) => row >= Math.max(size, size > inherited ? inherited : 0))
  return next === undefined ? current : (next.before ?? none)
}

const none: JsonObject = Object.freeze({})

/** Applies a recipe. Throws what the recipe throws. */
export const applyRecipe = (
  metadata: JsonObject,
  recipe: (metadata: MetadataDraft) => JsonObject | void,
): { readonly value: unknown; readonly patches: readonly Patch[] | undefined } => {
  const [value, patches] = immer.produceWithPatches(metadata, recipe as (draft: object) => void) // JSON, made writable by Immer
  return { value, patches }
}

/**
 * The note of a change.
 *
 * @param entries the fold so far
 * @param inherited the rows before this one are those of another session
 * @param before the metadata before the change
 * @param value the metadata after it
 * @param patches the patches that Immer made, if they make that value
 */
export const metadataNote = (
  entries: readonly MetadataEntry[],
  inherited: number,
  before: JsonObject,
  value: JsonObject,
  patches: readonly Patch[] | undefined,
): MetadataNote => {
  const own = entries.filter(({ row }) => row >= inherited)
  const last = own.at(-1)
  const whole: MetadataNote = {
    type: 'metadata',
    value,
    ...(last === undefined && Object.keys(before).length > 0 && { before }),
  }
  if (last?.value === undefined || own.length % wholeEvery === 0 || patches === undefined) return whole
  const change = { type: 'metadata', patches: patches as unknown as readonly JsonObject[] } as const
  const made = valueAfter(last, change) // Immer refuses patches of fields such as `constructor`
  const isShorter = JSON.stringify(patches).length < JSON.stringify(value).length
  return isShorter && made._tag === 'Right' && jsonEqual(made.right, value) ? change : whole
}
