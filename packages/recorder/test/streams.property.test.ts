/**
 * A random answer, streamed by a random server, is read as the same message as the whole answer. The servers are those
 * that people use: they repeat names and ids, leave out indexes, events or the last list, and send lists in pieces.
 */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Message } from 'indelible'
import { rounds } from '../../../test/rounds.ts'
import { AnswerReader, type RecordedAnswer } from '../src/answers/answer.ts'
import { apis, type RecordedApi } from '../src/apis/index.ts'

type Fields = { readonly [field: string]: unknown }

const reads = (api: RecordedApi, body: string, contentType: string, sizes: readonly number[]): RecordedAnswer => {
  const reader = new AnswerReader(apis.find(({ name }) => name === api) as never, contentType)
  const bytes = new TextEncoder().encode(body)
  for (let from = 0, at = 0; from < bytes.length; at++) {
    const size = sizes[at % sizes.length] as number
    reader.take(bytes.subarray(from, from + size))
    from += size
  }
  return reader.end()
}

/** The events as a server writes them: with or without names, comments and carriage returns. */
const written = (events: readonly (object | string)[], { named, crlf, comments, space }: Framing): string => {
  const end = crlf ? '\r\n' : '\n'
  return events
    .map((event) => {
      const data = typeof event === 'string' ? event : JSON.stringify(event)
      const name = named && typeof event === 'object' ? `event: ${String((event as Fields)['type'])}${end}` : ''
      return `${comments ? `: keep-alive${end}${end}` : ''}${name}data:${space ? ' ' : ''}${data}${end}${end}`
    })
    .join('')
}

interface Framing {
  readonly named: boolean
  readonly crlf: boolean
  readonly comments: boolean
  readonly space: boolean
  readonly sizes: readonly number[]
  readonly contentType: string
}

const framing: fc.Arbitrary<Framing> = fc.record({
  named: fc.boolean(),
  crlf: fc.boolean(),
  comments: fc.boolean(),
  space: fc.boolean(),
  sizes: fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }),
  contentType: fc.constantFrom(
    'text/event-stream',
    'text/event-stream; charset=utf-8',
    'text/plain',
    'application/json',
  ),
})

