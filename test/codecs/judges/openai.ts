/**
 * A judge from outside: an HTTP server on loopback that refuses what OpenAI's API refuses, and as strictly as anybody
 * has seen it do. It knows nothing of Indelible and shares no code with it. Each rule names where it is documented: the
 * API reference, or a refusal that somebody was given and reported (repository#issue).
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Refusal {
  readonly message: string
  readonly param: string
}

/** A server that answers requests in order with a short completion, and others with HTTP 400 and the reason. */
export const openaiServer = async (): Promise<{ readonly baseURL: string; readonly close: () => Promise<void> }> => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const send = (status: number, body: unknown): void =>
        // A connection each: an idle one would end while a long transcript is encoded, and the next request with it.
        void response
          .writeHead(status, { 'content-type': 'application/json', connection: 'close' })
          .end(JSON.stringify(body))
      const endpoint = endpoints.get(`${request.method} ${request.url}`)
      if (endpoint === undefined)
        return send(404, {
          error: {
            message: `Invalid URL (${request.method} ${request.url})`,
            type: 'invalid_request_error',
            param: null,
            code: null,
          },
        })
      const refusal = endpoint.judge(JSON.parse(Buffer.concat(chunks).toString()))
      if (refusal === undefined) return send(200, endpoint.answer)
      send(400, { error: { ...refusal, type: 'invalid_request_error', code: null } })
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => new Promise((closed) => server.close(() => closed())),
  }
}

/** What is wrong with a request to Chat Completions, if anything is. */
export const judgeChat = (body: unknown): Refusal | undefined => judged(body, chat)

/** What is wrong with a request to Responses, if anything is. */
export const judgeResponses = (body: unknown): Refusal | undefined => judged(body, responses)

type Fields = { readonly [field: string]: unknown }

class Refused {
  readonly refusal: Refusal

  constructor(message: string, param: string) {
    this.refusal = { message, param }
  }
}

const judged = (body: unknown, judge: (body: Fields) => void): Refusal | undefined => {
  try {
    judge(object(body, 'body'))
    return undefined
  } catch (error) {
    if (error instanceof Refused) return error.refusal
    throw error
  }
}

const refuse = (message: string, param: string): never => {
  throw new Refused(message, param)
}

const endpoints: ReadonlyMap<
  string,
  { readonly judge: (body: unknown) => Refusal | undefined; readonly answer: unknown }
> = new Map([
  [
    'POST /v1/chat/completions',
    {
      judge: judgeChat,
      answer: {
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model: 'judge',
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok', refusal: null } }],
      },
    },
  ],
  [
    'POST /v1/responses',
    {
      judge: judgeResponses,
      answer: { id: 'resp_1', object: 'response', created_at: 1, model: 'judge', status: 'completed', output: [] },
    },
  ],
])

// ---- Chat Completions. Source where none is named: OpenAI API reference, Chat Completions, `messages` (2026-11).

