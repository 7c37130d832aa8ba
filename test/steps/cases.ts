/** Inputs of any length that a provider, a program's file or an attacker chooses, and the code that reads them. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { createHistory, mend, openCalls, type Message } from 'indelible'
import { anthropic } from 'indelible/codecs/anthropic'
import { gemini } from 'indelible/codecs/gemini'
import { openaiChat } from 'indelible/codecs/openai-chat'
import { openaiResponses } from 'indelible/codecs/openai-responses'
import { deriveContext } from 'indelible/context'
import { JoinedCompletion, JoinedEvents, JoinedMessage, JoinedResponse } from 'indelible/internal/codecs'
import { readTranscript } from '@indelible/transcripts'
import { redactedEvents } from '../../packages/recorder/src/answers/redacted-events.ts'
import { agentFiles } from '../../packages/transcripts/test/agent-files.ts'

/** Makes an input of a length, and returns what is to be counted. */
export type Prepare = (count: number) => () => void

const each = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

const chatCall = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
const chatResult = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' })
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'x' })
const toolUse = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
const toolResult = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'x' })
const assistant = (tool_calls: readonly object[]) => ({ role: 'assistant', content: null, tool_calls })
const fields = (count: number): object => Object.fromEntries(each(count, (at) => [`field${at}`, at]))

const codecs = { openaiChat, openaiResponses, anthropic, gemini }

/** Lists of messages in the formats of providers. */
const lists: readonly (readonly [string, keyof typeof codecs, (count: number) => unknown])[] = [
  [
    'calls in pairs of one id',
    'openaiChat',
    (n) => each(n, (at) => (at % 2 === 0 ? assistant([chatCall('c')]) : chatResult('c'))),
  ],
  [
    'calls of a message, answered backwards',
    'openaiChat',
    (n) => [assistant(each(n, (at) => chatCall(`c${at}`))), ...each(n, (at) => chatResult(`c${n - 1 - at}`))],
  ],
  [
    'calls of a message with one id',
    'openaiChat',
    (n) => [assistant(each(n, () => chatCall('c'))), ...each(n, () => chatResult('c'))],
  ],
  [
    'ids that end in numbers',
    'openaiChat',
    (n) => [assistant([...each(n, (at) => chatCall(`c_${at}`)), ...each(n, () => chatCall('c'))])],
  ],
  ['results without calls', 'openaiChat', (n) => each(n, () => chatResult('c'))],
  ['instructions', 'openaiChat', (n) => each(n, () => ({ role: 'system', content: 'x' }))],
  [
    'parts of a message',
    'openaiChat',
    (n) => [{ role: 'user', content: each(n, () => ({ type: 'text', text: 'x' })) }],
  ],
  ['unknown fields', 'openaiChat', (n) => [{ role: 'user', content: 'x', ...fields(n) }]],
  [
    'pieces of reasoning',
    'openaiChat',
    (n) => [
      {
        role: 'assistant',
        content: 'x',
        reasoning_details: each(n, (index) => ({ type: 'reasoning.text', text: 'x', index })),
      },
    ],
  ],
  [
    'calls, answered backwards',
    'openaiResponses',
    (n) => [...each(n, (at) => call(`c${at}`)), ...each(n, (at) => output(`c${n - 1 - at}`))],
  ],
  ['calls with one id', 'openaiResponses', (n) => [...each(n, () => call('c')), ...each(n, () => output('c'))]],
  [
    'items with one id',
    'openaiResponses',
    (n) => each(n, () => ({ type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'x' }] })),
  ],
  ['unknown items', 'openaiResponses', (n) => each(n, (at) => ({ type: 'new_call', id: `r${at}` }))],
  ['messages of users', 'openaiResponses', (n) => each(n, () => ({ role: 'user', content: 'x' }))],
  [
    'calls of a message, answered backwards',
    'anthropic',
    (n) => [
      { role: 'assistant', content: each(n, (at) => toolUse(`c${at}`)) },
      { role: 'user', content: each(n, (at) => toolResult(`c${n - 1 - at}`)) },
    ],
  ],
  [
    'calls of a message with one id',
    'anthropic',
    (n) => [
      { role: 'assistant', content: each(n, () => toolUse('c')) },
      { role: 'user', content: each(n, () => toolResult('c')) },
    ],
  ],
  [
    'texts between results',
    'anthropic',
    (n) =>
      each(n, (at) => ({
        role: at % 2 === 0 ? 'assistant' : 'user',
        content: [{ type: 'text', text: 'x' }, toolResult('c')],
      })),
  ],
  [
    'calls without ids',
    'gemini',
    (n) => [
      { role: 'model', parts: each(n, () => ({ functionCall: { name: 'f', args: {} } })) },
      { role: 'user', parts: each(n, () => ({ functionResponse: { name: 'f', response: {} } })) },
    ],
  ],
  [
    'calls of names, answered backwards',
    'gemini',
    (n) => [
      { role: 'model', parts: each(n, (at) => ({ functionCall: { name: `f${at}`, args: {} } })) },
      { role: 'user', parts: each(n, (at) => ({ functionResponse: { name: `f${n - 1 - at}`, response: {} } })) },
    ],
  ],
  [
    'results without calls',
    'gemini',
    (n) => each(n, () => ({ role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] })),
  ],
]

