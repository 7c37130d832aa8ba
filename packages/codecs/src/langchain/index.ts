export { langchainMessages } from './codec.ts'
export type { LangChainMessage } from './wire.ts'
