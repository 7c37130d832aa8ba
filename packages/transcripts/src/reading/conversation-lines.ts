/**
 * Conversations as JSON lines, one a line, each as the body of a request or an answer: fine-tuning
 * files and request logs. `pick` counts the conversations of all readable lines.
 */
import { describe, isLeft, type JsonObject } from 'indelible/internal/json'
import { conversationsIn } from './conversation.ts'
import type { LineFormat } from '../format/line-format.ts'
import type { TranscriptFormat } from '../transcript.ts'
import { reasonOf } from '../format/read-problems.ts'

export const isConversationLine = (entry: JsonObject): boolean => conversationsIn(entry).length > 0

/** Lines of conversations, the first of them in `format`. The format of each is detected. */
export const conversationLines = (format: TranscriptFormat): LineFormat => ({
  format,
  matches: isConversationLine,
  lineByLine: true,
  reader: (sink) => {
    let count = 0
    return {
      read: (entry, line) => {
        const found = conversationsIn(entry)
        if (found.length === 0) return sink.damage(line, `is ${describe(entry)}, not a conversation`)
        const wanted = found[sink.pick - count]
        count += found.length
        if (wanted === undefined) return
        sink.origin = wanted.origin
        const decoded = wanted.decode()
        if (isLeft(decoded)) return sink.damage(line, reasonOf(decoded.left, 0))
        for (const { path, reason } of wanted.losses) sink.loss(line, path, reason)
        for (const message of decoded.right.messages) sink.message(line, message)
      },
      end: () => ({ count }),
    }
  },
})