/** Events of streams. */
const streams: readonly (readonly [
  string,
  () => { take(event: never): unknown; readonly body?: unknown; readonly response?: unknown },
  (count: number) => readonly object[],
])[] = [
  [
    'items',
    () => new JoinedEvents(),
    (n) =>
      each(n, (at) => [
        {
          type: 'response.output_item.added',
          output_index: at,
          item: { type: 'function_call', id: `i${at}`, call_id: `c${at}`, arguments: '' },
        },
        { type: 'response.function_call_arguments.delta', output_index: at, item_id: `i${at}`, delta: '{}' },
        {
          type: 'response.output_item.done',
          output_index: at,
          item: { type: 'function_call', id: `i${at}`, call_id: `c${at}`, arguments: '{}' },
        },
      ]).flat(),
  ],
  [
    'items that never end',
    () => new JoinedEvents(),
    (n) =>
      each(n, (at) => [
        { type: 'response.output_item.added', output_index: at, item: { type: 'function_call', id: `i${at}` } },
        { type: 'response.function_call_arguments.delta', output_index: 0, item_id: `other${at}`, delta: 'x' },
      ]).flat(),
  ],
  [
    'items backwards',
    () => new JoinedEvents(),
    (n) =>
      each(n, (at) => ({
        type: 'response.output_item.added',
        output_index: n - at,
        item: { type: 'reasoning', id: `i${at}` },
      })),
  ],
  [
    'items of one index and id',
    () => new JoinedEvents(),
    (n) =>
      each(n, () => [
        { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', id: 'i' } },
        { type: 'response.output_item.done', output_index: 0, item: { type: 'reasoning', id: 'i' } },
      ]).flat(),
  ],
  [
    'items without an index, which end first',
    () => new JoinedEvents(),
    (n) => each(n, (at) => ({ type: 'response.output_item.done', item: { type: 'reasoning', id: `i${at}` } })),
  ],
  [
    'annotations',
    () => new JoinedEvents(),
    (n) =>
      each(n, (at) => ({
        type: 'response.output_text.annotation.added',
        output_index: 0,
        content_index: 0,
        annotation_index: at,
        annotation: {},
      })),
  ],
  [
    'blocks',
    () => new JoinedMessage(),
    (n) =>
      each(n, (index) => [
        { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index, delta: { type: 'text_delta', text: 'x' } },
        { type: 'content_block_stop', index },
      ]).flat(),
  ],
  [
    'blocks backwards',
    () => new JoinedMessage(),
    (n) => each(n, (at) => ({ type: 'content_block_start', index: n - at, content_block: { type: 'text', text: '' } })),
  ],
  [
    'deltas of the first block',
    () => new JoinedMessage(),
    (n) => [
      ...each(n, (index) => ({ type: 'content_block_start', index, content_block: { type: 'text', text: '' } })),
      ...each(n, () => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } })),
    ],
  ],
  [
    'blocks of one index',
    () => new JoinedMessage(),
    (n) => each(n, () => ({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })),
  ],
  [
    'calls of a chat',
    () => new JoinedCompletion(),
    (n) =>
      each(n, (index) => ({ choices: [{ index: 0, delta: { tool_calls: [{ index, ...chatCall(`c${index}`) }] } }] })),
  ],
  [
    'calls of a chat without an index',
    () => new JoinedCompletion(),
    (n) => each(n, (at) => ({ choices: [{ index: 0, delta: { tool_calls: [chatCall(`c${at}`)] } }] })),
  ],
  [
    'calls of a chat that never end',
    () => new JoinedCompletion(),
    (n) =>
      each(n, (index) => [
        { choices: [{ delta: { tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: '{' } }] } }] },
        { choices: [{ delta: { tool_calls: [{ id: 'c0', function: { arguments: '}{' } }] } }] },
      ]).flat(),
  ],
  [
    'calls that end, and pieces without an index',
    () => new JoinedCompletion(),
    (n) => [
      ...each(n, (index) => ({ choices: [{ delta: { tool_calls: [{ index, ...chatCall(`c${index}`) }] } }] })),
      ...each(n, () => ({ choices: [{ delta: { tool_calls: [{ function: { arguments: ' ' } }] } }] })),
    ],
  ],
  [
    'calls of a chunk',
    () => new JoinedCompletion(),
    (n) => [{ choices: [{ delta: { tool_calls: each(n, (at) => chatCall(`c${at}`)) } }] }],
  ],
  [
    'details of reasoning',
    () => new JoinedCompletion(),
    (n) =>
      each(n, (index) => ({
        choices: [{ delta: { reasoning_details: [{ type: 'reasoning.text', index, text: 'x' }] } }],
      })),
  ],
  [
    'details of reasoning of one index',
    () => new JoinedCompletion(),
    (n) =>
      each(n, (at) => ({
        choices: [{ delta: { reasoning_details: [{ type: 'reasoning.text', index: 0, id: `r${at}`, text: 'x' }] } }],
      })),
  ],
  [
    'parts of a chat',
    () => new JoinedCompletion(),
    (n) => each(n, (index) => ({ choices: [{ delta: { content: [{ type: 'text', index, text: 'x' }] } }] })),
  ],
  [
    'choices',
    () => new JoinedCompletion(),
    (n) => each(n, (index) => ({ choices: [{ index, delta: { content: 'x' } }] })),
  ],
  [
    'calls of Gemini',
    () => new JoinedResponse(),
    (n) => each(n, () => ({ candidates: [{ content: { parts: [{ functionCall: { name: 'f', args: {} } }] } }] })),
  ],
  [
    'citations of Gemini',
    () => new JoinedResponse(),
    (n) =>
      each(n, () => ({
        candidates: [{ content: { parts: [{ text: 'x' }] }, citationMetadata: { citations: [{ uri: 'x' }] } }],
      })),
  ],
  ['fields of chunks', () => new JoinedResponse(), (n) => each(n, (at) => ({ [`field${at}`]: at }))],
]

