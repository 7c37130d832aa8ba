/** The parts of Kimi's messages: texts, thoughts, pictures and calls. */
import { arrayAt, isObject, objectAt, stringAt, type Json, type JsonObject } from 'indelible/internal/json'
import { sourceOf } from 'indelible/internal/codecs'
import type { Part } from 'indelible/message'
import { blockReader } from './blocks.ts'
import { callPart, textPart } from './entry-lines.ts'
import { objectIn, textIn } from './origin.ts'

const format = 'kimi'

export const calledIn = (call: JsonObject): Part => {
  const own = isObject(call['function']) ? call['function'] : call
  const id = textIn(call, 'toolCallId') ?? stringAt(call['id'], ['id'])
  return callPart(id, stringAt(own['name'], ['name']), own['args'] ?? own['arguments'])
}

export const readBlock: ReturnType<typeof blockReader> = blockReader(format, {
  text: ['text', 'text'],
  think: ['reasoning', 'think', 'encrypted'],
})

export const partsOf = (content: Json | undefined): readonly Part[] => {
  if (typeof content === 'string') return [textPart(content)]
  return arrayAt(content ?? [], ['content']).map((item): Part => {
    const part = objectAt(item, ['content'])
    const url = objectIn(part, 'image_url')['url'] ?? objectIn(part, 'imageUrl')['url']
    if (typeof url === 'string') return { type: 'image', source: sourceOf(url) }
    return readBlock(part, ['content'])
  })
}
