/**
 * A model by a script: what it answers follows from what it is sent. To a question about a file it first calls the tool
 * that reads files, then says what the file says; for two helpers it calls two sub-agents at once, each with such a question;
 * to anything else it says how many messages it was sent. It speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini, streamed and whole.
 */
import type { Reply, Request } from '../test/run/provider-server.ts'
import type { PromptCache } from './prompt-cache.ts'

type Wire = { readonly [field: string]: unknown }

/** What the model says to one request. */
interface ScriptedAnswer {
  readonly text: string
  readonly calls?: readonly Called[]
}

/** A call: with arguments, or with one text for a tool that takes any. */
interface Called {
  readonly name: string
  readonly input: Wire | string
  /** The group of tools that it is of, where the API has such. */
  readonly namespace?: string | undefined
}

/** What the model was asked: the last thing said, whether that is a tool's result, the tools, and how much it was in all. */
interface ReceivedRequest {
  readonly last: string
  readonly isResult: boolean
  readonly tools: readonly Tool[]
  /** Everything that was said. */
  readonly messages: readonly Wire[]
}

interface Tool {
  readonly name: string
  /** The schema of its arguments; undefined for one that takes a text. */
  readonly schema: Wire | undefined
  readonly description: string
  readonly namespace?: string
}

/** A request that says this is answered with a summary. */
const wantsSummary = /summar|compact|hand-?off|handover/i

/** The file that a question is about. */
const fileIn = (text: string): string | undefined => /\bread (\S+\.txt)/i.exec(text)?.[1]

const answerTo = ({ last, isResult, tools, messages }: ReceivedRequest): ScriptedAnswer => {
  const all = JSON.stringify(messages)
  const helper = all.includes('two helpers') ? undefined : /helper (?:left|right)/.exec(all)?.[0]
  const count = helper === undefined ? String(messages.length) : `${messages.length}, ${helper}`
  if (!isResult && last.includes('two helpers')) {
    const calls = ['left', 'right'].flatMap((side) => helperCall(tools, side) ?? [])
    if (calls.length > 0) return { text: `I ask two (${count}).`, calls }
  }
  // Codex does not wait for those that it began.
  const waits = all.includes('two helpers') ? all.split('"wait_agent"').length - 1 : 2
  const wait = isResult && waits < 2 ? tools.find(({ name }) => name === 'wait_agent') : undefined
  if (wait !== undefined) {
    const { name, namespace } = wait
    return { text: `I wait (${count}).`, calls: [{ name, namespace, input: { timeout_ms: 10_000 } }] }
  }
  const asks = all.includes('ask the record') && !all.includes('second word of the note')
  const search = asks ? searchingCall(tools, all.includes('"ToolSearch"')) : undefined
  if (search !== undefined) return { text: `I ask (${count}).`, calls: [search] }
  if (isResult && last.includes('<<indelible ')) return { text: `The record has it (${count}).` }
  const file = isResult ? undefined : fileIn(last)
  const call = file === undefined ? undefined : readingCall(tools, file)
  if (call !== undefined) return { text: `I look into it (${count}).`, calls: [call] }
  if (isResult) return { text: `Its second word is "${/\bsecond:(\w+)/.exec(last)?.[1] ?? 'unknown'}" (${count}).` }
  if (wantsSummary.test(last))
    return { text: `<summary>They asked for a word of a file, in ${count} messages. It was told.</summary>` }
  return { text: `That was message ${count}.` }
}

/** The call that begins a sub-agent; undefined: there is no such tool. */
const helperCall = (tools: readonly Tool[], side: string): Called | undefined => {
  const prompt = `As helper ${side}, please read note.txt and tell me its second word.`
  const inputs: { readonly [name: string]: Wire } = {
    Agent: { description: `ask ${side}`, prompt, subagent_type: 'general-purpose', run_in_background: false },
    task: { description: `ask ${side}`, prompt, subagent_type: 'general' },
    invoke_agent: { agent_name: 'generalist', prompt },
    spawn_agent: { task_name: side, message: prompt, fork_turns: 'none' },
  }
  const tool = tools.find(({ name }) => name in inputs)
  return tool && { name: tool.name, namespace: tool.namespace, input: inputs[tool.name] as Wire }
}

/** The call of the tool that searches past sessions; undefined: there is no such tool. `isFound`: it was looked for. */
const searchingCall = (tools: readonly Tool[], isFound: boolean): Called | undefined => {
  const input = { question: 'What is the second word of the note?' }
  const tool = tools.find(({ name, namespace = '' }) => /indelible.*search$/.test(`${namespace}_${name}`))
  if (tool !== undefined) return { name: tool.name, namespace: tool.namespace, input }
  // Claude Code, which sends the tools of servers when they were looked for.
  if (tools.some(({ name }) => name === 'ToolSearch'))
    return isFound
      ? undefined
      : { name: 'ToolSearch', input: { query: 'select:mcp__indelible__search', max_results: 5 } }
  const script = tools.find(({ schema, description }) => schema === undefined && /tools\./.test(description))
  return script && { name: script.name, input: `text(await tools.mcp__indelible__search(${JSON.stringify(input)}))` }
}

