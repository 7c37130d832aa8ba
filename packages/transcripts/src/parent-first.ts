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
  readonly id: string | undefined
  readonly previous: string | undefined
}

export class ParentFirst {
  readonly #tree: TreeReader
  readonly #read: Read
  readonly #mostHeld: number
  /** The entries that wait, by the id that they wait for. */
  readonly #waiting = new Map<string, Set<Held>>()
  readonly #heldIds = new Set<string>()
  #size = 0
  #previous: string | undefined

  constructor(tree: TreeReader, read: Read, mostHeld: number = 2 ** 26) {
    this.#tree = tree
    this.#read = read
    this.#mostHeld = mostHeld
  }

  /** @param size the length of the entry's text */
  add(entry: JsonObject, line: number, size: number): void {
    const { id, parent, followsPrevious = false } = this.#tree.link(entry)
    const previous = this.#previous
    if (id !== undefined) this.#previous = id
    const after = followsPrevious && previous !== undefined && this.#heldIds.has(previous) ? previous : parent
    if (after === undefined || after === id || this.#tree.has(after)) {
      this.#read(entry, line, previous)
      return this.#release(id)
    }
    const held: Held = { entry, line, size, id, previous }
    const others = this.#waiting.get(after)
    if (others === undefined) this.#waiting.set(after, new Set([held]))
    else others.add(held)
    if (id !== undefined) this.#heldIds.add(id)
    this.#size += size
    if (this.#size > this.#mostHeld) this.end()
  }

  /** Read all entries that still wait, in the order of the file. */
  end(): void {
    const held = [...this.#waiting].flatMap(([parent, entries]) => [...entries].map((one) => ({ parent, one })))
    held.sort((a, b) => a.one.line - b.one.line)
    // First those whose parent is missing: others follow them. What is left then is a circle of parents.
    for (const isCircle of [false, true])
      for (const { parent, one } of held) {
        const others = this.#waiting.get(parent)
        if (others?.has(one) !== true || (!isCircle && this.#heldIds.has(parent))) continue
        others.delete(one)
        if (others.size === 0) this.#waiting.delete(parent)
        this.#readWithChildren([one])
      }
  }

  #release(id: string | undefined): void {
    const ready = id === undefined ? undefined : this.#waiting.get(id)
    if (ready === undefined) return
    this.#waiting.delete(id as string)
    this.#readWithChildren([...ready])
  }

  /** Read entries, each followed by those that waited for it. */
  #readWithChildren(entries: readonly Held[]): void {
    const left = entries.toReversed()
    for (let held = left.pop(); held !== undefined; held = left.pop()) {
      const { entry, line, size, id, previous } = held
      this.#size -= size
      this.#read(entry, line, previous)
      if (id === undefined) continue
      this.#heldIds.delete(id)
      for (const child of [...(this.#waiting.get(id) ?? [])].toReversed()) left.push(child)
      this.#waiting.delete(id)
    }
  }
}
