/** The estimate beside OpenAI's o200k tokenizer, on the text of real messages, by what kind of text it is. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { user, type Message, type Part } from 'indelible'
import { estimateTokens } from 'indelible/context'
import { messages, source } from './messages.ts'

const textsOf = ({ role, content }: Message): readonly (readonly [kind: string, text: string])[] =>
  content.flatMap((part: Part): readonly (readonly [kind: string, text: string])[] => {
    if (part.type === 'text') return [[role, part.text] as const]
    if (part.type === 'tool_call') return [['arguments', part.arguments] as const]
    if (part.type === 'tool_result')
      return part.content.flatMap((inner) => (inner.type === 'text' ? [['results', inner.text] as const] : []))
    return []
  })

const frame = estimateTokens(user(''))
const sums = new Map<string, { counted: number; estimated: number; bytes: number }>()
for (const [kind, text] of messages.flatMap(textsOf)) {
  const sum = sums.get(kind) ?? { counted: 0, estimated: 0, bytes: 0 }
  sum.counted += countTokens(text)
  sum.estimated += estimateTokens(user(text)) - frame
  sum.bytes += Buffer.byteLength(text)
  sums.set(kind, sum)
}

console.log(`${source}\n`)
console.log('| text | o200k | estimate | bytes / 4 |\n|---|---:|---:|---:|')
for (const [kind, { counted, estimated, bytes }] of sums)
  console.log(
    `| ${kind} | ${counted.toLocaleString('en')} | ${(estimated / counted).toFixed(2)}× | ${(bytes / 4 / counted).toFixed(2)}× |`,
  )
