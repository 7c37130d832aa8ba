/**
 * An outside judge: what the Anthropic Messages API refuses, as a function and as a server on loopback. Written from the
 * documentation and from recorded refusals, and not from the codec: it imports nothing of it. Where sources differ it is
 * the stricter one, so it may refuse what the API takes, and should never take what the API refuses.
 *
 * Source  [tools]   platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls (2026-10)
 *         [system]  platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages (2026-10)
 *         [api]     platform.claude.com/docs/en/api/messages, and the types of @anthropic-ai/sdk 1.11.0
 *         [400]     the message of a recorded HTTP 400, in public issues: the repository and number stand with it
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Fields = { readonly [field: string]: unknown }

/** Thrown inside, with the words that the API uses. */
class Refused extends Error {}

const refuse = (message: string): never => {
  throw new Refused(message)
}

/** Why the API would refuse the body of a request, or undefined if it would not. */
export const refusal = (body: unknown): string | undefined => {
  try {
    checkRequest(fieldsOf(body, 'body'))
    return undefined
  } catch (error) {
    if (error instanceof Refused) return error.message
    throw error
  }
}

/** A server that answers as the API does: 400 with the reason, or a message. */
export const startJudge = async (): Promise<{ readonly url: string; readonly stop: () => void }> => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const message =
        request.method === 'POST' && request.url === '/v1/messages'
          ? refusal(JSON.parse(Buffer.concat(chunks).toString('utf8')))
          : 'not found'
      response.writeHead(message === undefined ? 200 : 400, { 'content-type': 'application/json', connection: 'close' })
      response.end(
        JSON.stringify(
          message === undefined ? accepted : { type: 'error', error: { type: 'invalid_request_error', message } },
        ),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: () => void server.close() }
}

