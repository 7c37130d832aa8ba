/** Parts that only one provider knows, through each provider's own client: recorded, shown live, and loaded again. */
import { Anthropic } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import { OpenAI } from 'openai'
import { expect, it } from 'vitest'
import { memoryStore } from 'indelible'
import { turn, type Model } from 'indelible/run'
import { anthropicModel } from 'indelible/run/anthropic'
import { geminiModel } from 'indelible/run/gemini'
import { openaiChatModel, openaiResponsesModel } from 'indelible/run/openai'
import { chatStore, toUIMessageStream } from '@indelible/ai-sdk'
import { aiUiMessages } from '@indelible/codecs/ai-sdk'
import { providerServer, type Reply } from '../../../test/run/provider-server.ts'

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const check = async (
  name: string,
  reply: Reply,
  modelAt: (url: string) => Model,
  parts: readonly string[],
): Promise<void> => {
  const server = await providerServer(() => reply)
  const { createChat, loadChat, openChat, saveChat } = chatStore(memoryStore())
  const id = await createChat()
  const session = await openChat(id)
  const run = turn(session, 'hi', { model: modelAt(server.url) })
  const chunks: UIMessageChunk[] = []
  const [seen, shown] = toUIMessageStream(run).tee()
  const reading = (async () => {
    for await (const chunk of seen as unknown as AsyncIterable<UIMessageChunk>) chunks.push(chunk)
  })()
  let page: UIMessage | undefined
  for await (const message of readUIMessageStream({ stream: shown, terminateOnError: true })) page = message
  await reading
  await server.close()
  const chat = await loadChat(id)
  const kinds = (chat.at(-1)?.parts ?? []).flatMap((part) =>
    part.type === 'step-start'
      ? []
      : [part.type.startsWith('tool-') && 'state' in part ? `${part.type} ${part.state}` : part.type],
  )
  expect([name, kinds]).toEqual([name, parts])
  expect(asJson(page)).toEqual(asJson(chat.at(-1)))
  expect([name, chunks.some(({ type }) => type === 'reset-step')]).toEqual([name, false]) // each part once
  const { size } = session.head()
  await saveChat({ chatId: id, messages: chat }) // a page's own copy changes nothing
  const after = await openChat(id)
  expect([name, after.head().size]).toEqual([name, size])
  const encoded = aiUiMessages.encode(after.conversation(), { allow: 'unsettled' })
  const own = after
    .conversation()
    .toArray()
    .flatMap(({ content }) => content.filter(({ type }) => type === 'provider'))
  const losses = encoded._tag === 'Right' ? encoded.right.losses : []
  expect([name, losses.length >= own.length]).toEqual([name, true]) // what a page can't have is listed
}

const b = (index: number, content: object, ...deltas: object[]) => [
  { type: 'content_block_start', index, content_block: content },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]
