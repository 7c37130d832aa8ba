import type { BetaContentBlockParam, BetaMessageParam } from '@anthropic-ai/sdk/resources/beta/messages'
import type { ContentBlockParam, MessageCreateParams, MessageParam } from '@anthropic-ai/sdk/resources/messages'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  developer,
  faultMessage,
  file,
  image,
  mend,
  reasoning,
  settle,
  system,
  toolCall,
  toolResult,
  user,
  type Json,
  type JsonObject,
  type Message,
} from 'indelible'
import { provider, refusal } from 'indelible/message'
import { toolResultPart } from '../../src/message/internal.ts'
import type { BlockId } from '../../src/proof/internal.ts'
import { aiModelMessages } from '@indelible/codecs/ai-sdk'
import { anthropic, decodeResponse } from 'indelible/codecs/anthropic'
import { itShared, readShared, shared } from '../real-transcripts.ts'
import { expectFresh, expectLaw, expectLawUnderDamage, expectLawOfParts, decodeOrFail, write } from './law.ts'
import { readTranscript } from '@indelible/transcripts'
import type { Codec } from '../../src/codecs/codec.ts'

const cache_control = { type: 'ephemeral', ttl: '1h' } as const
const citations = [
  {
    type: 'char_location',
    cited_text: 'a',
    document_index: 0,
    document_title: null,
    start_char_index: 0,
    end_char_index: 1,
  },
] as const
const png = { type: 'base64', media_type: 'image/png', data: 'aGk=' } as const

/** One of every block type of the stable API, with each form its content takes. The types say that none is missing. */
const blocks = {
  text: [{ type: 'text', text: 'look', cache_control, citations: [...citations] }],
  image: [
    { type: 'image', source: png, cache_control, transformations: { oversized_image: 'error' } },
    { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    { type: 'image', source: { type: 'file', file_id: 'file_1' } },
  ],
  document: [
    {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' },
      title: 'a.pdf',
      context: 'a scan',
      citations: { enabled: true },
      cache_control,
    },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ünïcode 🙂' }, title: null },
    {
      type: 'document',
      source: {
        type: 'content',
        content: [
          { type: 'text', text: 'a' },
          { type: 'image', source: png },
        ],
      },
    },
    { type: 'document', source: { type: 'content', content: 'a' } },
    { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
    { type: 'document', source: { type: 'file', file_id: 'file_1' } },
  ],
  search_result: [
    {
      type: 'search_result',
      source: 'https://example.com',
      title: 't',
      content: [{ type: 'text', text: 'a' }],
      citations: { enabled: true },
    },
  ],
  thinking: [{ type: 'thinking', thinking: 'hm', signature: 'EqQBCkYIBRgC/+==' }],
  redacted_thinking: [{ type: 'redacted_thinking', data: 'EmwKAhgBEgy' }],
  tool_use: [
    {
      type: 'tool_use',
      id: 'toolu_1',
      name: 'f',
      input: { a: [1, { b: null }], ['__proto__']: 1 },
      caller: { type: 'direct' },
      cache_control,
    },
    { type: 'tool_use', id: 'toolu_2', name: 'click', input: {}, toolset_name: 'browser' },
  ],
  tool_result: [
    { type: 'tool_result', tool_use_id: 'toolu_1' },
    { type: 'tool_result', tool_use_id: 'toolu_1', content: 'no such file', is_error: true, cache_control },
    {
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      is_error: false,
      content: [
        { type: 'text', text: 'a', cache_control },
        { type: 'image', source: png },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' } },
        { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'a' }] },
        { type: 'tool_reference', tool_name: 'g' },
        { type: 'browser_state', tabs: [{ tab_id: '1', title: '', url: '', active: true }] },
      ],
    },
    { type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'text', text: 'a' }], toolset_name: 'browser' },
    { type: 'tool_result', tool_use_id: 'toolu_2', content: [] },
  ],
  server_tool_use: [{ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } }],
  web_search_tool_result: [
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [{ type: 'web_search_result', title: 't', url: 'u', encrypted_content: 'e', page_age: null }],
    },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
    },
  ],
  web_fetch_tool_result: [
    {
      type: 'web_fetch_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: {
        type: 'web_fetch_result',
        url: 'u',
        content: { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' } },
      },
    },
  ],
  code_execution_tool_result: [
    {
      type: 'code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'code_execution_result', content: [], return_code: 0, stderr: '', stdout: 'a' },
    },
    {
      type: 'code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: {
        type: 'encrypted_code_execution_result',
        content: [],
        return_code: 0,
        stderr: '',
        encrypted_stdout: 'a',
      },
    },
  ],
  bash_code_execution_tool_result: [
    {
      type: 'bash_code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: {
        type: 'bash_code_execution_result',
        content: [{ type: 'bash_code_execution_output', file_id: 'f' }],
        return_code: 0,
        stderr: '',
        stdout: '',
      },
    },
  ],
  text_editor_code_execution_tool_result: [
    {
      type: 'text_editor_code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'text_editor_code_execution_create_result', is_file_update: false },
    },
  ],
  tool_search_tool_result: [
    {
      type: 'tool_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: {
        type: 'tool_search_tool_search_result',
        tool_references: [{ type: 'tool_reference', tool_name: 'g' }],
      },
    },
  ],
  container_upload: [{ type: 'container_upload', file_id: 'file_1', cache_control }],
} satisfies { readonly [type in ContentBlockParam['type']]: (ContentBlockParam & { readonly type: type })[] }

