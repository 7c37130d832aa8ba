/**
 * The session file of the pi coding agent: one JSON entry a line, a header first.
 *
 * From version 2 on an entry names its parent, so the file is a tree; the conversation is the path to the
 * leaf, which is the last entry or the one that a `leaf` entry names. In version 1 each entry follows the one
 * before it. Messages that a compaction hid from the model stay in the conversation; its summary is a note.
 *
 * Source  badlogic/pi-mono, packages/coding-agent: docs/session.md, src/core/session-manager.ts (versions 1 to 3),
 *         src/core/messages.ts; packages/agent: harness session entries (2026-02)
 */
import {
  arrayAt,
  fieldsBeside,
  isObject,
  objectAt,
  stringAt,
  Unexpected,
  type Json,
  type JsonObject,
  type Path,
} from 'indelible/internal/json'
import type { Message, Meta, ResultPart } from 'indelible/message'
import { blockReader } from '../format/blocks.ts'
import { resultMessage } from '../format/entry-lines.ts'
import { EntryTree } from '../format/entry-tree.ts'
import { countsIn } from '../format/format-facts.ts'
import type { LineFormat, Range, Sink } from '../format/line-format.ts'
import { metaOf } from '../format/other-fields.ts'
import { countAnswer, countCall, piUse } from '../format/call-counts.ts'
import { digestOf } from '../text/digest.ts'
import { objectIn, textIn, textsAmong, type CallDetails } from '../format/origin.ts'
import { unknownLine } from '../format/unknown-line.ts'

const format = 'pi-session'

/** The kinds that become notes as they are; `kinds` adds all others that are read. */
const noteTypes: ReadonlySet<unknown> = new Set([
  'model_change',
  'thinking_level_change',
  'active_tools_change',
  'context_transform',
  'context_edit',
  'ephemeral',
  'custom',
  'label',
  'usage',
  'session_info',
])
const kinds: ReadonlySet<unknown> = new Set([
  ...noteTypes,
  'message',
  'custom_message',
  'branch_summary',
  'compaction',
  'leaf',
])

const isHeader = (entry: JsonObject): boolean =>
  entry['type'] === 'session' && typeof entry['id'] === 'string' && typeof entry['timestamp'] === 'string'

/** Whether a message has calls or results in the form of Anthropic, as other programs write them. */
const holdsBlocks = ({ content }: JsonObject): boolean =>
  Array.isArray(content) &&
  (content as readonly Json[]).some((part) => isObject(part) && /^tool_(?:use|result)$/.test(String(part['type'])))

export const piSession: LineFormat = {
  format,
  signatures: [['type', 'id', 'parentId', 'timestamp', 'message']],
  times: [['entry', 'timestamp'], ['timestamp']],
  countsOf: countsIn(format, (own) => ({ ...piUse(own), key: textIn(objectIn(own, 'entry'), 'id') })),
  matches: (entry) =>
    isHeader(entry) ||
    (entry['type'] === 'message' &&
      isObject(entry['message']) &&
      typeof entry['timestamp'] === 'string' &&
      !('uuid' in entry) &&
      !holdsBlocks(entry['message'])),
  reader: (sink) => {
    const tree = new EntryTree()
    /** The entries that each `leaf` entry names. */
    const targets = new Map<number, string | undefined>()
    let hasHeader = false
    /** When the file was made as a fork of another one: its copies of entries are older. */
    let forked: string | undefined
    return {
      tree: {
        link: (entry) => {
          const id = entry['type'] === 'session' ? undefined : textIn(entry, 'id')
          return { id, parent: textIn(entry, 'parentId'), followsPrevious: entry['parentId'] === undefined }
        },
        has: (id) => tree.find(id) !== undefined,
      },
      read: (entry, line, previous) => {
        sink.origin.time(entry['timestamp'])
        if (entry['type'] === 'session') {
          if (hasHeader) return void sink.entry(line, entry)
          hasHeader = true
          if (entry['parentSession'] !== undefined) forked = textIn(entry, 'timestamp')
          return readHeader(entry, sink)
        }
        const { type } = entry
        // Nothing can follow an entry without an id.
        if (!kinds.has(type) && textIn(entry, 'id') === undefined) return void unknownLine(entry, line, sink)()
        const id = textIn(entry, 'id')
        const known = id === undefined ? undefined : tree.find(id)
        const content = JSON.stringify(entry['message'] ?? entry)
        if (known !== undefined && tree.isRepeated(known, content)) return sink.aside('line that is written again')
        const parent = parentOf(entry, tree, previous, (missing) =>
          sink.damage(
            line,
            `has the parent ${JSON.stringify(missing)}, which is not in the file; read as following the previous entry`,
          ),
        )
        const index = known ?? tree.add({ id, parent, line, isMessage: true, content })
        if (type === 'leaf') {
          targets.set(index, textIn(entry, 'targetId'))
          return sink.aside('leaf')
        }
        const replaces = known === undefined ? undefined : tree.items(known)
        const item = readEntry(type, entry, line, sink, tree, replaces, forked)
        if (item !== undefined) tree.holdLater([index], item, 1)
      },
      end: () => {
        const last = tree.leaf(() => true)
        const target = targets.get(last)
        const leaf = !targets.has(last) ? last : target === undefined ? -1 : (tree.find(target) ?? last)
        return {
          dropped: tree.dropped(tree.path(leaf), (count) => sink.origin.aside('item of another branch', count)),
        }
      },
    }
  },
}

