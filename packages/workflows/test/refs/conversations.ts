/** Conversations for the tests of refs: any role, any size, with what is taken out of messages and what is not. */
import * as fc from 'fast-check'
import { assistant, image, toolCall, toolResult, user, type Message, type PageKind } from 'indelible'
import { pageKinds } from 'indelible/pages'

const long = fc.integer({ min: 4000, max: 6000 }).map((length) => 'a line of a long answer\n'.repeat(length / 24))
const picture = fc
  .uint8Array({ minLength: 800, maxLength: 1200 })
  .map((bytes) => image({ type: 'base64', mediaType: 'image/png', data: Buffer.from(bytes).toString('base64') }))

export const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }).map((output) => user(output)) },
  { weight: 2, arbitrary: fc.constantFrom('same', 'again').map((said) => assistant(said)) },
  { weight: 2, arbitrary: fc.tuple(fc.string(), long).map(([id, answer]) => toolResult(id, answer)) },
  { weight: 1, arbitrary: picture.map((part) => user(part)) },
  {
    weight: 1,
    arbitrary: fc.tuple(picture, long).map(([part, text]): Message => ({
      role: 'user',
      content: [part, { type: 'text', text }, part],
      meta: { 'com.example': { long: text } },
    })),
  },
  {
    weight: 1,
    arbitrary: fc.string().map((id) => assistant('look', toolCall(id, 'read', { __proto__: null, path: id }))),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Message>(
      { role: 'system', content: [] },
      { role: 'developer', name: 'ops', content: [{ type: 'text', text: '' }] },
    ),
  },
)

export interface SampleMessage {
  readonly message: Message
  readonly page: PageKind | undefined
}

export const anyConversation: fc.Arbitrary<readonly SampleMessage[]> = fc.array(
  fc.record({ message: anyMessage, page: fc.option(fc.constantFrom(...pageKinds), { nil: undefined }) }),
  { maxLength: 12 },
)
