/**
 * The threads of LangGraph's SqliteSaver, each read from its last checkpoint. If the channel
 * `messages` is a delta channel, the checkpoint lacks it: it is rebuilt from the nearest snapshot,
 * or from an empty list, and the writes after it.
 *
 * Source  langchain-ai/langgraph, libs/checkpoint-sqlite; langchain-ai/langgraphjs, libs/checkpoint-sqlite (2026-11)
 */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import type { TranscriptFault } from 'indelible/codecs'
import { describe, isLeft, isObject, type Json, type JsonObject, left, right } from 'indelible/internal/json'
import { langgraph } from '../programs/langgraph.ts'
import type { DatabaseFormat, StoredEntries } from './entries.ts'
import type { StoredConversation } from './stored-conversation.ts'
import { addMessages } from './messages.ts'
import { readPython } from './python.ts'
import { countOf, jsonOf, rowsOf } from './rows.ts'

export const langgraphDatabase: DatabaseFormat = {
  matches: (columns) => columns.has('checkpoints') && columns.has('writes'),
  open: (db) => threadsOf(db),
}

/** The threads of a database, oldest first. */
const threadsOf = (db: DatabaseSync): StoredEntries => {
  const threads = rowsOf(
    db,
    "select thread_id, max(checkpoint_id) as last from checkpoints where checkpoint_ns = '' group by thread_id order by min(checkpoint_id)",
  )
  const conversations = threads.map(({ thread_id: id, last }): StoredConversation =>
    Object.freeze({ id: String(id), updated: String(last) }),
  )
  const entryOf: StoredEntries['entryOf'] = (id) => {
    const row = rawRow(
      db,
      "select * from checkpoints where thread_id = ? and checkpoint_ns = '' order by checkpoint_id desc limit 1",
      id,
    )
    const read = readCheckpoint(row)
    if (isLeft(read)) return read
    const whole = withDeltas(db, id, row, read.right)
    if (isLeft(whole)) return whole
    const { checkpoint: _, metadata, ...columns } = row ?? {}
    const kept = Object.fromEntries(
      Object.entries(columns).flatMap(([name, value]) => (value === null ? [] : [[name, textOf(value)]])),
    )
    const entry = { ...kept, checkpoint: whole.right.checkpoint, metadata: jsonOf(textOf(metadata)) ?? null }
    const count = (query: string): number => countOf(db, `select count(*) as n from ${query}`, id)
    const earlier = count("checkpoints where thread_id = ? and checkpoint_ns = ''") - 1
    const inner = count("checkpoints where thread_id = ? and checkpoint_ns <> ''")
    const others = count('checkpoints where thread_id <> ?')
    const writes = count('writes where thread_id = ?') - whole.right.taken
    const aside = {
      ...(earlier > 0 && { 'earlier checkpoint': earlier }),
      ...(inner > 0 && { 'checkpoint of a subgraph': inner }),
      ...(others > 0 && { 'checkpoint of another thread': others }),
      ...(writes > 0 && { write: writes }),
    }
    return right({ entry, aside })
  }
  return { format: langgraph, conversations, entryOf, tables: ['checkpoints', 'writes'] }
}

type Row = { readonly [column: string]: unknown }

const rawRow = (db: DatabaseSync, query: string, ...values: readonly string[]): Row | undefined =>
  db.prepare(query).get(...values)

const textOf = (value: unknown): Json | undefined =>
  value instanceof Uint8Array ? text.decode(value) : (value as Json | undefined)

const text = new TextDecoder()

/** A value in the encoding that the column `type` names. */
const readValue = (type: unknown, value: unknown): Either<TranscriptFault, Json> => {
  if (type === 'null') return right(null)
  if (type === 'msgpack' && value instanceof Uint8Array)
    try {
      return right(readPython(value))
    } catch (error) {
      return left({ _tag: 'UnknownFormat', found: `damaged LangGraph msgpack (${(error as Error).message})` })
    }
  const read = type === 'json' || type === null ? jsonOf(textOf(value)) : undefined
  return read === undefined
    ? left({
        _tag: 'UnknownFormat',
        found: `a LangGraph value of type ${describe(type)}; only JSON and msgpack can be read`,
      })
    : right(read)
}

const readCheckpoint = (row: Row | undefined): Either<TranscriptFault, JsonObject> => {
  const read = readValue(row?.['type'], row?.['checkpoint'])
  if (isLeft(read)) return read
  return isObject(read.right)
    ? right(read.right)
    : left({ _tag: 'UnknownFormat', found: `a LangGraph checkpoint that is ${describe(read.right)}` })
}

const messagesOf = (checkpoint: JsonObject): Json | undefined => {
  const { channel_values: channels } = checkpoint
  if (!isObject(channels)) return undefined
  const { messages } = channels
  const isSnapshot = isObject(messages) && messages['lc'] === 2 && messages['type'] === 'delta_snapshot'
  return isSnapshot ? messages['value'] : messages
}

const withMessages = (checkpoint: JsonObject, messages: Json): JsonObject => {
  const { channel_values: channels } = checkpoint
  return { ...checkpoint, channel_values: { ...(isObject(channels) && channels), messages } }
}

/**
 * A checkpoint with its messages: its own, or those of the nearest earlier checkpoint that has them
 * plus the writes since. `taken` is the number of those writes.
 */
const withDeltas = (
  db: DatabaseSync,
  thread: string,
  last: Row | undefined,
  checkpoint: JsonObject,
): Either<TranscriptFault, { readonly checkpoint: JsonObject; readonly taken: number }> => {
  const own = messagesOf(checkpoint)
  if (own !== undefined) return right({ checkpoint: withMessages(checkpoint, own), taken: 0 })
  const { channel_versions: versions } = checkpoint
  if (!isObject(versions) || versions['messages'] === undefined) return right({ checkpoint, taken: 0 })
  const steps: (readonly Json[])[] = []
  const seen = new Set<unknown>()
  let base: Json = []
  for (let id = last?.['parent_checkpoint_id']; typeof id === 'string' && !seen.has(id);) {
    seen.add(id)
    const row = rawRow(
      db,
      "select * from checkpoints where thread_id = ? and checkpoint_ns = '' and checkpoint_id = ?",
      thread,
      id,
    )
    if (row === undefined) break
    const written = writesAt(db, thread, id)
    if (isLeft(written)) return written
    steps.push(written.right)
    const read = readCheckpoint(row)
    if (isLeft(read)) return read
    const seed = messagesOf(read.right)
    if (seed !== undefined) {
      base = seed
      break
    }
    id = row['parent_checkpoint_id']
  }
  const writes = steps.toReversed().flat()
  return right({ checkpoint: withMessages(checkpoint, addMessages(base, writes)), taken: writes.length })
}

/** The writes to the channel in the step after a checkpoint, in the order in which a run applies them. */
const writesAt = (db: DatabaseSync, thread: string, checkpoint: string): Either<TranscriptFault, readonly Json[]> => {
  const rows = db
    .prepare(
      "select * from writes where thread_id = ? and checkpoint_ns = '' and checkpoint_id = ? and channel = 'messages'",
    )
    .all(thread, checkpoint)
    .toSorted(
      (a, b) =>
        compare(a['task_path'] ?? '', b['task_path'] ?? '') ||
        compare(a['task_id'], b['task_id']) ||
        Number(a['idx']) - Number(b['idx']),
    )
  return pipe(
    rows,
    E.traverseArray(({ type, value }) => readValue(type, value)),
  )
}

const compare = (a: unknown, b: unknown): number => (String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0)