const accepted = {
  id: 'msg_judge',
  type: 'message',
  role: 'assistant',
  model: 'judge',
  content: [{ type: 'text', text: 'accepted' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
}

const checkRequest = (body: Fields): void => {
  if (typeof body['model'] !== 'string') refuse('model: Field required') // [api]
  if (typeof body['max_tokens'] !== 'number') refuse('max_tokens: Field required') // [api]
  if (body['system'] !== undefined) checkSystem(body['system'], 'system')
  const messages = listOf(body['messages'], 'messages').map((message, index) => fieldsOf(message, `messages.${index}`))
  if (messages.length === 0) refuse('messages: at least one message is required') // [400] AnswerDotAI/fastllm
  if (messages.length > 100_000) refuse('messages: too many') // [api] "There is a limit of 100,000 messages in a single request."
  // [400] langchain-ai/langchain discussions, tghamm/Anthropic.SDK
  if (messages[0]?.['role'] !== 'user') refuse('messages: first message must use the "user" role')
  messages.forEach((message, index) => checkMessage(message, `messages.${index}`, index === messages.length - 1))
  checkPairing(messages)
  messages.forEach((message, index) =>
    checkPlace(message, messages[index - 1], messages[index + 1], `messages.${index}`),
  )
  // [400] "A maximum of 4 blocks with cache_control may be provided. Found 5."
  const cached = JSON.stringify([body['system'], messages]).split('"cache_control":{').length - 1
  if (cached > 4) refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${cached}.`)
}

const checkSystem = (system: unknown, at: string): void => {
  if (typeof system === 'string') return checkText(system, at)
  for (const [index, block] of listOf(system, at).entries())
    checkBlock(fieldsOf(block, `${at}.${index}`), `${at}.${index}`, ['text'])
}

const checkMessage = (message: Fields, at: string, isLast: boolean): void => {
  const { role, content } = message
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    refuse(`${at}.role: Input should be 'user', 'assistant' or 'system'`) // [api]
  checkFields(message, at, role === 'system' ? ['role', 'content', 'clear_at', 'output_config'] : ['role', 'content'])
  const blocks = blocksOf(message, at)
  // [400] anthropics/claude-code 6774
  if (blocks.length === 0 && !(isLast && role === 'assistant'))
    refuse(`${at}: all messages must have non-empty content except for the optional final assistant message`)
  if (role === 'system') return checkSystem(content, at)
  blocks.forEach((block, index) => checkBlock(block, `${at}.content.${index}`, role === 'user' ? ofUser : ofAssistant))
  if (role !== 'assistant') return
  const last = blocks.at(-1)
  // [400] tailcallhq/forgecode 2107
  if (last?.['type'] === 'thinking' || last?.['type'] === 'redacted_thinking')
    refuse(`${at}: The final block in an assistant message cannot be \`thinking\`.`)
  // [400] tailcallhq/forgecode 1872
  if (isLast && last?.['type'] === 'text' && /\s$/.test(String(last['text'])))
    refuse('messages: final assistant content cannot end with trailing whitespace')
}

/** [system] after a user message, then the assistant or nothing; not two in a row. */
const checkPlace = (message: Fields, before: Fields | undefined, after: Fields | undefined, at: string): void => {
  if (message['role'] !== 'system') return
  if (before?.['role'] !== 'user') refuse(`${at}: a system message must follow a user message`)
  if (after !== undefined && after['role'] !== 'assistant')
    refuse(`${at}: a system message must be last, or before an assistant message`)
}

/** [tools] every call is answered at the beginning of the next message, and nothing else is. */
const checkPairing = (messages: readonly Fields[]): void => {
  const used = new Set<unknown>()
  let open = new Set<unknown>()
  messages.forEach((message, index) => {
    const at = `messages.${index}`
    const blocks = blocksOf(message, at)
    const answered = new Set<unknown>()
    let onlyResults = true
    blocks.forEach((block, part) => {
      if (block['type'] !== 'tool_result') return void (onlyResults = false)
      const id = block['tool_use_id']
      // [400] anthropics/claude-code 64383
      if (!open.has(id))
        refuse(
          `${at}.content.${part}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(id)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        )
      // [400] "each tool_use must have a single result. Found multiple `tool_result` blocks with id: …"
      if (answered.has(id))
        refuse(
          `${at}.content.${part}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${String(id)}`,
        )
      // [tools] "the tool_result blocks must come first in the content array"; [400] NousResearch/hermes-agent 65369
      if (!onlyResults) refuse(unanswered(index - 1, [id]))
      answered.add(id)
    })
    const missing = [...open].filter((id) => !answered.has(id))
    if (missing.length > 0) refuse(unanswered(index - 1, missing)) // [400] anthropics/claude-code 3632
    open = new Set()
    blocks.forEach((block, part) => {
      if (block['type'] !== 'tool_use') return
      const { id, caller } = block
      if (used.has(id)) refuse(`messages: \`tool_use\` ids must be unique`) // [400]
      used.add(id)
      open.add(id)
      // [400] vercel/ai 13013, anthropics/claude-code 473: what stands after a call is between it and its result
      const isDirect = caller === undefined || fieldsOf(caller, at)['type'] === 'direct'
      if (isDirect && blocks.slice(part).some(({ type }) => type !== 'tool_use')) refuse(unanswered(index, [id]))
    })
  })
  if (open.size > 0) refuse(unanswered(messages.length - 1, [...open]))
}

const unanswered = (index: number, ids: readonly unknown[]): string =>
  `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`

const ofServer = [
  'server_tool_use',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
]
const ofUser = ['text', 'image', 'document', 'search_result', 'tool_result', 'container_upload']
const ofAssistant = ['text', 'thinking', 'redacted_thinking', 'tool_use', ...ofServer]
const ofResult = ['text', 'image', 'document', 'search_result', 'tool_reference', 'browser_state']

const checkBlock = (block: Fields, at: string, types: readonly string[]): void => {
  const type = String(block['type'])
  if (!types.includes(type))
    refuse(`${at}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${types.join(', ')}`) // [api]
  switch (type) {
    case 'text':
      checkFields(block, at, ['type', 'text', 'citations', 'cache_control'])
      return checkText(block['text'], at)
    case 'image':
      checkFields(block, at, ['type', 'source', 'cache_control', 'transformations'])
      return checkSource(fieldsOf(block['source'], `${at}.source`), `${at}.source`, /^image\/(?:jpeg|png|gif|webp)$/)
    case 'document':
      checkFields(block, at, ['type', 'source', 'title', 'context', 'citations', 'cache_control'])
      return checkSource(fieldsOf(block['source'], `${at}.source`), `${at}.source`, /^application\/pdf$/)
    case 'thinking':
      checkFields(block, at, ['type', 'thinking', 'signature'])
      // [400] "Invalid `signature` in `thinking` block"
      if (typeof block['signature'] !== 'string' || !/^[A-Za-z0-9+/_=-]+$/.test(block['signature']))
        refuse(`${at}: Invalid \`signature\` in \`thinking\` block`)
      return
    case 'tool_use':
      checkFields(block, at, ['type', 'id', 'name', 'input', 'caller', 'cache_control', 'toolset_name'])
      return checkCall(block, at)
    case 'tool_result':
      checkFields(block, at, ['type', 'tool_use_id', 'content', 'is_error', 'cache_control', 'toolset_name'])
      return checkResult(block, at)
  }
}

const checkText = (text: unknown, at: string): void => {
  if (typeof text !== 'string') refuse(`${at}.text: Input should be a valid string`)
  if (text === '') refuse(`${at}: text content blocks must be non-empty`) // [400] anthropics/claude-code 59812
  if (String(text).trim() === '') refuse(`${at}: text content blocks must contain non-whitespace text`) // [400]
}

const checkSource = ({ type, media_type, data, url }: Fields, at: string, mediaTypes: RegExp): void => {
  if (type === 'base64') {
    if (!mediaTypes.test(String(media_type))) refuse(`${at}.base64.media_type: Input should match ${mediaTypes.source}`) // [api]
    if (typeof data !== 'string' || data === '') refuse(`${at}.base64: cannot be empty`) // [400] anthropics/claude-code 8947
  } else if (type === 'url') {
    if (!/^https?:/.test(String(url))) refuse(`${at}.url: Only HTTP and HTTPS URLs are supported`)
  } else if (type === 'text' && mediaTypes.test('application/pdf')) {
    if (media_type !== 'text/plain' || typeof data !== 'string' || data === '')
      refuse(`${at}.text: Input should be text/plain`)
  } else if (type !== 'file' && !(type === 'content' && mediaTypes.test('application/pdf')))
    refuse(`${at}: Input tag '${String(type)}' found using 'type' does not match`)
}

const checkCall = ({ id, name, input }: Fields, at: string): void => {
  if (!/^[a-zA-Z0-9_-]+$/.test(String(id))) refuse(`${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`) // [400] HKUDS/nanobot 4356
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(name)))
    refuse(`${at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`) // [api] the name of a tool
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    refuse(`${at}.tool_use.input: Input should be a valid dictionary`) // [400]
}

