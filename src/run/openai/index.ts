export type { AdapterOptions } from '../adapter.ts'
export { openaiChatModel } from './chat.ts'
export { openaiProvider, type ProviderOptions } from './provider.ts'
export { openaiResponsesModel } from './responses.ts'
