/** What the formats share in which each entry is one or several messages, a note, or bookkeeping. */
import { ownFields, type JsonObject } from 'indelible/internal/json'
import type { Message, Part, ResultPart } from 'indelible/message'
import { EntryTree } from './entry-tree.ts'
import type { LineFormat, Sink } from './line-format.ts'
import { textIn } from './origin.ts'
import type { Link } from './parent-first.ts'
import { unknownLine } from './unknown-line.ts'

interface EntryFormat extends Omit<LineFormat, 'reader'> {
  /**
   * Read an entry: its messages; `note` for information beside the conversation, `aside` for bookkeeping that is counted;
   * undefined for an unknown kind.
   */
  readonly read: (entry: JsonObject, sink: Sink, line: number) => readonly Message[] | 'note' | 'aside' | undefined
  /** The id and the parent of an entry, in a format that is a tree. */
  readonly link?: (entry: JsonObject) => Link
  /** Default: `type`. */
  readonly kindOf?: (entry: JsonObject) => string
}

export const entryLines = ({ read, link, kindOf = typeOf, ...format }: EntryFormat): LineFormat => ({
  ...format,
  reader: (sink) => {
    const tree = new EntryTree()
    /** Read an entry that is in the tree as `index`. Returns the number of its items. */
    const readEntry = (entry: JsonObject, line: number, replaces?: readonly [number, number]): number => {
      sink.origin.time(entry['timestamp'])
      const found = read(entry, sink, line)
      if (found === 'aside') sink.aside(kindOf(entry))
      else if (found === 'note') sink.entry(line, entry)
      else if (found === undefined) unknownLine(entry, line, sink)()
      else for (const message of found) sink.message(line, message, { replaces })
      return found === 'aside' ? 0 : Array.isArray(found) ? found.length : 1
    }
    if (link === undefined) return { read: (entry, line) => void readEntry(entry, line), end: () => ({}) }
    return {
      tree: { link, has: (id) => tree.find(id) !== undefined },
      read: (entry, line, previous) => {
        const { id, parent, followsPrevious = false } = link(entry)
        if (id === undefined) return void readEntry(entry, line)
        const known = tree.find(id)
        const content = JSON.stringify(entry)
        if (known !== undefined && tree.isRepeated(known, content)) return sink.aside('line that is written again')
        const missing = parent !== undefined && tree.find(parent) === undefined
        if (missing && known === undefined && tree.size > 0)
          sink.damage(
            line,
            `has the parent ${JSON.stringify(parent)}, which is not in the file; read as following the previous entry`,
          )
        const isNext = missing || (parent === undefined && followsPrevious)
        const follows = tree.find((isNext ? previous : parent) ?? '') ?? -1
        const first = sink.items
        const replaces = known === undefined ? undefined : tree.items(known)
        let count = 0
        try {
          count = readEntry(entry, line, replaces)
        } finally {
          // An entry that can't be read is in the tree as well: others follow it.
          const index = known ?? tree.add({ id, parent: follows, line, isMessage: count > 0, content })
          if (count > 0) tree.holdLater([index], first, sink.items - first)
        }
      },
      end: () => ({
        dropped: tree.dropped(tree.path(tree.leaf(() => true)), (count) =>
          sink.origin.aside('item of another branch', count),
        ),
      }),
    }
  },
})

/** The place of an entry by these fields. One that names no parent, as those of earlier versions, follows the one before it. */
export const linkIn = (entry: JsonObject, id: string, parent: string): Link => ({
  ...{ id: textIn(entry, id), parent: textIn(entry, parent) },
  followsPrevious: !(parent in entry),
})

const typeOf = ({ type }: JsonObject): string => (typeof type === 'string' ? type : 'line of no kind')

export const textPart = (text: string): ResultPart => ({ type: 'text', text })

/** A call; its arguments as JSON, or as the text that they are. */
export const callPart = (id: string, name: string, args: unknown): Part => ({
  type: 'tool_call',
  id,
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
})

export const resultMessage = (
  callId: string,
  content: readonly ResultPart[],
  options: { readonly name?: string | undefined; readonly isError?: boolean } = {},
): Message => {
  const { name, isError = false } = ownFields(options)
  const result = { callId, content, ...(name !== undefined && { name }), ...(isError && { isError: true }) }
  return { role: 'tool', content: [{ type: 'tool_result', ...result }] }
}
