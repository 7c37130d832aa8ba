/** Codecs: reading and writing each format, beside the engine's own parser on the same bytes and the peers' converters. */
import { coerceMessageLikeToMessage, type MessageFieldWithRole } from '@langchain/core/messages'
import { convertToModelMessages, type UIMessage } from 'ai'
import { isLeft } from 'fp-ts/lib/Either.js'
import { mend } from 'indelible'
import { aiModelMessages, aiUiMessages } from '@indelible/codecs/ai-sdk'
import { anthropic } from 'indelible/codecs/anthropic'
import { openaiChat } from 'indelible/codecs/openai-chat'
import { openaiResponses } from 'indelible/codecs/openai-responses'
import { machine, measure, report, type Contender } from './measure.ts'
import { messageAt, source } from './messages.ts'
import type { Codec } from '../src/codecs/codec.ts'

const codecs: readonly Codec<unknown>[] = [openaiChat, openaiResponses, anthropic, aiModelMessages, aiUiMessages]

const right = <T>(
  found: { readonly _tag: 'Right'; readonly right: T } | { readonly _tag: 'Left'; readonly left: unknown },
): T => {
  if (isLeft(found)) throw new Error(JSON.stringify(found.left))
  return found.right
}

const sizes = process.argv.includes('--quick') ? [1000] : [1000, 10_000, 100_000]

console.log(`${machine()}\n${source}, mended. One operation is one message of ours.`)
const reading: [string, Awaited<ReturnType<typeof measure>>][] = []
const writing: [string, Awaited<ReturnType<typeof measure>>][] = []
for (const length of sizes) {
  const { messages } = mend(Array.from({ length }, (_, position) => messageAt(position)))
  for (const codec of codecs) {
    const { wire } = right(codec.encode(messages))
    const text = JSON.stringify(wire)
    const own = mend(right(codec.decode(wire)).messages).messages
    const label = `${codec.format}, ${length.toLocaleString('en')}`
    const read: Contender[] = [
      { name: 'JSON.parse', operations: length, prepare: () => () => JSON.parse(text) as unknown },
      { name: 'decode', operations: length, prepare: () => () => codec.decode(wire) },
    ]
    if (codec === openaiChat)
      read.push({
        name: 'LangChain',
        operations: length,
        prepare: () => () =>
          (wire as readonly MessageFieldWithRole[]).map((message) => coerceMessageLikeToMessage(message)),
      })
    if (codec === aiUiMessages)
      read.push({
        name: 'ai, convertToModelMessages',
        operations: length,
        prepare: () => () => convertToModelMessages(wire as UIMessage[]),
      })
    const rounds = length > 10_000 ? 3 : 9
    reading.push([label, await measure(read, rounds)])
    writing.push([
      label,
      await measure(
        [
          { name: 'JSON.stringify', operations: length, prepare: () => () => JSON.stringify(wire) },
          { name: 'encode', operations: length, prepare: () => () => codec.encode(own) },
        ],
        rounds,
      ),
    ])
  }
}
report('Reading', reading)
report('Writing', writing)