/** The call of a tool that reads a file: one with a path, or a shell. */
const readingCall = (tools: readonly Tool[], file: string): Called | undefined => {
  const fieldOf = (schema: Wire | undefined, pattern: RegExp): string | undefined =>
    Object.keys((schema?.['properties'] ?? {}) as Wire).find((name) => pattern.test(name))
  for (const { name, schema } of tools) {
    const field = fieldOf(schema, /path$/i)
    if (/^read(?:_file)?$/i.test(name) && field !== undefined) return { name, input: { [field]: file } }
  }
  // Cline, which reads several at once.
  if (tools.some(({ name }) => name === 'read_files')) return { name: 'read_files', input: { files: [{ path: file }] } }
  for (const { name, schema } of tools) {
    const field = fieldOf(schema, /^(?:cmd|command)$/)
    if (field === undefined) continue
    const { [field]: given } = (schema?.['properties'] ?? {}) as { readonly [name: string]: Wire }
    const isList = given?.['type'] === 'array'
    return { name, input: { [field]: isList ? ['cat', file] : `cat ${file}` } }
  }
  // Codex, which has its tools called from JavaScript.
  const script = tools.find(
    ({ schema, description }) => schema === undefined && /tools\.exec_command/.test(description),
  )
  return script && { name: script.name, input: `text(await tools.exec_command({ cmd: 'cat ${file}' }))` }
}

/** Text of any content: a text, or parts with texts, results among them. */
const textOf = (content: unknown): string => {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map(textOf).join('\n')
  if (typeof content !== 'object' || content === null) return ''
  const { text, content: inner, output } = content as Wire
  return typeof text === 'string' ? text : textOf(inner ?? output)
}

const list = (value: unknown): readonly Wire[] => (Array.isArray(value) ? (value as readonly Wire[]) : [])

/** How many characters of a stream's text are one event. */
const pieceLength = 7
const piecesOf = (text: string): readonly string[] => text.match(new RegExp(`.{1,${pieceLength}}`, 'gs')) ?? []

let count = 0
const nextId = (prefix: string): string => `${prefix}_${String(++count).padStart(6, '0')}`

/** The tokens that are reported for a request: more than a window has, where the question says so. Clients compact then. */
const tokensOf = (body: Wire, asked: string): number =>
  /fills the window/.test(asked) ? 190_000 : Math.ceil(JSON.stringify(body).length / 4)

/**
 * What the model answers to a request.
 *
 * @param cache counts what is read again. Default: as much as leaves no question why
 */
export const scripted = ({ path, headers, body }: Request, cache?: PromptCache): Reply => {
  // Codex then posts its requests; after another answer it tries to connect for seconds.
  if (headers.upgrade === 'websocket') return { status: 426, body: {} }
  const place = path.replace(/\?.*$/, '')
  if (place.endsWith('/count_tokens')) return { body: { input_tokens: tokensOf(body, '') } }
  if (place.endsWith('/messages')) return anthropic(body, cache)
  if (place.endsWith('/responses')) return responses(body, cache)
  if (place.endsWith('/chat/completions')) return chat(body)
  if (place.endsWith(':countTokens')) return { body: { totalTokens: tokensOf(body, '') } }
  if (/:(?:streamG|g)enerateContent$/.test(place)) {
    const { events, ...whole } = gemini(body, /models\/([^:]+):/.exec(place)?.[1] ?? '')
    return place.endsWith(':generateContent') || events === undefined ? whole : { events }
  }
  if (place.endsWith('/models')) return { body: { object: 'list', data: [], models: [] } }
  return { status: 404, body: { error: { type: 'not_found_error', message: `nothing stands at ${place}` } } }
}