const readHeader = (entry: JsonObject, { origin }: Sink): void => {
  const { version } = entry
  const isCounted = typeof version === 'number'
  origin.describe(entry, { id: 'id', started: 'timestamp' }, isCounted ? ['type', 'version'] : ['type'])
  origin.version = String(isCounted ? version : 1)
}

/** The index of the parent: the named one, else the entry before it; -1 for none. */
const parentOf = (
  entry: JsonObject,
  tree: EntryTree,
  previous: string | undefined,
  missing: (id: string) => void,
): number => {
  const named = entry['parentId']
  if (named === null) return -1
  const before = (previous === undefined ? undefined : tree.find(previous)) ?? tree.size - 1
  if (typeof named !== 'string') return before
  const found = tree.find(named)
  if (found === undefined) missing(named)
  return found ?? before
}

/** Read an entry into a message or a note, and return its item. Anything else is counted, or is damage. */
const readEntry = (
  type: Json | undefined,
  entry: JsonObject,
  line: number,
  sink: Sink,
  tree: EntryTree,
  replaces: Range | undefined,
  forked: string | undefined,
): number | undefined => {
  const write = (message: Message): number => sink.message(line, message, { replaces })
  const otherFields = (...names: readonly string[]): JsonObject | undefined => fieldsBeside(entry, ['type', ...names])
  switch (type) {
    case 'message': {
      const message = objectAt(entry['message'], ['message'])
      if (message['role'] === 'system') return sink.entry(line, entry) // pi's own prompt and tools
      if (message['role'] === 'bashExecution' && message['excludeFromContext'] === true) return sink.entry(line, entry)
      const read = withEntry(piMessage(message), otherFields('message'))
      countAnswer(sink.origin, piSession, read, callOf(entry, message, forked))
      return write(read)
    }
    case 'custom_message':
      return write({
        role: 'user',
        content: plainParts(entry['content'], ['content']),
        ...metaOf(format, { entry: fieldsBeside(entry, ['content']) ?? {} }),
      })
    case 'branch_summary':
      countCall(sink.origin, piUse(entry), callOf(entry, entry, forked))
      return write({
        role: 'user',
        content: [{ type: 'text', text: branchText(stringAt(entry['summary'], ['summary'])) }],
        ...metaOf(format, { entry: fieldsBeside(entry, ['summary']) ?? {} }),
      })
    case 'compaction': {
      countCall(sink.origin, piUse(entry), callOf(entry, entry, forked))
      const text = stringAt(entry['summary'], ['summary'])
      return sink.summary(line, {
        text,
        before: firstKept(entry, tree),
        beside: fieldsBeside(entry, ['summary']) ?? {},
      })
    }
    default:
      if (type === 'usage') countCall(sink.origin, piUse(entry), callOf(entry, entry, forked))
      if (type === 'session_info') sink.origin.title = textIn(entry, 'name') ?? sink.origin.title
      if (noteTypes.has(type)) return sink.entry(line, entry)
      unknownLine(entry, line, sink)() // on no branch: always kept
      return undefined
  }
}

