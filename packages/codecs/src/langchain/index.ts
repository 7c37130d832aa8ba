export { langchainMessages } from './codec.ts'
export type { LangChainBlock, LangChainFields, LangChainMessage, LangChainToolCall } from './wire.ts'
