/** What the codecs write of any messages, losses included, and read of that again. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { mend } from 'indelible'
import { allCodecs } from '@indelible/codecs'
import { Outputs } from '../outputs.ts'
import { aMessage } from './any-message.ts'
import type { Codec } from '../../src/codecs/codec.ts'

it.each([
  ['ai-sdk', 'c645a3d1c94e1568'],
  ['ai-sdk-ui', 'd6a81de294c60a64'],
  ['anthropic', 'ca3e6beebb631e91'],
  ['gemini', '183f27a6967e282d'],
  ['langchain', '9791359d8f458174'],
  ['openai-agents', 'e6c7d59041f028e4'],
  ['openai-chat', '509595143e2fd8d2'],
  ['openai-responses', 'db41b0d1e4e3059c'],
] as const)("the %s encoder's output matches the recorded digests", (format, digest) => {
  const codec: Codec<unknown> = allCodecs[format]
  const outputs = new Outputs()
  fc.assert(
    fc.property(fc.array(aMessage, { maxLength: 5 }), (messages) => {
      const written = [mend(messages).messages, messages].map((all) => codec.encode(all, { allow: 'unsettled' }))
      outputs.add(written)
      for (const result of written) if (!isLeft(result)) outputs.add(codec.decode(result.right.wire))
    }),
  )
  outputs.expectToBe(digest)
  expect(Object.keys(allCodecs)).toHaveLength(8)
})