const callOf = (entry: JsonObject, content: JsonObject, forked: string | undefined): CallDetails => ({
  ...(typeof entry['id'] === 'string' && { key: entry['id'] }),
  id: digestOf(JSON.stringify([entry['id'] ?? null, content])),
  time: entry['timestamp'],
  ...(forked !== undefined && Date.parse(String(entry['timestamp'])) < Date.parse(forked) && { isCopy: true }),
})

/** The first item that a compaction kept. Version 1 stores an index among the lines, header included. */
const firstKept = (entry: JsonObject, tree: EntryTree): number => {
  const { firstKeptEntryId: id, firstKeptEntryIndex: index } = entry
  const kept = typeof id === 'string' ? tree.find(id) : typeof index === 'number' ? index - 1 : undefined
  return kept === undefined ? 0 : tree.firstItemFrom(kept)
}

/** Adds the other fields of the line to a message: its time, id and parent. */
const withEntry = (message: Message, entry: JsonObject | undefined): Message => {
  if (entry === undefined) return message
  const own = message.meta?.[format]
  // A field `entry` of the message itself moves under `message`.
  const body = isObject(own) && 'entry' in own ? { message: own } : own
  return { ...message, meta: { [format]: { ...(isObject(body) ? body : {}), entry } } }
}

const piMessage = (wire: JsonObject): Message => {
  const role = stringAt(wire['role'], ['message', 'role'])
  const content = wire['content']
  const path = ['message', 'content']
  const meta = (...names: readonly string[]): { readonly meta?: Meta } => metaOf(format, fieldsBeside(wire, names))
  switch (role) {
    case 'user':
      return { role, content: plainParts(content, path), ...meta('role', 'content') }
    case 'assistant':
      return { role, content: parts(content, path, assistantPart), ...meta('role', 'content') }
    case 'toolResult':
      return {
        ...resultMessage(stringAt(wire['toolCallId'], ['message', 'toolCallId']), plainParts(content, path), {
          name: textIn(wire, 'toolName'),
          isError: wire['isError'] === true,
        }),
        ...meta(
          'role',
          'content',
          'toolCallId',
          ...textsAmong(wire, 'toolName'),
          ...(typeof wire['isError'] === 'boolean' ? ['isError'] : []),
        ),
      }
    // pi sends these as user messages.
    case 'custom':
    case 'hookMessage':
      return { role: 'user', content: plainParts(content, path), ...meta('content') }
    case 'bashExecution':
      return { role: 'user', content: [{ type: 'text', text: bashText(wire) }], ...meta(...textsAmong(wire, 'output')) }
    case 'branchSummary':
      return {
        role: 'user',
        content: [{ type: 'text', text: branchText(stringAt(wire['summary'], ['message', 'summary'])) }],
        ...meta('summary'),
      }
    default:
      throw new Unexpected(
        ['message', 'role'],
        'one of user, assistant, toolResult, bashExecution, custom, hookMessage, branchSummary',
        role,
      )
  }
}

const branchText = (summary: string): string =>
  `Summary of a branch that this conversation came back from:\n\n${summary}`

const bashText = (wire: JsonObject): string => {
  const output = textIn(wire, 'output') ?? ''
  const exit = wire['exitCode']
  return [
    `Ran \`${stringAt(wire['command'], ['message', 'command'])}\``,
    output === '' ? '(no output)' : `\`\`\`\n${output}\n\`\`\``,
    ...(wire['cancelled'] === true
      ? ['(cancelled)']
      : typeof exit === 'number' && exit !== 0
        ? [`(exit code ${exit})`]
        : []),
  ].join('\n')
}

const parts = <T>(content: Json | undefined, path: Path, read: (part: JsonObject, path: Path) => T): readonly T[] =>
  arrayAt(content, path).map((part, index) => read(objectAt(part, [...path, index]), [...path, index]))

const plainParts = (content: Json | undefined, path: Path): readonly ResultPart[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : parts(content, path, plainPart)

const plainBlock = blockReader(format, { text: ['text', 'text'], image: ['image', 'data', 'mimeType'] })
const plainPart = (part: JsonObject, path: Path): ResultPart => plainBlock(part, path) as ResultPart

const assistantPart = blockReader(format, {
  text: ['text', 'text'],
  image: ['image', 'data', 'mimeType'],
  toolCall: ['call', 'id', 'name', 'arguments'],
  thinking: ['reasoning', 'thinking', 'thinkingSignature'],
})
