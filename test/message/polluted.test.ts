/** Messages are made, checked, paired and mended as they are, whatever is added to prototypes. */
import { expect, it } from 'vitest'
import {
  assistant,
  decodeMessage,
  file,
  image,
  interruptedResults,
  isErased,
  mend,
  openCalls,
  pairCalls,
  reasoning,
  settle,
  text,
  textOf,
  toolCall,
  toolCallsOf,
  toolResult,
  toolResultsOf,
  user,
  type ToolResultPart,
} from '../../src/message/index.ts'
import {
  cutAnswer,
  erasedMessage,
  indelibleMetaOf,
  isCut,
  messageIn,
  resultMessages,
  withErasedText,
  withOwnCallId,
} from '../../src/message/internal.ts'
import { changedBy } from '../pollution.ts'

const names = [
  ...['role', 'content', 'type', 'id', 'name', 'callId', 'arguments', 'isError', 'meta', 'source', 'summary'],
  ...['signature', 'encrypted', 'provider', 'raw', 'indelible', 'interrupted', 'answer', 'mediaType', 'text', 'call'],
]

it('nothing that message does reads a property of a prototype', () => {
  const broken = [
    toolResult('a', 'early'),
    assistant('x', toolCall('a', 'f', {}), toolCall('b', 'f', { n: 1 })),
    user('between'),
    toolResult('b', 'late'),
    assistant(toolCall('a', 'f', '{}')),
    erasedMessage(assistant(toolCall('c', 'f', {}), 'y', 'z')),
  ]
  const settled = [user('q'), assistant(toolCall('a', 'f', {})), toolResult('a', 'r', { isError: true })]
  const call = toolCall('a', 'f', {})
  const run = (): unknown => [
    [text('a'), image({ type: 'url', url: 'u' }), file({ type: 'url', url: 'u' }), reasoning('r')],
    [user('a'), toolResult('a', 'b'), toolCall('a', 'f', { b: [1] }), interruptedResults([call], 'why')],
    [{}, { role: 'user' }, { role: 'user', content: [{}] }, { role: 'user', content: [{ type: 'text' }] }].map(
      decodeMessage,
    ),
    [...broken, { role: 'user', content: [{ type: 'image', source: {} }] }].map(decodeMessage),
    [settle(settled), settle(broken), mend(broken), mend(settled)],
    [openCalls(broken), pairCalls(broken)],
    broken.map((message) => [textOf(message), toolCallsOf(message), toolResultsOf(message), isErased(message)]),
    broken.map((message) => [indelibleMetaOf(message), isCut(message), withErasedText(message)]),
    [messageIn({ role: 'user' }) === undefined, messageIn(user('a'))],
    [cutAnswer([text('half'), call], true), cutAnswer(['half'], false), cutAnswer([reasoning('r')], false)],
    resultMessages([toolResult('a', 'r').content[0] as ToolResultPart], true),
    withOwnCallId(call, new Set(['a'])),
  ]
  expect(changedBy(names, run)).toEqual([])
})
