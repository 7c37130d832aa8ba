/**
 * The provider that the examples of the docs talk to. They make a client as a reader would (`new Anthropic()`), and the
 * variables that such a client reads lead it here. It calls the first tool of a request, with what the user names, and
 * then says what the tool answered.
 */
import { providerServer, type ProviderServer, type Reply, type Request } from './run/provider-server.ts'
import { anthropicEvents, chatEvents, type Answer } from './run/wire.ts'

/** A provider on loopback, and the variables that lead clients to it. */
export interface DocsProvider extends ProviderServer {
  readonly variables: Readonly<Record<string, string>>
}

/** @param reply what it says in place of its own words; undefined: its own words */
export const docsProvider = async (
  reply: (request: Request) => Reply | undefined = () => undefined,
): Promise<DocsProvider> => {
  const server = await providerServer((request) => reply(request) ?? answered(request))
  return {
    ...server,
    variables: {
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: 'none',
      OPENAI_BASE_URL: server.url,
      OPENAI_API_KEY: 'none',
      GOOGLE_GEMINI_BASE_URL: server.url,
      GEMINI_API_KEY: 'none',
    },
  }
}

/** What all of them say of a request. */
interface ReceivedRequest {
  readonly tool: string | undefined
  readonly parameter: string | undefined
  /** The text of the last message, and whether it is the result of a tool. */
  readonly last: string
  readonly isResult: boolean
}

const answered = ({ path, body }: Request): Reply => {
  const read = path.includes('generateContent') || path.includes('GenerateContent') ? ofGemini(body) : ofOthers(body)
  const answer = answerOf(read)
  if (path.endsWith('/messages'))
    return body['stream'] === true ? { events: anthropicEvents(answer) } : { body: anthropicBody(answer) }
  if (path.endsWith('/chat/completions'))
    return body['stream'] === true ? { events: chatEvents(answer) } : { body: chatBody(answer) }
  return { body: geminiBody(answer) }
}

const answerOf = ({ tool, parameter, last, isResult }: ReceivedRequest): Answer => {
  if (isResult || tool === undefined) return { text: isResult ? `Done: ${last}.` : 'Noted.', calls: [] }
  const named = /\b(?:\d+|[A-Z][a-z]+)(?=\W*$)/.exec(last)?.[0] ?? last
  const args = parameter === undefined ? {} : { [parameter]: named }
  return { text: '', calls: [{ id: 'call_1', name: tool, args: JSON.stringify(args) }] }
}

/** Whatever JSON has at a path; undefined if it has not. */
const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((from, key) => (from as Record<string | number, unknown> | null | undefined)?.[key], value)

const ofOthers = (body: Request['body']): ReceivedRequest => {
  const message = (at(body, 'messages') as readonly unknown[]).at(-1)
  const blocks = at(message, 'content')
  const block = Array.isArray(blocks) ? (blocks as readonly unknown[]).at(-1) : undefined
  const inside = at(block, 'content')
  const text = at(block, 'text') ?? (Array.isArray(inside) ? at(inside, 0, 'text') : inside) ?? blocks
  const schema =
    at(body, 'tools', 0, 'input_schema', 'properties') ?? at(body, 'tools', 0, 'function', 'parameters', 'properties')
  return {
    tool: (at(body, 'tools', 0, 'name') ?? at(body, 'tools', 0, 'function', 'name')) as string | undefined,
    parameter: Object.keys(schema ?? {})[0],
    last: String(text),
    isResult: at(block, 'type') === 'tool_result' || at(message, 'role') === 'tool',
  }
}

const ofGemini = (body: Request['body']): ReceivedRequest => {
  const part = at((at(body, 'contents') as readonly unknown[]).at(-1), 'parts', 0)
  const declared = at(body, 'tools', 0, 'functionDeclarations', 0)
  const result = at(part, 'functionResponse', 'response', 'output')
  return {
    tool: at(declared, 'name') as string | undefined,
    parameter: Object.keys(at(declared, 'parametersJsonSchema', 'properties') ?? {})[0],
    last: String(result ?? at(part, 'text')),
    isResult: result !== undefined,
  }
}

const anthropicBody = ({ text, calls }: Answer): object => ({
  id: 'msg',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: JSON.parse(args) as unknown })),
  ],
  stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 3 },
})

const chatBody = ({ text, calls }: Answer): object => ({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    {
      index: 0,
      finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      message: {
        role: 'assistant',
        content: text === '' ? null : text,
        ...(calls.length > 0 && {
          tool_calls: calls.map(({ id, name, args }) => ({
            id,
            type: 'function',
            function: { name, arguments: args },
          })),
        }),
      },
    },
  ],
  usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
})

const geminiBody = ({ text, calls }: Answer): object => ({
  candidates: [
    {
      index: 0,
      finishReason: 'STOP',
      content: {
        role: 'model',
        parts: [
          ...(text === '' ? [] : [{ text }]),
          ...calls.map(({ name, args }) => ({ functionCall: { name, args: JSON.parse(args) as unknown } })),
        ],
      },
    },
  ],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 },
})
