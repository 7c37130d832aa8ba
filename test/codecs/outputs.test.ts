/** What the codecs write of any messages, losses included, and read of that again. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { mend, type Codec } from 'indelible'
import { codecs } from 'indelible/codecs'
import { Outputs } from '../outputs.ts'
import { aMessage } from './any-message.ts'

it.each([
  ['ai-sdk', '01a0da5c07f5cd92'],
  ['ai-sdk-ui', 'b3ded9adadb48800'],
  ['anthropic', '326b64989ed9a81c'],
  ['gemini', 'f2b5823abe27c59b'],
  ['langchain', '5e677554445b8435'],
  ['openai-agents', 'f91650f73babd7e7'],
  ['openai-chat', 'ff67f76798f5eb7e'],
  ['openai-responses', '84648d8e6f70948c'],
] as const)('%s writes any messages as before', (format, digest) => {
  const codec: Codec<unknown> = codecs[format]
  const outputs = new Outputs()
  fc.assert(
    fc.property(fc.array(aMessage, { maxLength: 5 }), (messages) => {
      const written = [mend(messages).messages, messages].map((all) => codec.encode(all, { allow: 'unsettled' }))
      outputs.add(written)
      for (const one of written) if (!isLeft(one)) outputs.add(codec.decode(one.right.wire))
    }),
  )
  outputs.expectToBe(digest)
  expect(Object.keys(codecs)).toHaveLength(8)
})