/** What the beta API has beside them. */
const betaBlocks = {
  advisor_tool_result: [
    {
      type: 'advisor_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'advisor_redacted_result', encrypted_content: 'e' },
    },
  ],
  mcp_tool_use: [{ type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'f', server_name: 's', input: {} }],
  mcp_tool_result: [
    { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', is_error: false, content: [{ type: 'text', text: 'a' }] },
  ],
  mcp_tool_listing: [{ type: 'mcp_tool_listing', mcp_server_name: 's', tools: [{ name: 'f', input_schema: {} }] }],
  compaction: [{ type: 'compaction', content: 'in short', encrypted_content: null }],
  tool_addition: [{ type: 'tool_addition', tool: { type: 'tool_reference', name: 'f' } }],
  tool_removal: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'f' } }],
  fallback: [{ type: 'fallback', from: { model: 'a' }, to: { model: 'b' }, trigger: null }],
} satisfies {
  readonly [type in Exclude<BetaContentBlockParam['type'], ContentBlockParam['type']>]: (BetaContentBlockParam & {
    readonly type: type
  })[]
}

const everyBlock: readonly Json[] = [
  ...Object.values(blocks),
  ...Object.values(betaBlocks),
  { type: 'from_the_future', anything: [1] },
].flat() as unknown as Json[]

const call = (id: string, input: Json = {}): JsonObject => ({ type: 'tool_use', id, name: 'f', input })
const answer = (id: string, content: Json = 'ok'): JsonObject => ({ type: 'tool_result', tool_use_id: id, content })
const said = (text: string): JsonObject => ({ type: 'text', text })

