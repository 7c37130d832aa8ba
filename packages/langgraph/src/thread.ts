/** Reads the notes of a thread's record: its checkpoints and their writes. */
import { hasField, isObject, ownField, type Json, type JsonObject } from 'indelible/internal/json'
import type { ApplicationNote, Note } from 'indelible/internal/notes'
import type { Session, SessionReader } from 'indelible/session'
import { countWhile, RecentMap } from 'indelible/internal/sequence'
import { textOf, type Item, type ItemRef } from './items.ts'
import { mapChanges, withChanges, type MapChange } from './maps.ts'

export const namespace = 'langgraph'

/** A value serialized by the serializer. */
export type DumpedValue = readonly [type: string, text: string]

/** The value of a channel: whole, a list that shares its beginning with an earlier one, or a map as changes to one. */
export type Value =
  | { readonly kind: 'whole'; readonly dumped: DumpedValue }
  | {
      readonly kind: 'map'
      readonly base: Extract<Value, { kind: 'map' }> | undefined
      readonly changes: readonly MapChange[]
      /** The maps that were read last. */
      readonly cached: MapCache
    }
  | {
      readonly kind: 'list'
      readonly base: Extract<Value, { kind: 'list' }> | undefined
      readonly keep: number
      readonly add: readonly Item[]
      /** Whether it is a snapshot of a delta channel. */
      readonly isSnapshot: boolean
      /** The items of lists that were read last. */
      readonly cached: ListCache
    }

/** Bounded, because each list has all items of the lists before it. */
type ListCache = RecentMap<object, readonly Item[]>
type MapCache = RecentMap<object, JsonObject>

export interface StoredCheckpoint {
  readonly ns: string
  readonly id: string
  readonly parent: string | undefined
  /** The checkpoint without its channel values. */
  readonly rest: DumpedValue
  readonly metadata: DumpedValue
  readonly values: ReadonlyMap<string, Value>
  readonly versions: { readonly [channel: string]: string | number }
}

/** A write of a task for a checkpoint. */
export interface Write {
  readonly task: string
  readonly idx: number
  readonly path: string
  readonly channel: string
  readonly value: Value
}

/** The value of a channel as noted. */
type NotedValue =
  /** The same value as in the checkpoint `base`. */
  | { readonly same: true }
  /** The value that the channel had at an earlier version. */
  | { readonly at: string | number }
  | { readonly whole: DumpedValue }
  /** A map: the changes to that of `base`; to an empty one, if that has none or `fromEmpty`. */
  | { readonly map: readonly MapChange[]; readonly fromEmpty?: true }
  | { readonly keep: number; readonly add: readonly ItemRef[]; readonly snapshot?: true }

/** The content of this package's notes. */
type ThreadNote =
  | {
      readonly type: 'checkpoint'
      readonly ns: string
      readonly id: string
      readonly parent: string | null
      /** The checkpoint that it shares values with. */
      readonly base: string | null
      readonly rest: DumpedValue
      readonly metadata: DumpedValue
      readonly values: { readonly [channel: string]: NotedValue }
      /** The versions of these values. */
      readonly versions: { readonly [channel: string]: string | number }
    }
  /** The values of a checkpoint that have texts, apart: an erasure of such a text leaves the checkpoint and its messages. */
  | {
      readonly type: 'texts'
      readonly ns: string
      readonly id: string
      readonly base: string | null
      readonly values: { readonly [channel: string]: NotedValue }
      readonly versions: { readonly [channel: string]: string | number }
    }
  | {
      readonly type: 'writes'
      readonly ns: string
      readonly id: string
      readonly task: string
      readonly path: string
      readonly writes: readonly (readonly [idx: number, channel: string, value: NotedValue])[]
    }
  /** `again`: the remaining checkpoints of the namespace follow, none of which needs an earlier note. */
  | { readonly type: 'prune'; readonly ns: string; readonly ids: readonly string[]; readonly again?: true }

type NotedValues = Extract<ThreadNote, { readonly type: 'checkpoint' | 'texts' }>

/** The notes of a checkpoint: one of it, and one of those of its values that have texts. */
export const checkpointNotes = (
  content: Extract<ThreadNote, { type: 'checkpoint' }>,
): readonly [ApplicationNote, ...ApplicationNote[]] => {
  const { ns, id, base } = content
  const [values, texts] = [{ ...content.values }, { ...content.values }]
  for (const [channel, value] of Object.entries(content.values)) {
    if (hasText(value)) delete values[channel]
    else delete texts[channel]
  }
  const versionsOf = (noted: object): { readonly [channel: string]: string | number } =>
    Object.fromEntries(Object.entries(content.versions).filter(([channel]) => Object.hasOwn(noted, channel)))
  const checkpoint = noteOf({ ...content, values, versions: versionsOf(values) })
  if (Object.keys(texts).length === 0) return [checkpoint]
  return [checkpoint, noteOf({ type: 'texts', ns, id, base, values: texts, versions: versionsOf(texts) })]
}