const chat = (body: Fields): void => {
  const messages = list(body['messages'], 'messages', 1) // CopilotKit/CopilotKit#529
  let waiting: { readonly ids: Map<string, string>; readonly answered: Map<string, string> } | undefined
  messages.forEach((each, index) => {
    const at = `messages[${index}]`
    const message = object(each, at)
    const { role } = message
    if (role === 'tool') {
      // run-llama/llama_index#10493
      if (waiting === undefined)
        return refuse(
          "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
          `${at}.role`,
        )
      const id = text(message['tool_call_id'], `${at}.tool_call_id`)
      // agno-agi/agno#5116
      if (waiting.answered.has(id))
        refuse(
          `Invalid parameter: Duplicate value for 'tool_call_id' of '${id}', in ${waiting.answered.get(id)} and ${at}.`,
          `${at}.tool_call_id`,
        )
      // dapr/dapr-agents#145
      if (!waiting.ids.has(id))
        refuse(
          `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
          `${at}.tool_call_id`,
        )
      waiting.answered.set(id, at)
      return chatContent(message['content'], `${at}.content`, 'tool', ['text'])
    }
    answeredAll(waiting, at)
    waiting = undefined
    if (message['name'] !== undefined && !/^[^\s<|\\/>]+$/.test(text(message['name'], `${at}.name`)))
      refuse(
        `Invalid '${at}.name': string does not match pattern. Expected a string that matches the pattern '^[^\\s<|\\\\/>]+$'.`,
        `${at}.name`,
      )
    if (role === 'assistant') waiting = chatAssistant(message, at)
    else if (role === 'system' || role === 'developer') chatContent(message['content'], `${at}.content`, role, ['text'])
    else if (role === 'user')
      chatContent(message['content'], `${at}.content`, role, ['text', 'image_url', 'input_audio', 'file'])
    else if (role === 'function') {
      text(message['name'], `${at}.name`)
      if (message['content'] !== null) text(message['content'], `${at}.content`)
    } else
      refuse(
        `Invalid value: '${String(role)}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`,
        `${at}.role`,
      )
  })
  answeredAll(waiting, 'messages')
}

/** aliasrobotics/cai#111 */
const answeredAll = (
  waiting: { readonly ids: Map<string, string>; readonly answered: Map<string, string> } | undefined,
  at: string,
): void => {
  const missing = [...(waiting?.ids.keys() ?? [])].filter((id) => waiting?.answered.has(id) === false)
  if (missing.length > 0)
    refuse(
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${missing.join(', ')}`,
      `${at}.role`,
    )
}

const chatAssistant = (
  message: Fields,
  at: string,
): { readonly ids: Map<string, string>; readonly answered: Map<string, string> } | undefined => {
  const { content, tool_calls: calls, function_call: legacy } = message
  if (calls === undefined && (legacy === undefined || legacy === null)) {
    // "Required unless tool_calls or function_call is specified"; vercel/ai#14950, run-llama/llama_index#17921
    if (message['audio'] === undefined || message['audio'] === null)
      chatContent(content, `${at}.content`, 'assistant', ['text', 'refusal'])
    return undefined
  }
  if (content !== undefined && content !== null) chatContent(content, `${at}.content`, 'assistant', ['text', 'refusal'])
  if (calls === undefined) return undefined
  const ids = new Map<string, string>()
  list(calls, `${at}.tool_calls`, 1).forEach((each, index) => {
    // openai/openai-node#1341
    const here = `${at}.tool_calls[${index}]`
    const call = object(each, here)
    const id = text(call['id'], `${here}.id`, 1, 40) // agno-agi/agno#5382
    if (ids.has(id))
      refuse(
        `Invalid parameter: Duplicate value for 'tool_call_id' of '${id}', in ${ids.get(id)} and ${here}.`,
        `${here}.id`,
      ) // openclaw/openclaw#47136
    ids.set(id, here)
    if (call['type'] !== 'function' && call['type'] !== 'custom')
      refuse(`Invalid value: '${String(call['type'])}'. Supported values are: 'function' and 'custom'.`, `${here}.type`)
    const called = object(call[call['type'] as string], `${here}.${String(call['type'])}`)
    functionName(called['name'], `${here}.function.name`)
    text(called[call['type'] === 'function' ? 'arguments' : 'input'], `${here}.function.arguments`)
  })
  return { ids, answered: new Map() }
}

const chatContent = (content: unknown, at: string, role: string, allowed: readonly string[]): void => {
  if (typeof content === 'string') return
  if (!Array.isArray(content))
    refuse(
      `Invalid value for 'content': expected a string, got ${content === null || content === undefined ? 'null' : typeof content}.`,
      at,
    )
  list(content, at, 1).forEach((each, index) => {
    const part = object(each, `${at}[${index}]`)
    const type = String(part['type'])
    // OpenHands/OpenHands#7700
    if (type === 'image_url' && !allowed.includes(type))
      refuse(
        `Invalid '${at}'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`,
        at,
      )
    if (!allowed.includes(type))
      refuse(`Invalid value: '${type}'. Supported values are: ${allowed.join(', ')}.`, `${at}[${index}].type`)
    if (type === 'text' || type === 'refusal') text(part[type], `${at}[${index}].${type}`)
    if (type === 'image_url') text(object(part['image_url'], at)['url'], `${at}[${index}].image_url.url`, 1)
    if (type === 'input_audio') text(object(part['input_audio'], at)['data'], `${at}[${index}].input_audio.data`, 1)
    if (type === 'file') object(part['file'], `${at}[${index}].file`)
  })
}

// ---- Responses. Source where none is named: OpenAI API reference, Responses, `input`; openai SDK 7.55, ResponseInputItem.

/** The calls that the client answers, by their type: the type of the answer, and the fields that pair them. */
const answers: ReadonlyMap<string, readonly [output: string, id: string, outputId: string]> = new Map([
  ['function_call', ['function_call_output', 'call_id', 'call_id']],
  ['custom_tool_call', ['custom_tool_call_output', 'call_id', 'call_id']], // diegosouzapw/OmniRoute#8946
  ['computer_call', ['computer_call_output', 'call_id', 'call_id']],
  ['local_shell_call', ['local_shell_call_output', 'call_id', 'call_id']],
  ['shell_call', ['shell_call_output', 'call_id', 'call_id']],
  ['apply_patch_call', ['apply_patch_call_output', 'call_id', 'call_id']],
  ['tool_search_call', ['tool_search_output', 'call_id', 'call_id']],
  ['mcp_approval_request', ['mcp_approval_response', 'id', 'approval_request_id']],
])

const outputs: ReadonlyMap<string, string> = new Map([...answers].map(([call, [output]]) => [output, call]))

/** Items that only tell: of the model, of OpenAI's own tools, or of the client. */
const others: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_list_tools',
  'mcp_call',
  'program',
  'program_output',
  'compaction',
  'compaction_trigger',
  'item_reference',
  'additional_tools',
  'configuration_update',
])

/** What the id of an item begins with. openai/codex#33176, continuedev/continue#11494, mastra-ai/mastra#10815 */
const prefixes: ReadonlyMap<string, string> = new Map([
  ['message', 'msg'],
  ['function_call', 'fc'],
  ['reasoning', 'rs'],
])

const responses = (body: Fields): void => {
  if (typeof body['input'] === 'string') return
  const input = list(body['input'], 'input')
  const ids = new Set<string>()
  const open = new Map<string, { readonly type: string; answered: boolean }>()
  let reasoned: string | undefined
  input.forEach((each, index) => {
    const at = `input[${index}]`
    const item = object(each, at)
    const type = String(item['type'] ?? (item['role'] === undefined ? 'item_reference' : 'message'))
    itemId(item['id'], type, ids, at)
    const speaks = type === 'message' && item['role'] !== 'assistant'
    // inspect_ai#1990, openai/codex#1235, vercel/ai#7099: one reasoning does not follow another, nor does what the client says.
    if (reasoned !== undefined && (speaks || type === 'reasoning' || outputs.has(type)))
      refuse(`Item '${reasoned}' of type 'reasoning' was provided without its required following item.`, 'input')
    reasoned = undefined
    if (speaks) answeredBefore(open) // community.openai.com/t/1142327: an output follows its call before anybody else speaks
    if (type === 'message') responsesMessage(item, at)
    else if (type === 'reasoning') reasoned = responsesReasoning(item, at)
    else if (answers.has(type)) responsesCall(item, type, open, at)
    else if (outputs.has(type)) responsesOutput(item, type, open, at)
    else if (!others.has(type))
      refuse(`Invalid value: '${type}'. Supported values are the types of items.`, `${at}.type`)
  })
  if (reasoned !== undefined)
    refuse(`Item '${reasoned}' of type 'reasoning' was provided without its required following item.`, 'input')
  answeredBefore(open)
}

/** continuedev/continue#10092, openai/codex#620, router-for-me/CLIProxyAPI#2368 */
const answeredBefore = (open: Map<string, { readonly type: string; answered: boolean }>): void => {
  for (const [id, { type, answered }] of open)
    if (!answered) refuse(`No tool output found for ${type.replaceAll('_', ' ')} ${id}.`, 'input')
}

const itemId = (id: unknown, type: string, ids: Set<string>, at: string): void => {
  if (id === undefined || id === null) return
  const given = text(id, `${at}.id`, 0, 64)
  // langchain-ai/langchainjs#11044
  if (!/^[a-zA-Z0-9_-]+$/.test(given))
    refuse(
      `Invalid '${at}.id': '${given}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.`,
      `${at}.id`,
    )
  const prefix = prefixes.get(type)
  if (prefix !== undefined && !given.startsWith(prefix))
    refuse(`Invalid '${at}.id': '${given}'. Expected an ID that begins with '${prefix}'.`, `${at}.id`)
  if (type === 'local_shell_call_output') return // names its call
  // vercel/ai#7883, earendil-works/pi#5149
  if (ids.has(given))
    refuse(`Duplicate item found with id ${given}. Remove duplicate items from your input and try again.`, 'input')
  ids.add(given)
}

const responsesMessage = (item: Fields, at: string): void => {
  const { role, content } = item
  if (!['user', 'system', 'developer', 'assistant'].includes(String(role)))
    refuse(
      `Invalid value: '${String(role)}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`,
      `${at}.role`,
    )
  // jeremychone/rust-genai#119
  if (typeof content !== 'string')
    responsesContent(content, `${at}.content`, role === 'assistant' ? ['output_text', 'refusal'] : inputs)
}

const inputs = ['input_text', 'input_image', 'input_file']

const responsesContent = (content: unknown, at: string, allowed: readonly string[]): void => {
  list(content, at).forEach((each, index) => {
    const part = object(each, `${at}[${index}]`)
    const type = String(part['type'])
    if (!allowed.includes(type))
      refuse(
        `Invalid value: '${type}'. Supported values are: ${allowed.map((one) => `'${one}'`).join(' and ')}.`,
        `${at}[${index}]`,
      )
    if (type === 'input_text' || type === 'output_text') text(part['text'], `${at}[${index}].text`)
    if (type === 'refusal') text(part['refusal'], `${at}[${index}].refusal`)
    if (type === 'input_image') oneOf(part, ['image_url', 'file_id'], `${at}[${index}]`)
    if (type === 'input_file') oneOf(part, ['file_data', 'file_url', 'file_id'], `${at}[${index}]`)
  })
}

const responsesReasoning = (item: Fields, at: string): string => {
  list(item['summary'], `${at}.summary`).forEach((each, index) =>
    text(object(each, `${at}.summary[${index}]`)['text'], `${at}.summary[${index}].text`),
  )
  return String(item['id'])
}

const responsesCall = (
  item: Fields,
  type: string,
  open: Map<string, { readonly type: string; answered: boolean }>,
  at: string,
): void => {
  const [, field] = answers.get(type) ?? ['', 'call_id']
  if (type === 'tool_search_call' && item['execution'] === 'server') return
  const id = text(item[field], `${at}.${field}`, 1, 64) // decolua/9router#393
  if (open.get(id)?.answered === false) refuse(`Duplicate ${field} ${id}.`, `${at}.${field}`)
  if (type === 'function_call' || type === 'custom_tool_call' || type === 'mcp_approval_request')
    functionName(item['name'], `${at}.name`)
  if (type === 'function_call' || type === 'mcp_approval_request') text(item['arguments'], `${at}.arguments`)
  if (type === 'custom_tool_call') text(item['input'], `${at}.input`)
  if (type === 'local_shell_call' || type === 'shell_call') object(item['action'], `${at}.action`)
  if (type === 'apply_patch_call') object(item['operation'], `${at}.operation`)
  if (type === 'computer_call') oneOf(item, ['action', 'actions'], at)
  open.set(id, { type, answered: false })
}

const responsesOutput = (
  item: Fields,
  type: string,
  open: Map<string, { readonly type: string; answered: boolean }>,
  at: string,
): void => {
  const call = outputs.get(type) ?? ''
  const [, , field] = answers.get(call) ?? ['', '', 'call_id']
  if (type === 'tool_search_output' && item['execution'] === 'server') return
  const id = text(item[field] ?? (type === 'local_shell_call_output' ? item['id'] : undefined), `${at}.${field}`, 1, 64)
  const asked = open.get(id)
  // can1357/oh-my-pi#106; for approvals microsoft/agent-framework#7452
  if (asked === undefined || asked.type !== call)
    return refuse(`No tool call found for ${type.replaceAll('_', ' ')} with ${field} ${id}.`, 'input')
  if (asked.answered) refuse(`Duplicate ${type} for ${id}.`, 'input') // alvesvaren/zod-to-openai-tool#263
  asked.answered = true
  const { output } = item
  if (type === 'function_call_output' || type === 'custom_tool_call_output') {
    if (typeof output !== 'string') responsesContent(output, `${at}.output`, inputs)
  } else if (type === 'computer_call_output')
    oneOf(object(output, `${at}.output`), ['image_url', 'file_id'], `${at}.output`)
  else if (type === 'local_shell_call_output') text(output, `${at}.output`)
  else if (type === 'shell_call_output')
    list(output, `${at}.output`).forEach((each, index) => {
      const chunk = object(each, `${at}.output[${index}]`)
      text(chunk['stdout'], `${at}.output[${index}].stdout`)
      text(chunk['stderr'], `${at}.output[${index}].stderr`)
      object(chunk['outcome'], `${at}.output[${index}].outcome`)
    })
  else if (type === 'apply_patch_call_output') {
    if (item['status'] !== 'completed' && item['status'] !== 'failed')
      refuse("Invalid value. Supported values are: 'completed' and 'failed'.", `${at}.status`)
  } else if (type === 'tool_search_output') list(item['tools'], `${at}.tools`)
  else if (typeof item['approve'] !== 'boolean') refuse(`Missing required parameter: '${at}.approve'.`, `${at}.approve`)
}

// ---- Values.

const object = (value: unknown, at: string): Fields => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuse(
      `Invalid type for '${at}': expected an object, but got ${value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 40)} instead.`,
      at,
    )
  return value as Fields
}

