/** The default form of LangChain messages: `encode` writes it, and `decode` keeps any difference. */
import type { Role } from 'indelible/message'
import { type MutableObject, urlOf, type Resolved } from 'indelible/internal/codecs'

export const format = 'langchain'

/** How a message is spelled: as a constructor, as `{ type, data }`, or flat with a `type` field. */
export type Spelling = 'constructor' | 'stored' | 'flat'

const names: { readonly [R in Role]: readonly [constructor: string, type: string] } = {
  system: ['SystemMessage', 'system'],
  developer: ['SystemMessage', 'system'],
  user: ['HumanMessage', 'human'],
  assistant: ['AIMessage', 'ai'],
  tool: ['ToolMessage', 'tool'],
}

/** Roles by class name (without `Chunk`) and by message type. */
export const roleOf: ReadonlyMap<unknown, Role> = new Map<unknown, Role>([
  ...Object.entries(names).flatMap(([role, spelled]) => spelled.map((name) => [name, role as Role] as const)),
  ['SystemMessage', 'system'],
  ['system', 'system'],
  ['FunctionMessage', 'tool'],
  ['function', 'tool'],
  ['AIMessageChunk', 'assistant'],
])

/** The fields around a message's own. */
export const envelopeOf = (role: Role, spelling: Spelling): MutableObject =>
  spelling === 'constructor'
    ? { lc: 1, type: 'constructor', id: ['langchain_core', 'messages', names[role][0]] }
    : { type: names[role][1] }

/** The marker of OpenAI's developer role. */
export const developer = { __openai_role__: 'developer' }

/** The fields other than the content. */
export const fieldsOf = (
  role: Role,
  {
    id,
    name,
    calls,
    callId,
    isError,
  }: {
    readonly id: string | undefined
    readonly name: string | undefined
    readonly calls: readonly unknown[]
    readonly callId: string | undefined
    readonly isError: boolean
  },
): MutableObject => ({
  ...(callId !== undefined && { tool_call_id: callId }),
  ...(role === 'assistant' && { tool_calls: calls, invalid_tool_calls: [] }),
  ...(isError && { status: 'error' }),
  ...(name !== undefined && { name }),
  ...(id !== undefined && { id }),
  additional_kwargs: role === 'developer' ? { ...developer } : {},
  response_metadata: {},
})

export const callOf = (id: string, name: string, args: unknown): MutableObject => ({
  name,
  args,
  id,
  type: 'tool_call',
})
export const toolUse = (id: string, name: string, input: unknown): MutableObject => ({
  type: 'tool_use',
  id,
  name,
  input,
})
export const textBlock = (text: string): MutableObject => ({ type: 'text', text })
export const thinking = (text: string, signature: string | undefined): MutableObject => ({
  type: 'thinking',
  thinking: text,
  ...(signature !== undefined && { signature }),
})
export const reasoningBlock = (text: string): MutableObject => ({ type: 'reasoning', reasoning: text })
export const imageBlock = (source: Resolved, asText: boolean): MutableObject => ({
  type: 'image_url',
  image_url: asText ? urlOf(source) : { url: urlOf(source) },
})
export const fileBlock = (source: Resolved, name: string | undefined): MutableObject => ({
  type: 'file',
  ...(source.mediaType !== undefined && { mimeType: source.mediaType }),
  ...(source.type === 'url' ? { url: source.url } : { data: source.data }),
  ...(name !== undefined && { metadata: { filename: name } }),
})