/** Conversations in all the ways of putting blocks together, accepted and refused. */
const messages: readonly JsonObject[] = [
  { role: 'user', content: 'hi' },
  { role: 'user', content: [said('one block')] },
  { role: 'user', content: [said('a'), said('b')], new_field: { deep: 1 } },
  {
    role: 'assistant',
    content: [
      ...blocks.thinking,
      ...blocks.redacted_thinking,
      said('I look.'),
      call('c1'),
      call('c2', { a: 1 }),
    ] as unknown as Json,
  },
  { role: 'user', content: [answer('c2'), answer('c1', [said('a')])] },
  { role: 'assistant', content: [call('c3'), call('c4')] },
  { role: 'user', content: [answer('c3'), answer('c4'), said('and now?'), blocks.image[0] as unknown as Json] },
  { role: 'system', content: 'Be brief.' },
  { role: 'assistant', content: [call('c5'), call('c6')] },
  { role: 'user', content: [answer('c5')] },
  { role: 'user', content: [answer('c6')], marked: true },
  { role: 'user', content: 'apart' },
  {
    role: 'system',
    content: [{ ...said('Be kind.'), cache_control }, ...(betaBlocks.tool_addition as unknown as Json[])],
    clear_at: 'never',
  },
  { role: 'system', output_config: { effort: 'low' } },
  // What the API refuses.
  { role: 'assistant', content: [call('c7'), said('after the call'), answer('c7')] },
  { role: 'user', content: [said('before'), answer('c7'), said('between'), answer('c8')] },
  { role: 'user', content: [call('c9')] },
  { role: 'user', content: [said('a'), call('c9'), answer('c9'), call('c9')] },
  { role: 'user', content: [] },
  { role: 'user', content: '' },
  { role: 'user', content: [said(' \n')] },
  { role: 'assistant', content: [] },
  { role: 'assistant', content: [call('an.id|x', 'not an object'), call('', null), call('c10', [1])] },
  {
    role: 'user',
    content: [
      answer('an.id|x', ''),
      answer('', null),
      answer('c10', []),
      { type: 'tool_result', tool_use_id: 'c10', content: '', is_error: true },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'unsigned' },
      { type: 'thinking', thinking: '', signature: '{"id":"rs_1"}' },
    ],
  },
  {
    role: 'user',
    content: [
      ...blocks.thinking,
      { type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: '' } },
      { type: 'document', source: { type: 'url', url: 'file:///a' } },
    ] as unknown as Json,
  },
  {
    role: 'assistant',
    content: [
      { type: 'tool_use', id: 'c11', name: 'no name.' },
      { type: 'image', source: png },
    ],
  },
  {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c11', is_error: true, content: [{ type: 'image', source: png }] }],
  },
  { role: 'assistant', content: [said('ends in space ')] },
]

const everything: JsonObject = {
  system: [{ ...said('Be a test.'), cache_control }, said('')],
  messages: [...messages, { role: 'assistant', content: everyBlock }, { role: 'user', content: everyBlock }],
}

/** The law is about conversations: what of a request is listed as lost is not under it. */
const conversations: Codec<unknown> = {
  ...anthropic,
  decode: (wire) => {
    const decoded = anthropic.decode(wire)
    return isLeft(decoded) || decoded.right.losses.length === 0
      ? decoded
      : left({ _tag: 'UnexpectedWire', format: 'anthropic', path: [], expected: 'a conversation', found: 'more' })
  },
}

