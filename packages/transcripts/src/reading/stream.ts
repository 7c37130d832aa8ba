/** Reads transcripts that are too large for memory: line by line, in one pass. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, joinBytes, optionsOf } from 'indelible/internal/json'
import type { TranscriptFault } from 'indelible/codecs'
import { Beginning } from './detect.ts'
import type { TranscriptEvent } from './event.ts'
import { createLineImport, type LineImport } from './line-import.ts'
import { copyOf, createSplitter, type Line } from '../text/lines.ts'
import { readTranscript } from './read.ts'
import type { Transcript, TranscriptOptions } from '../transcript.ts'

/**
 * Read a conversation from chunks of bytes. The events are a `start`; messages, notes, summaries,
 * damage and losses in file order; and an `end` or a `fault`.
 *
 * In a file with branches (pi, Claude Code) only the end shows which messages belong to the
 * conversation: the `end` event lists the others in `dropped`. If you store items as they arrive,
 * remove those then. Or read the file twice, first for the `end` alone.
 *
 * Memory  one line, and in files with branches the id of every entry and 28 bytes more, and at most 64 million
 *         characters of entries whose parent has not come. A file that is one JSON value is held whole, and so are files of Anthropic messages
 * Cost    O(bytes); bench: transcript-stream
 *
 * @param options which conversation to read, and `strict`
 * @throws whatever `source` throws; TypeError if an option is unknown, when the first event is read
 * @example
 * for await (const event of readTranscriptStream(createReadStream('session.jsonl')))
 *   if (event.type === 'message') console.log(event.line, event.message.role)
 */
export async function* readTranscriptStream(
  source: AsyncIterable<Uint8Array>,
  settings: TranscriptOptions = {},
): AsyncGenerator<TranscriptEvent, void, undefined> {
  const options = optionsOf('readTranscriptStream', settings, { pick: true, strict: true, countedElsewhere: true })
  const splitter = createSplitter()
  const beginning = new Beginning()
  let held: Uint8Array[] = [] // all bytes so far, until they are known to be lines
  let lines: Line[] = [] // the lines inspected so far
  let isOneValue = false
  let reader: LineImport | undefined

  /** The events of a line; once the format is known, of all lines so far. */
  const take = (line: Line): readonly TranscriptEvent[] => {
    if (reader !== undefined) return reader.push(line)
    lines.push(line)
    if (isOneValue || !beginning.look(line)) return []
    if (beginning.format === undefined) {
      isOneValue = true
      lines = []
      return []
    }
    reader = createLineImport(beginning.format, options)
    const events = lines.flatMap((earlier) => reader?.push(earlier) ?? [])
    held = []
    lines = []
    return events
  }

  for await (const bytes of source) {
    if (reader === undefined) held.push(copyOf(bytes)) // copied: the source may reuse its buffer
    if (isOneValue) continue
    for (const line of splitter.push(bytes)) {
      const events = take(line)
      yield* events
      if (events.at(-1)?.type === 'fault') return
    }
  }
  if (!isOneValue) for (const line of splitter.end()) yield* take(line)
  if (reader !== undefined) yield* reader.end()
  else yield* eventsOf(readTranscript(joinBytes(held), options))
}

/** The events of a file that is one JSON value. All are on line 1. */
function* eventsOf(read: Either<TranscriptFault, Transcript>): Generator<TranscriptEvent> {
  if (isLeft(read)) return yield { type: 'fault', fault: read.left }
  const { format, messages, origin, losses, damage, count, pick } = read.right
  yield { type: 'start', format }
  for (const found of damage) yield { type: 'damage', damage: found }
  for (const loss of losses) yield { type: 'loss', loss }
  for (const [item, message] of messages.entries()) yield { type: 'message', item, line: 1, message }
  yield { type: 'end', origin, count, pick, dropped: [] }
}
