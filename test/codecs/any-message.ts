/** Random messages, of whatever the providers refuse. */
import * as fc from 'fast-check'
import type { Message, Part } from 'indelible'
import type { ResultPart } from 'indelible/message'
import type { BlockId } from '../../src/proof/internal.ts'
import type { Role } from '../../src/message/message.ts'

const someText = fc.constantFrom('', ' ', '\n', 'a', 'ends in space ', 'ünï🙂')
const someId = fc.constantFrom('c1', 'c2', 'call_1|fc_2', 'functions.x:0', 'call_1_fc_2', '')
const source = fc.constantFrom(
  { type: 'base64' as const, mediaType: 'image/png', data: 'aGk=' },
  { type: 'base64' as const, mediaType: 'image/png', data: '' },
  { type: 'base64' as const, mediaType: 'application/pdf', data: 'aGk=' },
  { type: 'base64' as const, mediaType: 'text/csv', data: 'aGk=' },
  { type: 'base64' as const, mediaType: 'text/plain', data: '/w==' },
  { type: 'url' as const, url: 'https://example.com/a' },
  { type: 'url' as const, url: 'data:text/plain,a', mediaType: 'text/plain' },
  { type: 'block' as const, id: 'a'.repeat(64) as BlockId },
)
const simple: fc.Arbitrary<ResultPart> = fc.oneof(
  someText.map((value) => ({ type: 'text' as const, text: value })),
  source.map((from) => ({ type: 'image' as const, source: from })),
  source.map((from) => ({ type: 'file' as const, source: from })),
  fc.constant({ type: 'provider' as const, provider: 'acme', raw: 1 }),
)
const aPart: fc.Arbitrary<Part> = fc.oneof(
  simple,
  fc.record({
    type: fc.constant('tool_call' as const),
    id: someId,
    name: fc.constantFrom('f', 'a.b', '', 'x'.repeat(300)),
    arguments: fc.constantFrom('', '{}', '{"a":1}', '[1]', 'ls', '{"n":1e999}'),
  }),
  fc.record({
    type: fc.constant('tool_result' as const),
    callId: someId,
    content: fc.array(simple, { maxLength: 2 }),
    isError: fc.boolean(),
  }),
  fc.record({
    type: fc.constant('reasoning' as const),
    text: someText,
    signature: fc.constantFrom('c2ln', '{"id":1}', ''),
  }),
  someText.map((value) => ({ type: 'reasoning' as const, text: value, encrypted: 'e' })),
  someText.map((value) => ({ type: 'refusal' as const, text: value })),
)
export const aMessage: fc.Arbitrary<Message> = fc.record({
  role: fc.constantFrom<Role>('system', 'developer', 'user', 'assistant', 'tool'),
  content: fc.array(aPart, { maxLength: 4 }),
})