describe('the Anthropic codec', () => {
  it('round-trips every role, block, order and form, including unknown ones', () => {
    expectLaw(anthropic, everything)
    expectLawOfParts(anthropic, everything)
    for (const message of messages) expectLaw(anthropic, { messages: [message] })
    for (const [index] of messages.entries()) expectLaw(anthropic, { system: 's', messages: messages.slice(index) })
    for (const block of everyBlock)
      for (const role of ['user', 'assistant', 'system']) {
        expectLaw(anthropic, {
          messages: [
            { role: 'user', content: 'x' },
            { role, content: [block] },
          ],
        })
        expectLaw(anthropic, { messages: [{ role, content: [said('x'), block, said('y')] }] })
        expectLaw(anthropic, { messages: [{ role: 'user', content: [answer('c', [block])] }] })
      }
  })
  it.each<Json>([
    '',
    's',
    ' ',
    [],
    [said('s')],
    [said('')],
    [said('s'), said('t')],
    [{ ...said('s'), cache_control }],
    everyBlock,
  ])('round-trips the system prompt %j', (instructions) => {
    expectLaw(anthropic, { system: instructions, messages: [] })
    expectLaw(anthropic, {
      system: instructions,
      messages: [
        { role: 'system', content: 's' },
        { role: 'user', content: 'hi' },
      ],
    })
  })
  it('round-trips randomly damaged input', () => expectLawUnderDamage(conversations, everything))
  it('round-trips result turns in every arrangement under random damage', () => {
    expectLawUnderDamage(conversations, { messages: messages.slice(3, 12) })
    expectLawUnderDamage(conversations, { messages: messages.slice(14, 20) })
  })
  it('reads an array of messages as a conversation', () => {
    expect(write(anthropic, decodeOrFail(anthropic, messages))).toEqual({ wire: { messages }, losses: [] })
    const file = JSON.stringify({ system: 's', messages: messages.slice(0, 3) })
    expect(readTranscript(file)).toMatchObject({
      right: { format: 'anthropic', messages: [system('s'), user('hi'), {}, {}] },
    })
  })

  it('reads everything that the message model can express', () => {
    const found = decodeOrFail(anthropic, { system: 'Be a test.', messages: messages.slice(2, 7) })
    expect(found.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'tool', 'user'])
    expect(found[2]?.content).toEqual([
      { type: 'reasoning', text: 'hm', signature: 'EqQBCkYIBRgC/+==' },
      { type: 'reasoning', text: '', encrypted: 'EmwKAhgBEgy' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_call', id: 'c1', name: 'f', arguments: '{}' },
      { type: 'tool_call', id: 'c2', name: 'f', arguments: '{"a":1}' },
    ])
    expect(found[5]).toEqual({ role: 'tool', content: [toolResultPart('c3', 'ok'), toolResultPart('c4', 'ok')] })
    expect(found[6]?.meta).toEqual({ anthropic: { as: 'joined' } })
    const shown =
      decodeOrFail(anthropic, [{ role: 'user', content: [...blocks.image, ...blocks.document] as unknown as Json }])[0]
        ?.content ?? []
    expect(shown.map(({ type }) => type)).toEqual([
      'image',
      'image',
      'provider',
      'file',
      'file',
      'provider',
      'provider',
      'file',
      'provider',
    ])
    expect(shown[4]).toEqual({
      type: 'file',
      source: { type: 'base64', mediaType: 'text/plain', data: 'w7xuw69jb2RlIPCfmYI=' },
      meta: { anthropic: { fields: { title: null } } },
    })
  })

  it('leaves checking of results to settle', () => {
    const problems = (content: readonly Json[]): unknown => {
      const settled = settle(
        decodeOrFail(anthropic, [
          { role: 'user', content: 'go' },
          { role: 'assistant', content: [call('c1'), call('c2')] },
          { role: 'user', content },
        ]),
      )
      return isLeft(settled) && settled.left.problems.map(({ _tag, id }) => `${_tag} ${id}`)
    }
    expect(problems([answer('c2'), answer('c1'), said('thanks')])).toBe(false)
    expect(problems([said('first'), answer('c1'), answer('c2')])).toEqual([
      'ResultNotAdjacent c1',
      'ResultNotAdjacent c2',
    ])
    expect(problems([answer('c1'), answer('c1'), answer('c3')])).toEqual([
      'UnansweredCall c2',
      'DuplicateResult c1',
      'OrphanResult c3',
    ])
  })
  it('writes mended results directly after their calls', () => {
    const { messages: mended } = mend(
      decodeOrFail(anthropic, [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [call('c1')] },
        { role: 'user', content: [said('first'), answer('c1')] },
      ]),
    )
    expect(write(anthropic, mended).wire).toEqual({
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [call('c1')] },
        { role: 'user', content: [answer('c1')] },
        { role: 'user', content: 'first' },
      ],
    })
  })

  it('writes conversations from other formats: results together and first, calls last, instructions in place', () => {
    const { wire, losses } = write(anthropic, [
      system('s'),
      developer('d'),
      user(
        'u',
        image({ type: 'base64', mediaType: 'image/png', data: 'aGk=' }),
        file({ type: 'base64', mediaType: 'text/plain', data: 'aGk=' }, { name: 'a.txt' }),
      ),
      assistant(reasoning('hm', { signature: 'c2ln' }), 'a', toolCall('1', 'f', '{ "a" : 1 }'), toolCall('2', 'g', '')),
      toolResult('1', 'one'),
      toolResult('2', '', { isError: false }),
      system('now be brief'),
      system('please'),
      assistant(toolCall('3', 'h', '{}'), toolResultPart('3', 'by the provider'), 'then'),
      user('bye', file({ type: 'url', url: 'https://example.com/a.pdf' })),
    ])
    expect(losses).toEqual([
      { position: 1, path: ['role'], reason: 'Anthropic has no developer role: written as system' },
    ])
    expect(wire).toEqual({
      system: [said('s'), said('d')],
      messages: [
        {
          role: 'user',
          content: [
            said('u'),
            { type: 'image', source: png },
            { type: 'document', title: 'a.txt', source: { type: 'text', media_type: 'text/plain', data: 'hi' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
            said('a'),
            { type: 'tool_use', id: '1', name: 'f', input: { a: 1 } },
            { type: 'tool_use', id: '2', name: 'g', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: '1', content: 'one' },
            { type: 'tool_result', tool_use_id: '2', is_error: false },
          ],
        },
        { role: 'system', content: [said('now be brief'), said('please')] },
        { role: 'assistant', content: [{ type: 'tool_use', id: '3', name: 'h', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: '3', content: 'by the provider' }] },
        { role: 'assistant', content: 'then' },
        {
          role: 'user',
          content: [said('bye'), { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }],
        },
      ],
    })
    expectFresh(wire)
  })

  const lost = (list: readonly Message[], options?: Parameters<typeof anthropic.encode>[1]): readonly string[] => {
    const encoded = anthropic.encode(mend(list).messages, options)
    if (isLeft(encoded)) throw new Error(faultMessage(encoded.left))
    return encoded.right.losses.map(({ position, path, reason }) => `${position} ${path.join('.')}: ${reason}`)
  }

  it('lists the summary of reasoning that it can write', () => {
    const thought = (summary: readonly string[]) => assistant(reasoning('hm', { signature: 'c2ln', summary }), 'so')
    expect(lost([user('go'), thought(['s'])])).toEqual(['1 content.0.summary: Anthropic has no reasoning summaries'])
    expect(lost([user('go'), thought([])])).toEqual([])
  })

  it('lists every loss with path and reason', () => {
    const bmp = image({ type: 'base64', mediaType: 'image/bmp', data: 'aGk=' })
    const { wire, losses } = write(anthropic, [
      assistant(reasoning('unsigned'), reasoning('', { encrypted: 'e', summary: ['s'] }), refusal('no'), bmp),
      {
        ...user(
          '',
          bmp,
          file({ type: 'base64', mediaType: 'audio/wav', data: 'aGk=' }),
          file({ type: 'base64', mediaType: 'text/csv', data: 'aGk=' }),
          file({ type: 'url', url: 'u', mediaType: 'text/html' }),
          provider('acme', 1),
          reasoning('r', { signature: 'c2ln' }),
        ),
        id: 'm',
        name: 'ada',
      },
      system('hoisted?', bmp),
      user('no: moved'),
      assistant(
        toolCall('a.b', 'my tool', '{"n": 12345678901234567890, "s": "12345678901234567890"}'),
        toolCall('a|b', 'f', 'ls'),
        'after',
        toolCall('a_b', 'f', '{"n":1e999}'),
      ),
      toolResult('a.b', [{ type: 'text', text: '' }, bmp], { isError: true }),
      {
        role: 'tool',
        content: [{ type: 'text', text: 'says' }, toolResultPart('a|b', ' '), toolResultPart('a_b', [bmp])],
      },
      assistant('so', reasoning('at the end', { signature: 'c2ln' })),
      system('late'),
      assistant(),
      user('  '),
      { ...assistant('bye \n'), meta: { 'openai-chat': { fields: { refusal: null } } } },
    ])
    expect(losses.map(({ position, path, reason }) => `${position} ${path.join('.')}: ${reason}`)).toEqual([
      '0 content.0: Anthropic only accepts reasoning with its own signature',
      '0 content.1.encrypted: is for another provider',
      '0 content.1: Anthropic only accepts reasoning with its own signature',
      '0 content.2: Anthropic has no refusal type: written as text',
      '0 content.3: Anthropic accepts images and files only from the user',
      '0 : an Anthropic conversation must start with the user: "(start)" is inserted before it',
      '1 id: Anthropic messages have no id',
      '1 name: Anthropic messages have no name',
      '1 content.0: Anthropic does not accept empty text',
      '1 content.1: Anthropic does not accept image/bmp',
      '1 content.2: Anthropic does not accept audio/wav',
      '1 content.3.source.mediaType: is text/csv: written as text/plain',
      '1 content.4: Anthropic does not fetch text/html',
      '1 content.5: is known only to acme',
      '1 content.6: only the assistant can have thinking',
      '2 content.1: Anthropic instructions can only be text',
      '2 : Anthropic accepts instructions only between user and assistant: moved after the next user message',
      '4 content.0.id: must consist of letters, digits, _ and - and be unique: written as a_b_108bf50c',
      '4 content.0.name: must consist of 1 to 128 letters, digits, _ and -: written as my_tool',
      '4 content.0.arguments: n is 12345678901234567890: read as 12345678901234567000',
      '4 content.1.id: must consist of letters, digits, _ and - and be unique: written as a_b_294c7dd6',
      '4 content.1.arguments: are not a JSON object: written as { "arguments": … }',
      '4 content.3.arguments: n is 1e999, which is out of range: read as null',
      '4 content.2: comes after a call; Anthropic requires calls last',
      '5 content.0.content.1: an Anthropic error result can only hold text',
      '5 content.0.content: an Anthropic error result must not be empty: written as "error"',
      '6 content.1.content.0: Anthropic does not accept empty text',
      '6 content.2.content.0: Anthropic does not accept image/bmp',
      "6 content.0: is next to results: written as the user's",
      '6 content.0: comes before a result; Anthropic requires results first',
      '7 content.1: Anthropic does not accept messages that end in thinking',
      "8 : Anthropic accepts instructions only after a user message: written as the user's",
      '9 content: Anthropic does not accept empty messages',
      '10 content.0: Anthropic does not accept empty text',
      '11 meta.openai-chat: is known only to openai-chat',
      '11 content.0.text: the last assistant text must not end in white space: trimmed',
    ])
    expect(wire).toMatchObject({
      messages: [
        { role: 'user', content: '(start)' },
        { role: 'assistant', content: 'no' },
        { role: 'user' },
        { role: 'user', content: 'no: moved' },
        { role: 'system', content: 'hoisted?' },
        {
          role: 'assistant',
          content: [
            said('after'),
            { id: 'a_b_108bf50c', name: 'my_tool' },
            { id: 'a_b_294c7dd6', input: { arguments: 'ls' } },
            { id: 'a_b', input: { n: null } },
          ],
        },
        {
          role: 'user',
          content: [
            { tool_use_id: 'a_b_108bf50c', content: 'error', is_error: true },
            { tool_use_id: 'a_b_294c7dd6' },
            { tool_use_id: 'a_b' },
            said('says'),
          ],
        },
        { role: 'assistant', content: 'so' },
        { role: 'user', content: 'late' },
        { role: 'assistant', content: 'bye' },
      ],
    })
    expect(wire).not.toHaveProperty('system')
  })

  it('rewrites content that the API refuses when `allow` asks for it', () => {
    const refused = decodeOrFail(anthropic, [
      { role: 'assistant', content: [call('a.b', 'ls'), said('after')] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a.b', content: '', is_error: true }] },
      { role: 'system', content: '' },
      { role: 'assistant', content: 'bye ', id: 'msg_1' },
    ])
    expect(lost(refused)).toEqual([])
    expect(lost(refused, { exact: false })).toHaveLength(8)
    expect(anthropic.encode(mend(refused).messages, { exact: false })).toMatchObject({
      right: {
        wire: {
          messages: [
            { role: 'user', content: '(start)' },
            {
              role: 'assistant',
              content: [
                said('after'),
                { type: 'tool_use', id: 'a_b_108bf50c', name: 'f', input: { arguments: '"ls"' } },
              ],
            },
            {
              role: 'user',
              content: [{ type: 'tool_result', tool_use_id: 'a_b_108bf50c', content: 'error', is_error: true }],
            },
            { role: 'assistant', content: 'bye' },
          ],
        },
      },
    })
  })

  it('keeps its reasoning through the AI SDK format and back', () => {
    const wire = {
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [...blocks.thinking, ...blocks.redacted_thinking, said('so')] },
      ],
    }
    const live = write(aiModelMessages, decodeOrFail(anthropic, wire))
    expect(live.losses).toEqual([])
    expect(write(anthropic, decodeOrFail(aiModelMessages, live.wire))).toEqual({ wire, losses: [] })
  })

  it('gives a call and its result the same id even when one is added later', () => {
    const [begin, called] = decodeOrFail(anthropic, [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [call('call.1')] },
    ]) as [Message, Message]
    expect(write(anthropic, [begin, called, toolResult('call.1', 'late')]).wire).toMatchObject({
      messages: [{}, { content: [{ id: 'call.1' }] }, { content: [{ tool_use_id: 'call.1' }] }],
    })
  })

  it('inlines given block contents and names the missing block', () => {
    const id = 'a'.repeat(64) as BlockId
    const { messages: stored } = mend([user(image({ type: 'block', id }))])
    const missing = anthropic.encode(stored)
    expect(missing._tag === 'Left' && faultMessage(missing.left)).toMatch(
      /^content\[0\]\.source of the message at position 0 is the stored block a{64}/,
    )
    expect(anthropic.encode(stored, { block: () => ({ data: 'aGk=', mediaType: 'image/png' }) })).toMatchObject({
      right: { wire: { messages: [{ content: [{ source: png }] }] } },
    })
  })

  it('reads lone surrogates and out-of-range numbers, and lists them with fields beside the conversation', () => {
    expect(
      anthropic.decode({ model: 'm', messages: [{ role: 'user', content: 'cut \ud83d', n: Infinity }], tools: [] }),
    ).toEqual({
      _tag: 'Right',
      right: {
        messages: [
          {
            role: 'user',
            content: [{ type: 'text', text: 'cut \ufffd' }],
            meta: { anthropic: { fields: { n: null } } },
          },
        ],
        losses: [
          { position: 0, path: ['model'], reason: 'belongs to the request, not to the conversation' },
          { position: 0, path: ['tools'], reason: 'belongs to the request, not to the conversation' },
          {
            position: 0,
            path: ['content'],
            reason: 'has half a surrogate pair, which is no character: read as U+FFFD',
          },
          { position: 0, path: ['n'], reason: 'is a number out of range (Infinity): read as null' },
        ],
      },
    })
  })

  it('reports unreadable input with its path', () => {
    const output = (wire: unknown, decode: typeof anthropic.decode = anthropic.decode): string => {
      const decoded = decode(wire)
      return decoded._tag === 'Left' ? faultMessage(decoded.left) : 'fine'
    }
    expect(output('hi')).toBe(
      'the entry should be an object with messages, or an array of them, found "hi" (read as anthropic)',
    )
    expect(output({ content: [] })).toMatch(/^role should be "assistant", found nothing/)
    expect(output({})).toMatch(/^messages should be an array, found nothing/)
    expect(output({ system: null, messages: [] })).toMatch(
      /^system should be a string or an array of blocks, found null/,
    )
    expect(output([{ role: 'tool', content: '' }])).toMatch(
      /^\[0\]\.role should be "user", "assistant" or "system", found "tool"/,
    )
    expect(output({ messages: [{ role: 'user', content: [1] }] })).toMatch(
      /^messages\[0\]\.content\[0\] should be an object, found 1/,
    )
    expect(
      output([{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text' }] }] }]),
    ).toMatch(/^\[0\]\.content\[0\]\.content\[0\]\.text should be a string, found nothing/)
    expect(output([{ role: 'assistant', content: [{ type: 'tool_use', id: 1 }] }])).toMatch(
      /^\[0\]\.content\[0\]\.id should be a string, found 1/,
    )
    expect(output([new Date()])).toBe('[0] is an instance of Date; expected plain JSON data (read as anthropic)')
    const revoked = Proxy.revocable([], {})
    revoked.revoke()
    expect(output(revoked.proxy)).toMatch(/expected plain JSON data/)
    expect(output({ role: 'user', content: [] }, decodeResponse)).toMatch(/^role should be "assistant", found "user"/)
    expect(output({ role: 'assistant', content: 'x' }, decodeResponse)).toMatch(
      /^content should be an array, found "x"/,
    )
  })

  it("produces the types of the SDK's stable and beta APIs", () => {
    const { messages: settled } = mend([system('s'), user('hi')])
    const encoded = anthropic.encode(settled)
    if (isLeft(encoded)) throw new Error(faultMessage(encoded.left))
    const { wire } = encoded.right
    const request: MessageCreateParams = { model: 'claude-opus-5', max_tokens: 1, ...wire }
    const stable: MessageParam[] = wire.messages
    const beta: BetaMessageParam[] = wire.messages
    expect([request.system, stable, beta]).toEqual([
      's',
      [{ role: 'user', content: 'hi' }],
      [{ role: 'user', content: 'hi' }],
    ])
    // @ts-expect-error only a settled sequence can become a request
    void anthropic.encode([user('hi')])
  })
})

describe('an Anthropic response', () => {
  const body = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    model: 'm',
    stop_reason: 'tool_use',
    usage: { input_tokens: 1 },
    content: [said(''), call('c1'), said('after')],
  }
  const readResponse = (wire: unknown): Message => {
    const decoded = decodeResponse(wire)
    if (isLeft(decoded)) throw new Error(faultMessage(decoded.left))
    return decoded.right.messages[0] as Message
  }

  it('is recorded completely, with the other fields of the body', () => {
    const message = readResponse(body)
    expect(message).toMatchObject({
      role: 'assistant',
      id: 'msg_1',
      content: [{ text: '' }, { id: 'c1' }, { text: 'after' }],
    })
    expect(message.meta).toEqual({
      'anthropic-response': { type: 'message', model: 'm', stop_reason: 'tool_use', usage: { input_tokens: 1 } },
    })
    expect(Object.isFrozen(message.meta?.['anthropic-response'])).toBe(true)
  })
  it('is sent back without response-only fields', () => {
    const { wire, losses } = write(anthropic, [user('go'), readResponse(body), toolResult('c1', 'ok')])
    expect(wire).toEqual({
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [said('after'), call('c1')] },
        { role: 'user', content: [answer('c1')] },
      ],
    })
    expect(losses.map(({ path }) => path.join('.'))).toEqual(['content.0', 'content.2'])
  })
  itShared('that was recorded comes back block for block', () => {
    const names = readdirSync(shared('wire/anthropic-messages')).filter((name) => name.endsWith('.json'))
    expect(names.length).toBeGreaterThan(20)
    for (const name of names) {
      const recorded = JSON.parse(readShared(`wire/anthropic-messages/${name}`)) as {
        readonly content: readonly Json[]
        readonly id: string
        readonly model: string
        readonly role: string
      }
      const message = readResponse(recorded)
      const { content, id, role, ...rest } = recorded
      expect([message.id, message.role, message.meta?.['anthropic-response']]).toEqual([id, role, rest])
      // A refusal may have no content: there is nothing to send back.
      const back = content.length === 0 ? [] : [{ role, content }]
      expect([name, write(anthropic, [user('go'), message]).wire]).toEqual([
        name,
        { messages: [{ role: 'user', content: 'go' }, ...back] },
      ])
      expect(write(anthropic, [user('go'), message]).losses).toHaveLength(1 - back.length)
      expectLaw(anthropic, {
        messages: [
          { role: 'user', content: 'go' },
          { role, content },
        ],
      })
      expect(readTranscript(JSON.stringify(recorded))).toMatchObject({
        right: { format: 'anthropic', messages: [message] },
      })
    }
  })
})

it.each([
  ['a text', [{ type: 'text', text: 'no such file' }]],
  ['an image', [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }]],
  ['a text and an image', [{ type: 'text', text: 'no' }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }]], // oxfmt-ignore
  ['a blank text', [{ type: 'text', text: ' ' }]],
  ['nothing', []],
])('an error result with %s is written as it was read', (_, content) => {
  for (const is_error of [true, false])
    expectLaw(anthropic, {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'go' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', is_error, content }] },
      ],
    })
})
