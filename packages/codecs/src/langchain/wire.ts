/**
 * The wire types of LangChain messages: their `JSON.stringify` form, also found in checkpoints and
 * accepted by `load` and as graph input.
 *
 * Source  `@langchain/core` 1.4.0, load/serializable and messages
 */

/** A message: a constructor with its fields. */
export interface LangChainMessage {
  lc: 1
  type: 'constructor'
  id: string[]
  kwargs: LangChainFields
}

/** A message's fields. */
interface LangChainFields {
  content: string | LangChainBlock[]
  id?: string
  name?: string
  tool_calls?: LangChainToolCall[]
  invalid_tool_calls?: unknown[]
  tool_call_id?: string
  status?: 'success' | 'error'
  additional_kwargs: { [field: string]: unknown }
  response_metadata: { [field: string]: unknown }
}

/** A tool call. */
interface LangChainToolCall {
  id: string
  name: string
  args: { [name: string]: unknown }
  type: 'tool_call'
}

/** A content block. */
type LangChainBlock =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'file'; mimeType?: string; data?: string; url?: string; metadata?: { filename: string } }
