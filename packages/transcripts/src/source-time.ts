/** The time of an imported message in its source file. Readers keep it in the message's `meta`. */
import { isObject, type Json, type JsonObject, type Immutable } from 'indelible/internal/json'
import type { Message } from 'indelible/message'

/** Where each format stores it: as text or in milliseconds since 1970. */
const places: { readonly [format: string]: readonly (readonly string[])[] } = {
  'pi-session': [['entry', 'timestamp'], ['timestamp']],
  'claude-code': [['timestamp']],
  codex: [['timestamp']],
  'gemini-cli': [['timestamp']],
  opencode: [['info', 'time', 'created'], ['time']],
  'copilot-cli': [['timestamp']],
  'qwen-code': [['timestamp']],
  'claude-stream': [['timestamp']],
  droid: [['timestamp']],
  goose: [['time']],
  kimi: [['time']],
  crush: [['time']],
  cline: [['time']],
  chatgpt: [['timestamp']],
  'claude-ai': [['timestamp']],
}

/**
 * The time of an imported message in its source file. The rows of an imported session
 * have these times, in ascending order (`timeOf`).
 *
 * Cost    O(1)
 *
 * @param message the message, from a transcript or a session
 * @returns milliseconds since 1970; undefined if the file has no time for it
 */
export const sourceTimeOf = (message: Pick<Message | Immutable<Message>, 'meta'>): number | undefined => {
  const { meta } = message
  for (const [format, paths] of Object.entries(places)) {
    const beside = meta !== undefined && Object.hasOwn(meta, format) ? (meta as JsonObject)[format] : undefined
    if (!isObject(beside)) continue
    for (const path of paths) {
      const time = millisecondsOf(valueAt(beside as JsonObject, path))
      if (time !== undefined) return time
    }
  }
  return undefined
}

const valueAt = (beside: JsonObject, path: readonly string[]): Json | undefined => {
  let value: Json | undefined = beside
  for (const key of path) value = isObject(value) && Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined
  return value
}

const millisecondsOf = (time: Json | undefined): number | undefined => {
  const milliseconds = typeof time === 'string' ? Date.parse(time) : time
  return typeof milliseconds === 'number' && Number.isInteger(milliseconds) && Math.abs(milliseconds) <= 8.64e15
    ? milliseconds
    : undefined
}