const historyOf = (messages: readonly Message[]) => {
  const history = createHistory<Message>()
  for (const message of messages) history.append(message)
  return history.view()
}

/** A line with ids of its own, that continues the line before it. */
const numbered = (line: string, at: number): string =>
  line
    .replaceAll(/"((?:uu)?id)":"[^"]*"/g, `"$1":"own${at}"`)
    .replaceAll(/"(parent(?:Uu)?id)":(?:"[^"]*"|null)/gi, `"$1":"own${at - 1}"`)

/** Files of programs in which one line is repeated: the same, or with ids of its own. */
function* files(): Generator<readonly [string, (count: number) => string]> {
  for (const [name, { file }] of Object.entries(agentFiles)) {
    const lines = file.split('\n').filter((line) => line !== '')
    if (lines.length === 1) continue
    for (const [at, line] of lines.entries())
      for (const [how, change] of [
        ['again', (text: string) => text],
        ['with an id', numbered],
      ] as const)
        yield [
          `${name}, line ${at + 1} ${how}`,
          (count) => [...lines, ...each(count, (copy) => change(line, copy))].join('\n'),
        ]
  }
}

export function* cases(): Generator<readonly [string, Prepare]> {
  for (const [name, codec, make] of lists) {
    yield [
      `${codec} decodes ${name}`,
      (count) => {
        const wire = make(count)
        return () => void codecs[codec].decode(wire)
      },
    ]
    const read = (count: number): readonly Message[] => {
      const decoded = codecs[codec].decode(make(count))
      if (isLeft(decoded)) throw new Error(`${name} is no conversation`)
      return decoded.right.messages
    }
    for (const to of Object.keys(codecs) as (keyof typeof codecs)[])
      yield [
        `${to} encodes ${codec}: ${name}`,
        (count) => {
          const { messages } = mend(read(count))
          const encode = codecs[to].encode as (given: typeof messages) => unknown
          return () => void encode(messages)
        },
      ]
    yield [
      `mending ${codec}: ${name}`,
      (count) => {
        const messages = read(count)
        return () => void [mend(messages), openCalls(messages)]
      },
    ]
    for (const [budget, factor] of [
      [1_000_000_000, 1],
      [700, 6], // so that no size fits
    ] as const)
      yield [
        `a context of ${budget} tokens of ${codec}: ${name}`,
        (count) => {
          const view = historyOf(read(count * factor))
          return () => void deriveContext(view, { budget })
        },
      ]
  }
  for (const [name, make, events] of streams) {
    yield [
      `joins ${name}`,
      (count) => {
        const given = events(count)
        return () => {
          const joined = make()
          for (const event of given) joined.take(event as never)
          void joined.body
        }
      },
    ]
    yield [
      `redacts ${name}`,
      (count) => {
        const given = events(count)
        return () => void redactedEvents(given as never, (text) => text.replace('x', 'y'))
      },
    ]
  }
  for (const [name, make] of files())
    yield [
      `reads ${name}`,
      (count) => {
        const file = make(count)
        return () => void readTranscript(file)
      },
    ]
}