/** Whether an erasure can find a text in a value. `null`, a boolean and a small number are none. */
const hasText = (value: NotedValue): boolean => {
  if (hasField(value, 'whole')) return !/^(?:null|true|false|\d{1,3})$/.test(value.whole[1])
  return hasField(value, 'map') || (hasField(value, 'add') && value.add.some((ref) => typeof ref === 'string'))
}

export const noteOf = (content: ThreadNote): ApplicationNote => ({
  type: 'application',
  namespace,
  content: content as unknown as Json,
})

/** The checkpoints and writes of a thread, up to the notes that were read. */
export class Thread {
  readonly session: Session
  readonly checkpoints: Map<string, Map<string, StoredCheckpoint>> = new Map()
  /** By namespace and checkpoint. */
  readonly #writes = new Map<string, Map<string, Map<string, Write>>>()
  /** By namespace, channel and version. */
  readonly #versions = new Map<string, Map<string, Map<string | number, Value>>>()
  readonly #lists: ListCache = new RecentMap(8)
  readonly #maps: MapCache = new RecentMap(8)
  /** The channel of the conversation. */
  readonly #channel: string
  #notes = 0

  constructor(session: Session, channel = 'messages') {
    this.session = session
    this.#channel = channel
  }

  /** Read the notes added since the last call. */
  update(): this {
    const notes = this.session.notes()
    for (const note of notes.slice(this.#notes)) {
      this.#notes += 1
      const noted = threadNoteIn(note)
      if (noted !== undefined) this.#read(noted)
    }
    return this
  }

  /** The indexes of the session's notes without which the thread is the same: those of pruned checkpoints. */
  deadNotes(): readonly number[] {
    const dead = new Set<number>()
    /** By namespace and id: the notes of a checkpoint and its writes. */
    const live = new Map<string, Map<string, number[]>>()
    for (const [index, note] of [...this.session.notes()].entries()) {
      const noted = threadNoteIn(note)
      if (noted === undefined) continue
      dead.add(index)
      const there = mapIn(live, noted.ns)
      if (noted.type !== 'prune') there.set(noted.id, [...(there.get(noted.id) ?? []), index])
      else if (noted.again === true) there.clear()
      else for (const id of noted.ids) there.delete(id)
    }
    for (const there of live.values()) for (const index of [...there.values()].flat()) dead.delete(index)
    return [...dead]
  }

  /** The checkpoint with an id; without an id, the last one of the namespace. */
  checkpoint(ns: string, id: string | undefined): StoredCheckpoint | undefined {
    const there = this.checkpoints.get(ns)
    if (id !== undefined) return there?.get(id)
    let last: StoredCheckpoint | undefined
    for (const stored of there?.values() ?? []) if (last === undefined || stored.id > last.id) last = stored
    return last
  }

  writesOf(ns: string, id: string): ReadonlyMap<string, Write> {
    return this.#writes.get(ns)?.get(id) ?? none
  }

  /** The writes of a namespace, by checkpoint. */
  writesIn(ns: string): ReadonlyMap<string, ReadonlyMap<string, Write>> {
    return this.#writes.get(ns) ?? new Map<string, ReadonlyMap<string, Write>>()
  }

  /** The value that a channel had at a version; undefined if it was never stored. */
  valueAt(ns: string, channel: string, version: string | number | undefined): Value | undefined {
    return version === undefined ? undefined : this.#versions.get(ns)?.get(channel)?.get(version)
  }

  /**
   * The value that a channel had before, where its note was erased: that of its version, if another note has it; the
   * conversation also from the record, which has it after each append. Undefined if it cannot be known.
   */
  #lost({ ns, base, versions }: NotedValues, channel: string, value: NotedValue): Value | undefined {
    const isSame = hasField(value, 'same')
    if (base === null || !(isSame || (hasField(value, 'keep') && value.keep > 0))) return undefined
    const known = isSame ? this.valueAt(ns, channel, ownField(versions, channel)) : undefined
    if (known !== undefined || ns !== '' || channel !== this.#channel) return known
    // Those of later lists: that of this note, or of the writes for the checkpoint that it continues.
    const lists = isSame
      ? [...this.writesOf(ns, base).values()].map(({ value: written }) =>
          written.kind === 'list' ? written.add.map(({ ref }) => ref) : [],
        )
      : [value.add]
    const later = new Set(lists.flat().map((ref) => (typeof ref === 'string' ? undefined : ref.m)))
    const add = this.#conversationAfter(this.#notes).flatMap((m) => (later.has(m) ? [] : [{ ref: { m }, text: undefined }])) // oxfmt-ignore
    if (add.length === 0) return undefined
    return { kind: 'list', base: undefined, keep: 0, add, isSnapshot: false, cached: this.#lists }
  }

  /** The positions of the conversation as it was after a number of notes. */
  #conversationAfter(notes: number): readonly number[] {
    const size = this.session.len + this.session.notes().length
    const before = countWhile(size, (at) => (this.session.at({ size: at })?.notes.length ?? 0) < notes)
    const conversation = this.session.at({ size: before })?.conversation
    return Array.from({ length: conversation?.length ?? 0 }, (_, at) => conversation?.positionAt(at) as number)
  }

  #valuesIn(noted: NotedValues): Map<string, Value> {
    const { ns } = noted
    const base = noted.base === null ? undefined : this.checkpoints.get(ns)?.get(noted.base)
    const values = new Map<string, Value>()
    const versions = mapIn(this.#versions, ns)
    for (const [channel, value] of Object.entries(noted.values)) {
      const read = hasField(value, 'at')
        ? this.valueAt(ns, channel, value.at)
        : valueIn(value, base?.values.get(channel) ?? this.#lost(noted, channel, value), this.#lists, this.#maps)
      if (read === undefined) continue
      values.set(channel, read)
      const version = ownField(noted.versions, channel)
      if (version !== undefined) mapIn(versions, channel).set(version, read)
    }
    return values
  }

  #read(noted: ThreadNote): void {
    if (noted.type === 'checkpoint') {
      const { ns, id, rest, metadata } = noted
      const values = this.#valuesIn(noted)
      const parent = noted.parent ?? undefined
      mapIn(this.checkpoints, ns).set(id, { ns, id, parent, rest, metadata, values, versions: noted.versions })
    } else if (noted.type === 'texts') {
      const there = mapIn(this.checkpoints, noted.ns)
      const stored = there.get(noted.id)
      if (stored === undefined) return
      const values = new Map([...stored.values, ...this.#valuesIn(noted)])
      there.set(noted.id, { ...stored, values, versions: { ...stored.versions, ...noted.versions } })
    } else if (noted.type === 'writes') {
      const there = mapIn(mapIn(this.#writes, noted.ns), noted.id)
      const base = this.checkpoint(noted.ns, noted.id)
      for (const [idx, channel, value] of noted.writes) {
        const read = hasField(value, 'at')
          ? undefined
          : valueIn(value, base?.values.get(channel), this.#lists, this.#maps)
        if (read !== undefined)
          there.set(writeKey(noted.task, idx), { task: noted.task, idx, path: noted.path, channel, value: read })
      }
    } else {
      for (const id of noted.ids) {
        this.checkpoints.get(noted.ns)?.delete(id)
        this.#writes.get(noted.ns)?.delete(id)
      }
      if (noted.again === true) this.#versions.get(noted.ns)?.clear() // those of the remaining checkpoints follow
    }
  }
}

/** The content of a note of this package; undefined for another note. */
const threadNoteIn = (note: Note): ThreadNote | undefined =>
  note.type === 'application' && note.namespace === namespace && isObject(note.content)
    ? (note.content as unknown as ThreadNote) // only `noteOf` writes notes of this namespace
    : undefined

const none: ReadonlyMap<string, Write> = new Map()

/** The map of a key; a new one if there is none. */
const mapIn = <K, L, V>(maps: Map<K, Map<L, V>>, key: K): Map<L, V> => {
  const there = maps.get(key) ?? new Map<L, V>()
  if (there.size === 0) maps.set(key, there)
  return there
}

export const writeKey = (task: string, idx: number): string => `${idx}\n${task}`

const valueIn = (
  noted: Exclude<NotedValue, { readonly at: unknown }>,
  base: Value | undefined,
  cached: ListCache,
  maps: MapCache,
): Value | undefined => {
  if (hasField(noted, 'same')) return base
  if (hasField(noted, 'whole')) return { kind: 'whole', dumped: noted.whole }
  if (hasField(noted, 'map')) {
    const continued = base?.kind === 'map' && ownField(noted, 'fromEmpty') !== true ? base : undefined
    return { kind: 'map', base: continued, changes: noted.map, cached: maps }
  }
  if (noted.keep > 0 && base?.kind !== 'list') return undefined // the note with its beginning was erased
  return {
    kind: 'list',
    base: base?.kind === 'list' ? base : undefined,
    keep: noted.keep,
    add: noted.add.map((ref) => ({ ref, text: undefined })),
    isSnapshot: ownField(noted, 'snapshot') === true,
    cached,
  }
}

/** All items of a list. Cost: O(items), and O(lists it shares items with) unless one of them was read lately. */
export const itemsOf = (value: Extract<Value, { kind: 'list' }>): readonly Item[] => {
  const { cached } = value
  const known = cached.get(value)
  if (known !== undefined) return known
  // Collected from the end: of each base only the items that later lists kept.
  const pieces: (readonly Item[])[] = []
  let most = Number.POSITIVE_INFINITY
  for (let at: typeof value | undefined = value; at !== undefined && most > 0; at = at.base) {
    const before = cached.get(at)
    if (before !== undefined) {
      pieces.push(before.slice(0, most))
      break
    }
    if (most > at.keep) pieces.push(at.add.slice(0, most - at.keep))
    most = Math.min(most, at.keep)
  }
  const items = pieces.toReversed().flat()
  cached.set(value, items)
  return items
}

/** A whole map. Cost: O(map), and O(maps it is made of) unless one of them was read lately. */
const mapOf = (value: Extract<Value, { kind: 'map' }>): JsonObject => {
  const { cached } = value
  const later: (readonly MapChange[])[] = []
  let map: JsonObject = {}
  for (let at: typeof value | undefined = value; at !== undefined; at = at.base) {
    const known = cached.get(at)
    if (known !== undefined) {
      map = known
      break
    }
    later.push(at.changes)
  }
  for (const changes of later.toReversed()) map = withChanges(map, changes)
  cached.set(value, map)
  return map
}

/** Serializes the value of a channel. */
export const dumpedOf = (value: Value, session: SessionReader): DumpedValue => {
  if (value.kind === 'whole') return value.dumped
  if (value.kind === 'map') return ['json', JSON.stringify(mapOf(value))]
  const list = `[${itemsOf(value)
    .map((item) => textOf(item, session))
    .join(',')}]`
  return ['json', value.isSnapshot ? `{"lc":2,"type":"delta_snapshot","value":${list}}` : list]
}

/**
 * A map as noted after the value that the channel has in its base, in the shorter way. A node that writes one file
 * while the state has hundreds would otherwise note the removal of all others.
 */
export const notedMap = (map: JsonObject, base: Value | undefined): NotedValue => {
  const changes = base?.kind === 'map' ? mapChanges(mapOf(base), map) : undefined
  if (changes?.length === 0) return { same: true }
  if (changes?.every(([, value]) => value !== undefined) === true) return { map: changes }
  const all = mapChanges({}, map)
  if (all !== undefined && base?.kind !== 'map') return { map: all }
  if (all !== undefined && (changes === undefined || JSON.stringify(all).length < JSON.stringify(changes).length))
    return { map: all, fromEmpty: true }
  return changes === undefined ? { whole: ['json', JSON.stringify(map)] } : { map: changes }
}

/** A value as noted again, after the value that the channel has in the note that becomes its base. */
export const noteAgain = (value: Value, base: Value | undefined): NotedValue => {
  if (value === base) return { same: true }
  if (value.kind === 'whole') return { whole: value.dumped }
  if (value.kind === 'map') return notedMap(mapOf(value), base)
  return notedList(itemsOf(value), base, value.isSnapshot, isSameRef)
}

const isSameRef = ({ ref: a }: Item, { ref: b }: Item): boolean =>
  typeof a === 'string' || typeof b === 'string' ? a === b : a.m === b.m && a.id === b.id

/** A list as noted after the value that the channel has in its base: as additions to the beginning that both have. */
export const notedList = (
  items: readonly Item[],
  base: Value | undefined,
  isSnapshot: boolean,
  isSame: (before: Item, item: Item) => boolean,
): NotedValue => {
  const list = base?.kind === 'list' ? base : undefined
  const before = list === undefined ? [] : itemsOf(list)
  let keep = 0
  while (keep < before.length && keep < items.length && isSame(before[keep] as Item, items[keep] as Item)) keep += 1
  if (list?.isSnapshot === isSnapshot && keep === before.length && keep === items.length) return { same: true }
  return { keep, add: items.slice(keep).map(({ ref }) => ref), ...(isSnapshot && { snapshot: true as const }) }
}

export type { NotedValue }
