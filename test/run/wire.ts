/** Answers in the words of each provider: the events of a stream that says a text and makes calls. */

export interface Answer {
  readonly text: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: string }[]
}

const json = (events: readonly object[]): readonly string[] => events.map((event) => JSON.stringify(event))

/** A text in pieces of a few characters, code points whole. */
const pieces = (text: string): readonly string[] => text.match(/[^]{1,7}/gu) ?? []

export const chatEvents = ({ text, calls }: Answer): readonly string[] => {
  const chunk = (delta: object, finish_reason: string | null = null): object => ({
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  })
  return json([
    ...pieces(text).map((content) => chunk({ content })),
    ...calls.flatMap(({ id, name, args }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...pieces(args).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    {
      id: 'x',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [],
      usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
    },
  ])
}

export const responsesEvents = ({ text, calls }: Answer): readonly string[] => {
  const message = (content: readonly object[], status: string): object => ({
    id: `msg_${Math.random().toString(36).slice(2)}`,
    type: 'message',
    role: 'assistant',
    status,
    content,
  })
  const part = (output: string): object => ({ type: 'output_text', text: output, annotations: [] })
  const offset = text === '' ? 0 : 1
  const items = calls.map(({ id, name, args }) => ({
    id: `fc_${id}`,
    type: 'function_call',
    call_id: id,
    name,
    arguments: args,
    status: 'completed',
  }))
  const said = text === '' ? [] : [message([part(text)], 'completed')]
  return json([
    ...(text === ''
      ? []
      : [
          { type: 'response.output_item.added', output_index: 0, item: message([], 'in_progress') },
          { type: 'response.content_part.added', output_index: 0, content_index: 0, part: part('') },
          ...pieces(text).map((delta) => ({
            type: 'response.output_text.delta',
            output_index: 0,
            content_index: 0,
            delta,
          })),
          { type: 'response.content_part.done', output_index: 0, content_index: 0, part: part(text) },
          { type: 'response.output_item.done', output_index: 0, item: said[0] },
        ]),
    ...items.flatMap((item, index) => [
      {
        type: 'response.output_item.added',
        output_index: offset + index,
        item: { ...item, arguments: '', status: 'in_progress' },
      },
      ...pieces(item.arguments).map((delta) => ({
        type: 'response.function_call_arguments.delta',
        output_index: offset + index,
        delta,
      })),
      { type: 'response.output_item.done', output_index: offset + index, item },
    ]),
    {
      type: 'response.completed',
      response: {
        id: 'r',
        status: 'completed',
        model: 'm',
        output: [...said, ...items],
        usage: { input_tokens: 5, output_tokens: 3 },
      },
    },
  ])
}

export const anthropicEvents = ({ text, calls }: Answer): readonly string[] => {
  const block = (index: number, content: object, deltas: readonly object[]): readonly object[] => [
    { type: 'content_block_start', index, content_block: content },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
  const offset = text === '' ? 0 : 1
  return json([
    {
      type: 'message_start',
      message: {
        id: 'msg',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 5, output_tokens: 1 },
      },
    },
    ...(text === ''
      ? []
      : block(
          0,
          { type: 'text', text: '' },
          pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
        )),
    ...calls.flatMap(({ id, name, args }, index) =>
      block(
        offset + index,
        { type: 'tool_use', id, name, input: {} },
        pieces(args).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      ),
    ),
    {
      type: 'message_delta',
      delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: 3 },
    },
    { type: 'message_stop' },
  ])
}