const checkResult = ({ content, is_error }: Fields, at: string): void => {
  const blocks = content === undefined || typeof content === 'string' ? [] : listOf(content, `${at}.content`)
  blocks.forEach((block, index) =>
    checkBlock(fieldsOf(block, `${at}.content.${index}`), `${at}.content.${index}`, ofResult),
  )
  if (typeof content === 'string' && content.trim() === '') checkText(content, at) // stricter than is known
  if (is_error !== true) return
  if (content === undefined || (typeof content !== 'string' && blocks.length === 0))
    refuse(`${at}.tool_result: content cannot be empty if \`is_error\` is true`) // [400]
  if (blocks.some((block) => fieldsOf(block, at)['type'] !== 'text'))
    refuse(`${at}.tool_result: all content must be type \`text\` if \`is_error\` is true`) // [400]
}

/** [400] "messages.0.id: Extra inputs are not permitted" */
const checkFields = (value: Fields, at: string, known: readonly string[]): void => {
  for (const field of Object.keys(value))
    if (!known.includes(field)) refuse(`${at}.${field}: Extra inputs are not permitted`)
}

const blocksOf = ({ content }: Fields, at: string): readonly Fields[] =>
  typeof content === 'string'
    ? content === ''
      ? []
      : [{ type: 'text', text: content }]
    : listOf(content, `${at}.content`).map((block, index) => fieldsOf(block, `${at}.content.${index}`))

const listOf = (value: unknown, at: string): readonly unknown[] =>
  Array.isArray(value) ? value : refuse(`${at}: Input should be a valid list`)

const fieldsOf = (value: unknown, at: string): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : refuse(`${at}: Input should be a valid dictionary`)
