/** The peers are installed in this folder alone. Where they are not, their types are not known. */
/* oxlint-disable typescript/no-explicit-any -- that is what is known of them */
declare module '@babel/parser' {
  export const parse: any
  export type parse = any
}
declare module '@langchain/core/chat_history' {
  export const InMemoryChatMessageHistory: any
  export type InMemoryChatMessageHistory = any
}
declare module '@langchain/core/messages' {
  export const AIMessage: any
  export type AIMessage = any
  export const HumanMessage: any
  export type HumanMessage = any
  export const RemoveMessage: any
  export type RemoveMessage = any
  export const SystemMessage: any
  export type SystemMessage = any
  export const ToolMessage: any
  export type ToolMessage = any
  export const coerceMessageLikeToMessage: any
  export type coerceMessageLikeToMessage = any
  export const trimMessages: any
  export type trimMessages = any
  export type BaseMessage = any
  export type MessageFieldWithRole = any
}
declare module '@langchain/langgraph-checkpoint' {
  export const emptyCheckpoint: any
  export type emptyCheckpoint = any
  export const uuid6: any
  export type uuid6 = any
}
declare module '@langchain/langgraph-checkpoint-postgres' {
  export const PostgresSaver: any
  export type PostgresSaver = any
}
declare module '@langchain/langgraph-checkpoint-sqlite' {
  export const SqliteSaver: any
  export type SqliteSaver = any
}
declare module '@openai/agents' {
  export const Agent: any
  export type Agent = any
  export const MemorySession: any
  export type MemorySession = any
  export const Runner: any
  export type Runner = any
  export const tool: any
  export type tool = any
  export type AgentInputItem = any
  export type Model = any
  export type StreamEvent = any
}
declare module 'esbuild' {
  export type Plugin = any
  export type PluginBuild = any
  export const build: any
  export type build = any
}
declare module 'immutable' {
  export const List: any
  export type List = any
}
declare module 'langchain' {
  export const summarizationMiddleware: any
  export type summarizationMiddleware = any
}
declare module 'mutative' {
  export const create: any
  export type create = any
}
declare module 'valibot'
