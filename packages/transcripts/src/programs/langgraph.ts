/**
 * A LangGraph checkpoint as SqliteSaver stores it: the state of a thread, whose channel `messages`
 * is the conversation. The input is `{ thread_id, checkpoint, metadata }`;
 * `@indelible/transcripts/sqlite` reads the database itself.
 *
 * Source  langchain-ai/langgraphjs, libs/checkpoint-sqlite/src/index.ts; langchain-ai/langchainjs, langchain-core/src:
 *         load/serializable.ts (`lc: 1`), messages/*.ts (2026-05)
 */
import {
  arrayAt,
  fieldsBeside,
  isObject,
  objectAt,
  Unexpected,
  type JsonObject,
  type Path,
} from 'indelible/internal/json'
import { readLangChainMessage } from '@indelible/codecs/internal'
import type { LineFormat, Sink } from '../format/line-format.ts'
import { count, objectIn } from '../format/origin.ts'

const format = 'langgraph'

const isCheckpoint = (entry: JsonObject): boolean =>
  isObject(entry['checkpoint']) && isObject(entry['checkpoint']['channel_values'])

export const langgraph: LineFormat = {
  format,
  spansLines: true,
  matches: isCheckpoint,
  reader: (sink) => {
    let entries = 0
    return {
      read: (entry, line) => {
        if (!isCheckpoint(entry)) throw new Unexpected(['checkpoint'], 'a checkpoint with channel_values', entry)
        if (entries++ === sink.pick) readCheckpoint(entry, line, sink)
        else sink.aside('checkpoint of another thread')
      },
      end: () => ({ count: entries }),
    }
  },
}

const readCheckpoint = (entry: JsonObject, line: number, sink: Sink): void => {
  const { origin } = sink
  const checkpoint = objectAt(entry['checkpoint'], ['checkpoint'])
  const channels = objectAt(checkpoint['channel_values'], ['checkpoint', 'channel_values'])
  const at = ['checkpoint', 'channel_values', 'messages']
  const { messages = [] } = channels
  origin.time(checkpoint['ts'])
  const beside = {
    ...fieldsBeside(checkpoint, ['channel_values', ...(origin.started === checkpoint['ts'] ? ['ts'] : [])]),
    channel_values: fieldsBeside(channels, ['messages']) ?? {},
  }
  origin.describe(entry, { id: 'thread_id' }, ['checkpoint'])
  origin.metadata = { ...origin.metadata, checkpoint: beside }
  arrayAt(messages, at).forEach((message, index) =>
    sink.attempt(line, () => {
      const wire = objectAt(message, [...at, index])
      const decoded = readAtPath(() => readLangChainMessage(wire), [...at, index])
      if (decoded.role === 'assistant') countUse(isObject(wire['kwargs']) ? wire['kwargs'] : wire, sink)
      sink.message(line, decoded)
    }),
  )
}

const countUse = (fields: JsonObject, { origin }: Sink): void => {
  const used = objectIn(fields, 'usage_metadata')
  const { cache_read, cache_creation } = objectIn(used, 'input_token_details')
  const metadata = objectIn(fields, 'response_metadata')
  origin.model(metadata['model_name'] ?? metadata['model'])
  if (count(used['input_tokens']) > 0)
    origin.usage({
      input: used['input_tokens'],
      output: used['output_tokens'],
      cacheRead: cache_read,
      cacheWrite: cache_creation,
    })
}

/** Reads a message; the path of an Unexpected error starts at the top of the entry. */
const readAtPath = <T>(read: () => T, at: Path): T => {
  try {
    return read()
  } catch (error) {
    throw error instanceof Unexpected ? error.within(...at) : error
  }
}
