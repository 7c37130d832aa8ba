/**
 * The entries of a tree, each after its parent: programs write a hook's line, a result or a compaction's boundary before the
 * line that it names as its parent.
 *
 * Memory: the entries whose parent has not come, at most `mostHeld` characters. If there are more, or at the end of the file,
 * the parent is missing, and the entries are read in the order of the file.
 */
import type { JsonObject } from 'indelible/internal/json'

/** The place of an entry in a tree. */
export interface Link {
  readonly id: string | undefined
  /** The id of the entry that it follows. */
  readonly parent: string | undefined
  /** Whether it follows the entry before it in the file. */
  readonly followsPrevious?: boolean
}

export interface TreeReader {
  /** An entry that is not in the tree follows the one before it. */
  readonly link: (entry: JsonObject) => Link
  /** Whether the entry with this id was read. */
  readonly has: (id: string) => boolean
}

/** Reads an entry. `previous` is the id of the tree's entry before it in the file. */
type Read = (entry: JsonObject, line: number, previous: string | undefined) => void

interface Held {
  readonly entry: JsonObject
  readonly line: number
  readonly size: number
  /** Its id, or its place where it has none. */
  readonly key: string
  readonly previous: string | undefined
}

export class ParentFirst {
  readonly #tree: TreeReader
  readonly #read: Read
  readonly #mostHeld: number
  /** The entries that wait, by the key that they wait for. */
  readonly #waiting = new Map<string, Set<Held>>()
  readonly #heldKeys = new Set<string>()
  #size = 0
  #previous: string | undefined
  #previousKey = ''
  #count = 0

  constructor(tree: TreeReader, read: Read, mostHeld: number = 2 ** 26) {
    this.#tree = tree
    this.#read = read
    this.#mostHeld = mostHeld
  }

  /** @param size the length of the entry's text */
  add(entry: JsonObject, line: number, size: number): void {
    const { id, parent, followsPrevious = false } = this.#tree.link(entry)
    const previous = this.#previous
    const key = id ?? `\n${line}.${this.#count++}`
    const previousKey = this.#previousKey
    this.#previousKey = key
    if (id !== undefined) this.#previous = id
    const after = followsPrevious && this.#heldKeys.has(previousKey) ? previousKey : parent
    if (after === undefined || after === id || this.#tree.has(after)) {
      this.#read(entry, line, previous)
      return this.#release(key)
    }
    const held: Held = { entry, line, size, key, previous }
    const others = this.#waiting.get(after)
    if (others === undefined) this.#waiting.set(after, new Set([held]))
    else others.add(held)
    this.#heldKeys.add(key)
    this.#size += size
    if (this.#size > this.#mostHeld) this.end()
  }

  /** Read all entries that still wait, in the order of the file. */
  end(): void {
    const held = [...this.#waiting].flatMap(([parent, entries]) =>
      [...entries].map((entry) => ({ parent, one: entry })),
    )
    held.sort((a, b) => a.one.line - b.one.line)
    // First those whose parent is missing: others follow them. What is left then is a circle of parents.
    for (const isCircle of [false, true])
      for (const { parent, one: entry } of held) {
        const others = this.#waiting.get(parent)
        if (others?.has(entry) !== true || (!isCircle && this.#heldKeys.has(parent))) continue
        others.delete(entry)
        if (others.size === 0) this.#waiting.delete(parent)
        this.#readWithChildren([entry])
      }
  }

  #release(key: string): void {
    const ready = this.#waiting.get(key)
    if (ready === undefined) return
    this.#waiting.delete(key)
    this.#readWithChildren([...ready])
  }

  /** Read entries, each followed by those that waited for it. */
  #readWithChildren(entries: readonly Held[]): void {
    const left = entries.toReversed()
    for (let held = left.pop(); held !== undefined; held = left.pop()) {
      const { entry, line, size, key, previous } = held
      this.#size -= size
      this.#read(entry, line, previous)
      this.#heldKeys.delete(key)
      for (const child of [...(this.#waiting.get(key) ?? [])].toReversed()) left.push(child)
      this.#waiting.delete(key)
    }
  }
}