const anthropic = (body: Wire, cache: PromptCache | undefined): Reply => {
  const messages = list(body['messages'])
  const content = messages.findLast(({ role }) => role === 'user')?.['content']
  const results = list(content).filter(({ type }) => type === 'tool_result')
  const last = results.length > 0 ? textOf(results) : textOf(content)
  const { text, calls = [] } = answerTo({
    last,
    isResult: results.length > 0,
    tools: list(body['tools']).map(({ name, input_schema: schema }) => ({
      name: String(name),
      schema: (schema ?? {}) as Wire,
      description: '',
    })),
    messages,
  })
  const uses = calls.map(({ name, input }) => ({ type: 'tool_use', id: nextId('toolu'), name, input }))
  const counted = cache?.count(body, tokensOf(body, last))
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: counted === undefined ? 0 : counted.input - counted.read,
    cache_read_input_tokens: counted?.read ?? tokensOf(body, last),
    output_tokens: text.length,
  }
  const message = {
    id: nextId('msg'),
    type: 'message',
    role: 'assistant',
    model: body['model'],
    content: [{ type: 'text', text }, ...uses],
    stop_reason: uses.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage,
  }
  if (body['stream'] !== true) return { body: message }
  const events: Wire[] = [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...piecesOf(text).map((piece) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: piece },
    })),
    { type: 'content_block_stop', index: 0 },
    ...uses.flatMap((use, at) => [
      { type: 'content_block_start', index: at + 1, content_block: { ...use, input: {} } },
      ...piecesOf(JSON.stringify(use.input)).map((piece) => ({
        type: 'content_block_delta',
        index: at + 1,
        delta: { type: 'input_json_delta', partial_json: piece },
      })),
      { type: 'content_block_stop', index: at + 1 },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: message.stop_reason, stop_sequence: null },
      usage: { output_tokens: text.length },
    },
    { type: 'message_stop' },
  ]
  return { events: events.map((event) => JSON.stringify(event)) }
}

/** The tools of OpenAI's APIs, which write them in two ways. */
const openaiTools = (tools: unknown): readonly Tool[] =>
  list(tools).flatMap((tool) => {
    if (Array.isArray(tool['tools']))
      return openaiTools(tool['tools']).map((openaiTool) => ({ ...openaiTool, namespace: String(tool['name']) }))
    const { name, parameters, description = '' } = (tool['function'] ?? tool) as Wire
    const schema = tool['type'] === 'custom' ? undefined : ((parameters ?? {}) as Wire)
    return typeof name === 'string' ? [{ name, schema, description: String(description) }] : []
  })

const responses = (body: Wire, cache: PromptCache | undefined): Reply => {
  const input = list(body['input'])
  const isOutput = ({ type }: Wire): boolean => String(type).endsWith('_output')
  const last = input.findLast((item) => isOutput(item) || item['role'] === 'user') ?? {}
  const isResult = isOutput(last)
  const heard = textOf(isResult ? last['output'] : last['content'])
  // Codex has tools among its items, too.
  const tools = [...list(body['tools']), ...input.flatMap((item) => list(item['tools']))]
  const { text, calls = [] } = answerTo({
    last: heard,
    isResult,
    tools: openaiTools(tools),
    messages: input,
  })
  const compacts = input.at(-1)?.['type'] === 'compaction_trigger'
  const items: Wire[] = [
    compacts
      ? { id: nextId('cmp'), type: 'compaction', encrypted_content: `opaque ${nextId('state')}` }
      : {
          id: nextId('msg'),
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text, annotations: [] }],
        },
  ]
  const fieldOf = (item: Wire): 'input' | 'arguments' => (item['type'] === 'custom_tool_call' ? 'input' : 'arguments')
  for (const { name, input: given, namespace } of compacts ? [] : calls) {
    const isText = typeof given === 'string'
    items.push({
      id: nextId(isText ? 'ctc' : 'fc'),
      type: isText ? 'custom_tool_call' : 'function_call',
      status: 'completed',
      call_id: nextId('call'),
      name,
      ...(namespace !== undefined && { namespace }),
      [isText ? 'input' : 'arguments']: isText ? given : JSON.stringify(given),
    })
  }
  const tokens = tokensOf(body, heard)
  const response = {
    id: nextId('resp'),
    object: 'response',
    created_at: 0,
    status: 'completed',
    model: body['model'],
    output: items,
    usage: {
      input_tokens: tokens,
      input_tokens_details: { cached_tokens: cache?.count(body, tokens).read ?? Math.floor(tokens / 2) },
      output_tokens: text.length,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: tokens + text.length,
    },
  }
  if (body['stream'] !== true) return { body: response }
  const events: Wire[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
    ...items.flatMap((item, index): Wire[] => {
      const started =
        item['type'] === 'message' ? { ...item, status: 'in_progress', content: [] } : { ...item, [fieldOf(item)]: '' }
      const given = String(item[fieldOf(item)])
      const kind = `response.${String(item['type'])}_${fieldOf(item)}`
      const at = { output_index: index, item_id: item['id'] }
      const middle: Wire[] =
        item['type'] === 'compaction'
          ? []
          : item['type'] === 'message'
            ? [
                {
                  type: 'response.content_part.added',
                  ...at,
                  content_index: 0,
                  part: { type: 'output_text', text: '', annotations: [] },
                },
                ...piecesOf(text).map((delta) => ({
                  type: 'response.output_text.delta',
                  ...at,
                  content_index: 0,
                  delta,
                })),
                { type: 'response.output_text.done', ...at, content_index: 0, text },
                { type: 'response.content_part.done', ...at, content_index: 0, part: list(item['content'])[0] },
              ]
            : [
                ...piecesOf(given).map((delta) => ({ type: `${kind}.delta`, ...at, delta })),
                { type: `${kind}.done`, ...at, [fieldOf(item)]: given },
              ]
      return [
        { type: 'response.output_item.added', output_index: index, item: started },
        ...middle,
        { type: 'response.output_item.done', output_index: index, item },
      ]
    }),
    { type: 'response.completed', response },
  ]
  return { events: events.map((event, index) => JSON.stringify({ ...event, sequence_number: index })) }
}

