/** The default form of LangChain messages: `encode` writes it, and `decode` keeps everything else. */
import type { Role } from '../../message/index.ts'
import type { Fresh } from '../residual.ts'
import { urlOf, type Resolved } from '../source.ts'

export const format = 'langchain'

/** How a message is spelled: as a constructor, as `{ type, data }`, or with its type among its fields. */
export type Spelling = 'constructor' | 'stored' | 'flat'

const names: { readonly [R in Role]: readonly [constructor: string, type: string] } = {
  system: ['SystemMessage', 'system'],
  developer: ['SystemMessage', 'system'],
  user: ['HumanMessage', 'human'],
  assistant: ['AIMessage', 'ai'],
  tool: ['ToolMessage', 'tool'],
}

/** By the name of a class, without `Chunk`, and by the type of a message. */
export const roleOf: ReadonlyMap<unknown, Role> = new Map<unknown, Role>([
  ...Object.entries(names).flatMap(([role, spelled]) => spelled.map((name) => [name, role as Role] as const)),
  ['SystemMessage', 'system'],
  ['system', 'system'],
  ['FunctionMessage', 'tool'],
  ['function', 'tool'],
  ['AIMessageChunk', 'assistant'],
])

/** What stands around the fields. */
export const outer = (role: Role, spelling: Spelling): Fresh =>
  spelling === 'constructor'
    ? { lc: 1, type: 'constructor', id: ['langchain_core', 'messages', names[role][0]] }
    : { type: names[role][1] }

/** How OpenAI's later role for instructions is recognized. */
export const developer = { __openai_role__: 'developer' }

/** The fields beside the content. */
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
): Fresh => ({
  ...(callId !== undefined && { tool_call_id: callId }),
  ...(role === 'assistant' && { tool_calls: calls, invalid_tool_calls: [] }),
  ...(isError && { status: 'error' }),
  ...(name !== undefined && { name }),
  ...(id !== undefined && { id }),
  additional_kwargs: role === 'developer' ? { ...developer } : {},
  response_metadata: {},
})

export const callOf = (id: string, name: string, args: unknown): Fresh => ({ name, args, id, type: 'tool_call' })
export const toolUse = (id: string, name: string, input: unknown): Fresh => ({ type: 'tool_use', id, name, input })
export const textBlock = (text: string): Fresh => ({ type: 'text', text })
export const thinking = (text: string, signature: string | undefined): Fresh => ({
  type: 'thinking',
  thinking: text,
  ...(signature !== undefined && { signature }),
})
export const reasoningBlock = (text: string): Fresh => ({ type: 'reasoning', reasoning: text })
export const imageBlock = (source: Resolved, asText: boolean): Fresh => ({
  type: 'image_url',
  image_url: asText ? urlOf(source) : { url: urlOf(source) },
})
export const fileBlock = (source: Resolved, name: string | undefined): Fresh => ({
  type: 'file',
  ...(source.mediaType !== undefined && { mimeType: source.mediaType }),
  ...(source.type === 'url' ? { url: source.url } : { data: source.data }),
  ...(name !== undefined && { metadata: { filename: name } }),
})