it('shows live what loadChat gives: the tools that the provider ran, its images and its sources', async () => {
  await check(
    'anthropic',
    {
      events: [
        {
          type: 'message_start',
          message: {
            id: 'm',
            type: 'message',
            role: 'assistant',
            model: 'c',
            content: [],
            stop_reason: null,
            usage: { input_tokens: 1, output_tokens: 1 },
          },
        },
        ...b(
          0,
          { type: 'server_tool_use', id: 'srv1', name: 'web_search', input: {} },
          { type: 'input_json_delta', partial_json: '{"query":"argo"}' },
        ),
        ...b(1, {
          type: 'web_search_tool_result',
          tool_use_id: 'srv1',
          content: [
            {
              type: 'web_search_result',
              url: 'https://a.example/x',
              title: 'Argo',
              encrypted_content: 'zzz',
              page_age: null,
            },
          ],
        }),
        ...b(
          2,
          { type: 'text', text: '', citations: [] },
          {
            type: 'citations_delta',
            citation: {
              type: 'web_search_result_location',
              cited_text: 'Argo',
              url: 'https://a.example/x',
              title: 'Argo',
              encrypted_index: 'q',
            },
          },
          { type: 'text_delta', text: 'The Argo.' },
        ),
        { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
        { type: 'message_stop' },
      ].map((e) => JSON.stringify(e)),
    },
    (url) => anthropicModel(new Anthropic({ apiKey: 'k', baseURL: url, maxRetries: 0 }), { model: 'c' }),
    ['tool-web_search output-available', 'text', 'source-url'],
  )
  const msg = {
    type: 'message',
    id: 'msg1',
    role: 'assistant',
    status: 'completed',
    content: [
      {
        type: 'output_text',
        text: 'The Argo.',
        annotations: [
          { type: 'url_citation', url: 'https://a.example/x', title: 'Argo', start_index: 0, end_index: 3 },
        ],
      },
    ],
  }
  const ws = { type: 'web_search_call', id: 'ws1', status: 'completed', action: { type: 'search', query: 'argo' } }
  const img = { type: 'image_generation_call', id: 'ig1', status: 'completed', result: 'iVBORw0KGgo=' }
  await check(
    'responses',
    {
      events: [
        { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
        { type: 'response.output_item.added', output_index: 0, item: { ...ws, status: 'in_progress' } },
        { type: 'response.output_item.done', output_index: 0, item: ws },
        { type: 'response.output_item.added', output_index: 1, item: { ...img, status: 'in_progress', result: null } },
        { type: 'response.output_item.done', output_index: 1, item: img },
        { type: 'response.output_item.added', output_index: 2, item: { ...msg, content: [] } },
        {
          type: 'response.content_part.added',
          output_index: 2,
          content_index: 0,
          item_id: 'msg1',
          part: { type: 'output_text', text: '', annotations: [] },
        },
        { type: 'response.output_text.delta', output_index: 2, content_index: 0, item_id: 'msg1', delta: 'The Argo.' },
        {
          type: 'response.content_part.done',
          output_index: 2,
          content_index: 0,
          item_id: 'msg1',
          part: msg.content[0],
        },
        { type: 'response.output_item.done', output_index: 2, item: msg },
        {
          type: 'response.completed',
          response: {
            id: 'r',
            model: 'gpt',
            status: 'completed',
            output: [ws, img, msg],
            usage: { input_tokens: 1, output_tokens: 1 },
          },
        },
      ].map((e, sequence_number) => JSON.stringify({ ...e, sequence_number })),
    },
    (url) => openaiResponsesModel(new OpenAI({ apiKey: 'k', baseURL: url, maxRetries: 0 }), { model: 'gpt' }),
    ['tool-web_search output-available', 'tool-image_generation output-available', 'file', 'text', 'source-url'],
  )
  await check(
    'gemini',
    {
      events: [
        JSON.stringify({
          candidates: [
            {
              content: {
                role: 'model',
                parts: [
                  { text: 'The Argo.' },
                  { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
                  { executableCode: { language: 'PYTHON', code: 'print(1)' } },
                  { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
                ],
              },
              finishReason: 'STOP',
              groundingMetadata: {
                groundingChunks: [{ web: { uri: 'https://a.example/x', title: 'Argo' } }],
                groundingSupports: [],
              },
            },
          ],
          usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
          modelVersion: 'g',
        }),
      ],
    },
    (url) => geminiModel(new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: url } }), { model: 'gemini-3-pro' }),
    ['text', 'file', 'tool-code_execution output-available', 'source-url'],
  )
  const cc = (delta: object, finish: string | null = null) =>
    JSON.stringify({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'gpt',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
  await check(
    'chat',
    {
      events: [
        cc({ role: 'assistant', content: 'The ' }),
        cc({ content: 'Argo.' }),
        cc({
          annotations: [
            {
              type: 'url_citation',
              url_citation: { url: 'https://a.example/x', title: 'Argo', start_index: 0, end_index: 3 },
            },
          ],
        }),
        cc({}, 'stop'),
        JSON.stringify({
          id: 'c',
          object: 'chat.completion.chunk',
          created: 1,
          model: 'gpt',
          choices: [],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        }),
      ],
    },
    (url) => openaiChatModel(new OpenAI({ apiKey: 'k', baseURL: url, maxRetries: 0 }), { model: 'gpt' }),
    ['text', 'source-url'],
  )
}, 30_000)