/** Texts with what tells JSON apart in them, so that pieces may look like a beginning or an end. */
const text = fc.string({
  unit: fc.constantFrom('a', 'ö', '😀', '{', '}', '"', '\\', ' ', '\n', ':'),
  minLength: 1,
  maxLength: 12,
})
const input = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,4}$/),
  fc.oneof(text, fc.integer(), fc.boolean(), fc.record({ x: text })),
  { maxKeys: 3 },
)
const calls = fc.array(fc.record({ name: fc.constantFrom('weather', 'wea', 'read_file'), input }), { maxLength: 4 })
/** Cuts for a text, as shares of its length. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 })

const pieces = (whole: string, shares: readonly number[]): readonly string[] => {
  const letters = [...whole]
  const at = [...new Set(shares.map((share) => Math.floor(share * letters.length)))].toSorted((a, b) => a - b)
  return [0, ...at].map((from, index) => letters.slice(from, at[index] ?? letters.length).join(''))
}

const expectSame = (api: RecordedApi, whole: object, events: readonly (object | string)[], frame: Framing): void => {
  const expected = reads(api, JSON.stringify(whole), 'application/json', [1 << 20])
  const streamed = reads(api, written(events, frame), frame.contentType, frame.sizes)
  expect(expected.error).toBeUndefined()
  const comparable = ({ messages, whole: isWhole, usage, stop, error }: RecordedAnswer) => ({
    messages,
    isWhole,
    usage,
    stop,
    error,
  })
  expect(comparable(streamed)).toEqual(comparable(expected))
  // Cut before its end, no call, text or reasoning is invented or torn from its place.
  const cut = reads(api, written(events.slice(0, Math.ceil(events.length / 2)), frame), frame.contentType, frame.sizes)
  if (!cut.whole) expect(textOf(expected.messages)).toContain(textOf(cut.messages))
  if (!cut.whole) for (const message of cut.messages) expect(message.meta?.['indelible']).toEqual({ interrupted: true })
}

const textOf = (messages: readonly Message[]): string =>
  messages.flatMap(({ content }) => content.map((part) => (part.type === 'text' ? part.text : ''))).join('')

const runs = rounds(150, 4000)
const given = { numRuns: runs }

it(`${runs} answers of Chat Completions`, () => {
  fc.assert(
    fc.property(
      fc.record({
        content: fc.option(text),
        reasoning: fc.option(text),
        refusal: fc.option(text),
        calls,
        list: fc.boolean(),
        details: fc.array(text, { maxLength: 3 }),
        images: fc.nat(2),
      }),
      fc.record({
        index: fc.constantFrom('right', 'zero', 'none', 'from 1', 'gaps', 'text'),
        id: fc.constantFrom('once', 'always', 'then empty', 'none'),
        name: fc.constantFrom('once', 'always'),
        type: fc.boolean(),
        role: fc.constantFrom('once', 'always', 'never'),
        blank: fc.boolean(),
        together: fc.boolean(),
        usage: fc.constantFrom('last', 'choice', 'every', 'with zeros'),
        reason: fc.constantFrom('own chunk', 'last chunk', 'empty before'),
        choice: fc.constantFrom(0, undefined, null),
      }),
      cuts,
      framing,
      ({ content, reasoning, refusal, calls: made, list, details, images }, server, at, frame) => {
        // Without ids and indexes, or with one index, only complete arguments tell calls apart.
        const hasIds = server.id !== 'none'
        const toolCalls = made.map(({ name, input: args }, place) => ({
          ...(hasIds && { id: `call_${place}` }),
          type: 'function',
          function: { name, arguments: JSON.stringify(args) },
        }))
        const parts =
          list && content !== null
            ? [
                { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
                { type: 'text', text: content },
              ]
            : undefined
        const reasoningDetails = details.map((detail, index) => ({
          type: 'reasoning.text',
          index,
          text: detail,
          format: 'anthropic-claude-v1',
        }))
        const pictures = Array.from({ length: images }, (_, place) => ({
          type: 'image_url',
          image_url: { url: `data:image/png;base64,${'AAAA'.repeat(place + 1)}` },
        }))
        const message = {
          role: 'assistant',
          content: parts ?? content,
          ...(reasoning !== null && { reasoning_content: reasoning }),
          ...(refusal !== null && { refusal }),
          ...(reasoningDetails.length > 0 && { reasoning_details: reasoningDetails }),
          ...(pictures.length > 0 && { images: pictures }),
          ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
        }
        const usage = { prompt_tokens: 9, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } }
        const zeros = { prompt_tokens: 0, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 0 } }
        const reason = toolCalls.length > 0 ? 'tool_calls' : 'stop'
        const whole = { id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: reason }], usage }
        const deltas: object[] = []
        if (server.blank) deltas.push({ role: 'assistant', content: '' })
        if (reasoning !== null) for (const piece of pieces(reasoning, at)) deltas.push({ reasoning_content: piece })
        for (const { text: output, ...rest } of reasoningDetails)
          for (const piece of pieces(output, at)) deltas.push({ reasoning_details: [{ ...rest, text: piece }] })
        if (parts !== undefined)
          deltas.push(
            { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'h' }] }] },
            { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'm' }] }] },
          )
        if (content !== null)
          for (const piece of pieces(content, at))
            deltas.push({ content: list && piece !== '' ? [{ type: 'text', text: piece }] : piece })
        if (refusal !== null) for (const piece of pieces(refusal, at)) deltas.push({ refusal: piece })
        for (const picture of pictures) deltas.push({ images: [picture] })
        const indexOf = (place: number): unknown =>
          ({ right: place, zero: 0, none: undefined, 'from 1': place + 1, gaps: place * 3 + 2, text: String(place) })[
            server.index
          ]
        const callPieces = toolCalls.map((call, place) => {
          const split = server.together ? [call.function.arguments] : pieces(call.function.arguments, at)
          return split.flatMap((args, nth) => {
            const first = nth === 0
            const id = hasIds
              ? first || server.id === 'always'
                ? call.id
                : server.id === 'then empty'
                  ? ''
                  : undefined
              : undefined
            return [
              {
                ...{ index: indexOf(place), id },
                ...(server.type && first && { type: 'function' }),
                function: { ...((first || server.name === 'always') && { name: call.function.name }), arguments: args },
              },
            ]
          })
        })
        if (server.together && callPieces.length > 0) deltas.push({ tool_calls: callPieces.flat() })
        else for (const piece of callPieces.flat()) deltas.push({ tool_calls: [piece] })
        const chunks = deltas.flatMap((delta, place) => [
          {
            ...{ id: 'c', model: 'm', object: 'chat.completion.chunk' },
            ...(server.usage === 'every' && { usage }),
            choices: [
              {
                index: server.choice,
                delta: {
                  ...(server.role === 'always' || (server.role === 'once' && place === 0) ? { role: 'assistant' } : {}),
                  ...delta,
                },
                finish_reason:
                  server.reason === 'last chunk' && place === deltas.length - 1
                    ? reason
                    : server.reason === 'empty before'
                      ? ''
                      : null,
              },
            ],
          },
        ])
        const last = { index: server.choice, delta: {}, finish_reason: reason }
        const end =
          server.usage === 'choice'
            ? [{ id: 'c', model: 'm', choices: [{ ...last, usage }] }]
            : [
                { id: 'c', model: 'm', choices: [last], usage: null },
                { id: 'c', model: 'm', choices: [], usage },
                ...(server.usage === 'with zeros' ? [{ id: 'c', model: 'm', choices: [], usage: zeros }] : []),
              ]
        expectSame('openai-chat', whole, [...chunks, ...end, '[DONE]'], frame)
      },
    ),
    given,
  )
})

it(`${runs} answers of Responses`, () => {
  const item = fc.oneof(
    fc.record({
      type: fc.constant('message' as const),
      texts: fc.array(text, { minLength: 1, maxLength: 2 }),
      refusal: fc.option(text),
    }),
    fc.record({
      type: fc.constant('reasoning' as const),
      summary: fc.array(text, { maxLength: 2 }),
      content: fc.option(text),
    }),
    fc.record({ type: fc.constant('function_call' as const), name: fc.constantFrom('weather', 'read'), input }),
    fc.record({ type: fc.constant('custom_tool_call' as const), name: fc.constantFrom('patch'), input: text }),
  )
  fc.assert(
    fc.property(
      fc.array(item, { minLength: 1, maxLength: 4 }),
      fc.record({
        added: fc.boolean(),
        done: fc.boolean(),
        partDone: fc.boolean(),
        output: fc.constantFrom('whole', 'empty', 'none', 'null'),
        index: fc.constantFrom('right', 'from 1', 'none'),
        ids: fc.constantFrom('right', 'none', 'always others'),
        created: fc.boolean(),
      }),
      cuts,
      framing,
      (items, server, at, frame) => {
        const ids = server.ids !== 'always others' || server.index === 'none'
        // Without an index and an id, an event can only be about the last item.
        const output = items.map((item, place): Fields => {
          const id = `item_${place}`
          if (item.type === 'message') {
            const said = item.texts.map((part) => ({ type: 'output_text', text: part, annotations: [] }))
            const refused = item.refusal === null ? [] : [{ type: 'refusal', refusal: item.refusal }]
            return { id, type: 'message', role: 'assistant', status: 'completed', content: [...said, ...refused] }
          }
          if (item.type === 'reasoning')
            return {
              ...{ id, type: 'reasoning', summary: item.summary.map((part) => ({ type: 'summary_text', text: part })) },
              ...(item.content !== null && { content: [{ type: 'reasoning_text', text: item.content }] }),
            }
          if (item.type === 'custom_tool_call')
            return {
              id,
              type: item.type,
              call_id: `call_${place}`,
              name: item.name,
              input: item.input,
              status: 'completed',
            }
          return {
            id,
            type: item.type,
            call_id: `call_${place}`,
            name: item.name,
            arguments: JSON.stringify(item.input),
            status: 'completed',
          }
        })
        // A server must say a call's name in one place, at least.
        const hasAdded = server.added || !server.done
        const events: object[] = []
        const response = { id: 'r', model: 'm', status: 'in_progress', output: [] }
        if (server.created) events.push({ type: 'response.created', response })
        let other = 0
        for (const [place, whole] of output.entries()) {
          const about = (): object => ({
            ...(server.index !== 'none' && { output_index: server.index === 'right' ? place : place + 1 }),
            ...(server.ids !== 'none' && { item_id: ids ? whole['id'] : `other_${other++}` }),
          })
          const { item_id: _id, ...where } = about() as Fields
          const event = (type: string, more: object): void =>
            void events.push({ type: `response.${type}`, ...about(), ...more })
          const parts = (whole['content'] ?? []) as readonly Fields[]
          if (hasAdded) {
            const {
              content: _content,
              summary: _summary,
              arguments: _arguments,
              input: _input,
              status,
              ...rest
            } = whole
            const skeleton = {
              ...rest,
              ...(status !== undefined && { status: 'in_progress' }),
              ...(whole['type'] === 'message' && { content: [] }),
              ...(whole['type'] === 'reasoning' && { summary: [] }),
              ...(whole['type'] === 'function_call' && { arguments: '' }),
              ...(whole['type'] === 'custom_tool_call' && { input: '' }),
            }
            events.push({ type: 'response.output_item.added', ...where, item: skeleton })
          }
          for (const [nth, part] of parts.entries()) {
            const kind =
              part['type'] === 'refusal'
                ? 'refusal'
                : part['type'] === 'reasoning_text'
                  ? 'reasoning_text'
                  : 'output_text'
            const field = kind === 'refusal' ? 'refusal' : 'text'
            event('content_part.added', { content_index: nth, part: { ...part, [field]: '' } })
            for (const delta of pieces(String(part[field]), at)) event(`${kind}.delta`, { content_index: nth, delta })
            if (server.partDone) event(`${kind}.done`, { content_index: nth, [field]: part[field] })
            if (server.partDone) event('content_part.done', { content_index: nth, part })
          }
          for (const [nth, part] of ((whole['summary'] ?? []) as readonly Fields[]).entries()) {
            event('reasoning_summary_part.added', { summary_index: nth, part: { type: 'summary_text', text: '' } })
            for (const delta of pieces(String(part['text']), at))
              event('reasoning_summary_text.delta', { summary_index: nth, delta })
            if (server.partDone) event('reasoning_summary_text.done', { summary_index: nth, text: part['text'] })
          }
          if (typeof whole['arguments'] === 'string') {
            for (const delta of pieces(whole['arguments'], at)) event('function_call_arguments.delta', { delta })
            if (server.partDone) event('function_call_arguments.done', { arguments: whole['arguments'] })
          }
          if (typeof whole['input'] === 'string')
            for (const delta of pieces(whole['input'], at)) event('custom_tool_call_input.delta', { delta })
          if (server.done) events.push({ type: 'response.output_item.done', ...where, item: whole })
        }
        const usage = { input_tokens: 9, output_tokens: 5, input_tokens_details: { cached_tokens: 4 } }
        const whole = { id: 'r', model: 'm', status: 'completed', output, usage }
        const listed = { whole: { output }, empty: { output: [] }, none: {}, null: { output: null } }[server.output]
        const { output: _output, ...rest } = whole
        events.push({ type: 'response.completed', response: { ...rest, ...listed } })
        expectSame('openai-responses', whole, events, frame)
      },
    ),
    given,
  )
})

it(`${runs} answers of Anthropic Messages`, () => {
  const block = fc.oneof(
    fc.record({ type: fc.constant('text' as const), text }),
    fc.record({ type: fc.constant('thinking' as const), thinking: text, signature: fc.constant('c2ln') }),
    fc.record({ type: fc.constant('redacted_thinking' as const), data: text }),
    fc.record({ type: fc.constant('tool_use' as const), name: fc.constantFrom('weather', 'read'), input }),
  )
  fc.assert(
    fc.property(
      fc.array(block, { minLength: 1, maxLength: 5 }),
      fc.record({
        index: fc.constantFrom('right', 'zero', 'twice', 'none'),
        start: fc.boolean(),
        twice: fc.boolean(),
        stop: fc.boolean(),
        usage: fc.constantFrom('output', 'with zeros', 'with nulls', 'whole'),
        ping: fc.boolean(),
        input: fc.constantFrom('deltas', 'start'),
      }),
      cuts,
      framing,
      (blocks, server, at, frame) => {
        const content = blocks.map((block, place) =>
          block.type === 'tool_use'
            ? { type: block.type, id: `toolu_${place}`, name: block.name, input: block.input }
            : block,
        )
        const usage = { input_tokens: 9, output_tokens: 5, cache_read_input_tokens: 4, cache_creation_input_tokens: 2 }
        const reason = blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
        const { output_tokens: output, ...sent } = usage
        const more = {
          output: { output_tokens: output },
          'with zeros': {
            output_tokens: output,
            input_tokens: 0,
            cache_read_input_tokens: 0,
            cache_creation_input_tokens: 0,
          },
          'with nulls': { output_tokens: output, input_tokens: null, cache_read_input_tokens: null },
          whole: usage,
        }[server.usage]
        const head = { id: 'm', type: 'message', role: 'assistant', model: 'x' }
        const whole = { ...head, content, stop_reason: reason, stop_sequence: null, usage }
        const start = {
          type: 'message_start',
          message: {
            ...head,
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { ...sent, output_tokens: 1 },
          },
        }
        const events: object[] = [start]
        if (server.twice) events.push(start)
        for (const [place, one] of content.entries()) {
          const index = { right: place, zero: 0, twice: Math.floor(place / 2), none: undefined }[server.index]
          const begin = (block_: object): void =>
            void events.push({ type: 'content_block_start', index, content_block: block_ })
          const delta = (type: string, fields: object): void =>
            void events.push({ type: 'content_block_delta', index, delta: { type, ...fields } })
          if (one.type === 'text') {
            begin({ type: 'text', text: '' })
            for (const piece of pieces(one.text, at)) delta('text_delta', { text: piece })
          } else if (one.type === 'thinking') {
            begin({ type: 'thinking', thinking: '', signature: '' })
            for (const piece of pieces(one.thinking, at)) delta('thinking_delta', { thinking: piece })
            delta('signature_delta', { signature: one.signature })
          } else if (one.type === 'tool_use') {
            begin(server.input === 'start' ? one : { ...one, input: {} })
            if (server.input === 'deltas')
              for (const piece of pieces(JSON.stringify(one.input), at))
                delta('input_json_delta', { partial_json: piece })
          } else begin(one)
          if (server.stop) events.push({ type: 'content_block_stop', index })
          if (server.ping) events.push({ type: 'ping' })
        }
        events.push(
          { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: more },
          { type: 'message_stop' },
        )
        expectSame('anthropic', whole, events, frame)
      },
    ),
    given,
  )
})

it(`${runs} answers of Gemini`, () => {
  const part = fc.oneof(
    fc.record({ text }),
    fc.record({ text, thought: fc.constant(true) }),
    fc.record({ functionCall: fc.record({ name: fc.constantFrom('weather', 'read'), args: input }) }),
  )
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 5 }),
      fc.record({
        index: fc.boolean(),
        usage: fc.constantFrom('last', 'every', 'with zeros'),
        blank: fc.boolean(),
        list: fc.boolean(),
      }),
      cuts,
      framing,
      (all, server, at, frame) => {
        // A whole answer has one part for texts that follow each other.
        const parts: Fields[] = []
        for (const one of all as readonly Fields[]) {
          const last = parts.at(-1)
          if (
            typeof one['text'] === 'string' &&
            typeof last?.['text'] === 'string' &&
            one['thought'] === last['thought']
          )
            parts[parts.length - 1] = { ...last, text: last['text'] + one['text'] }
          else parts.push(one)
        }
        const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 5, cachedContentTokenCount: 4 }
        const head = { responseId: 'r', modelVersion: 'g' }
        const candidate = (said: readonly Fields[], more: object = {}): object => ({
          ...head,
          candidates: [{ content: { role: 'model', parts: said }, ...(server.index && { index: 0 }), ...more }],
        })
        const whole = { ...candidate(parts, { finishReason: 'STOP' }), usageMetadata }
        const chunks: object[] = []
        for (const { text: said, ...rest } of parts) {
          if (typeof said === 'string')
            for (const piece of pieces(said, at)) chunks.push(candidate([{ ...rest, text: piece }]))
          else chunks.push(candidate([rest]))
        }
        const end = { ...candidate(server.blank ? [{ text: '' }] : [], { finishReason: 'STOP' }), usageMetadata }
        const counted = server.usage === 'every' ? chunks.map((chunk) => ({ ...chunk, usageMetadata })) : chunks
        const zeros =
          server.usage === 'with zeros'
            ? [{ ...head, usageMetadata: { ...usageMetadata, cachedContentTokenCount: 0 } }]
            : []
        expectSame('gemini', whole, [...counted, end, ...zeros], frame)
      },
    ),
    given,
  )
})