const list = (value: unknown, at: string, least = 0): readonly unknown[] => {
  if (!Array.isArray(value)) return refuse(`Invalid type for '${at}': expected an array.`, at)
  if (value.length < least)
    refuse(
      `Invalid '${at}': empty array. Expected an array with minimum length ${least}, but got an empty array instead.`,
      at,
    )
  return value as readonly unknown[]
}

const text = (value: unknown, at: string, least = 0, most = Infinity): string => {
  if (typeof value !== 'string')
    return refuse(
      `Invalid type for '${at}': expected a string, but got ${value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 40)} instead.`,
      at,
    )
  if (value.length < least)
    refuse(
      `Invalid '${at}': empty string. Expected a string with minimum length ${least}, but got an empty string instead.`,
      at,
    )
  if (value.length > most)
    refuse(
      `Invalid '${at}': string too long. Expected a string with maximum length ${most}, but got a string with length ${value.length} instead.`,
      at,
    )
  return value
}

/** mcp-use/mcp-use#90 */
const functionName = (value: unknown, at: string): void => {
  if (!/^[a-zA-Z0-9_-]+$/.test(text(value, at)))
    refuse(
      `Invalid '${at}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      at,
    )
}

const oneOf = (owner: Fields, fields: readonly string[], at: string): void => {
  if (fields.every((field) => owner[field] === undefined || owner[field] === null))
    refuse(`Missing required parameter: one of ${fields.map((field) => `'${at}.${field}'`).join(', ')}.`, at)
}