/** Whether a program itself wrote a message: Kimi's follow the question. */
const isReminder = ({ content }: Wire): boolean =>
  /^\s*<system-reminder>[\s\S]*<\/system-reminder>\s*$/.test(textOf(content))

const chat = (body: Wire): Reply => {
  const messages = list(body['messages'])
  const last = messages.findLast((message) => !isReminder(message)) ?? {}
  const heard = textOf(last['content'])
  const { text, calls: called } = answerTo({
    last: heard,
    isResult: last['role'] === 'tool',
    tools: openaiTools(body['tools']),
    messages,
  })
  const calls = called?.map(({ name, input }, index) => ({
    index,
    id: nextId('call'),
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  const reason = calls ? 'tool_calls' : 'stop'
  const tokens = tokensOf(body, heard)
  const usage = {
    prompt_tokens: tokens,
    completion_tokens: text.length,
    total_tokens: tokens + text.length,
    prompt_tokens_details: { cached_tokens: Math.floor(tokens / 2) },
  }
  const envelope = { id: nextId('chatcmpl'), created: 0, model: body['model'] }
  if (body['stream'] !== true)
    return {
      body: {
        ...envelope,
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            finish_reason: reason,
            message: {
              role: 'assistant',
              content: text,
              ...(calls && {
                tool_calls: calls.map(({ id, type, function: called }) => ({ id, type, function: called })),
              }),
            },
          },
        ],
        usage,
      },
    }
  const chunk = (delta: Wire, finish: string | null = null): Wire => ({
    ...envelope,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  const events: Wire[] = [
    chunk({ role: 'assistant', content: '' }),
    ...piecesOf(text).map((piece) => chunk({ content: piece })),
    ...(calls ?? []).flatMap((call) => [
      chunk({ tool_calls: [{ ...call, function: { name: call.function.name, arguments: '' } }] }),
      ...piecesOf(call.function.arguments).map((piece) =>
        chunk({ tool_calls: [{ index: call.index, function: { arguments: piece } }] }),
      ),
    ]),
    chunk({}, reason),
    { ...envelope, object: 'chat.completion.chunk', choices: [], usage },
  ]
  return { events: events.map((event) => JSON.stringify(event)) }
}

const gemini = (body: Wire, model: string): Reply => {
  const contents = list(body['contents'])
  const parts = list(contents.findLast(({ role }) => role === 'user')?.['parts'])
  const results = parts.filter((part) => 'functionResponse' in part)
  const last =
    results.length > 0
      ? results.map((part) => String(((part['functionResponse'] as Wire)['response'] as Wire)['output'])).join('\n')
      : textOf(parts)
  const declared = list(body['tools']).flatMap((tool) => list(tool['functionDeclarations']))
  const { text, calls = [] } = answerTo({
    last,
    isResult: results.length > 0,
    tools: declared.map((tool) => ({
      name: String(tool['name']),
      schema: (tool['parametersJsonSchema'] ?? tool['parameters'] ?? {}) as Wire,
      description: '',
    })),
    messages: contents,
  })
  const tokens = tokensOf(body, last)
  const chunk = (said: readonly Wire[], finishReason?: string): Wire => ({
    candidates: [{ index: 0, content: { role: 'model', parts: said }, ...(finishReason && { finishReason }) }],
    usageMetadata: {
      promptTokenCount: tokens,
      cachedContentTokenCount: Math.floor(tokens / 2),
      candidatesTokenCount: text.length,
      totalTokenCount: tokens + text.length,
    },
    modelVersion: model,
    responseId: id,
  })
  const id = nextId('gemini')
  const called = calls.map(({ name, input }) => ({ functionCall: { id: nextId('call'), name, args: input } }))
  // A caller that wants JSON asks which model to take, or whether the user is to go on.
  const { responseMimeType } = (body['generationConfig'] ?? {}) as Wire
  if (responseMimeType === 'application/json') return { body: chunk([{ text: '{}' }], 'STOP') }
  return {
    body: chunk([{ text }, ...called], 'STOP'),
    events: [...piecesOf(text).map((piece) => chunk([{ text: piece }])), chunk(called, 'STOP')].map((wire) =>
      JSON.stringify(wire),
    ),
  }
}
