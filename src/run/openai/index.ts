export type { AdapterOptions } from '../adapter.ts'
export { openaiChatModel } from './chat.ts'
export {
  openaiCompatibleProvider,
  openaiProvider,
  openaiResponsesCompatibleProvider,
  type ProviderOptions,
} from './provider.ts'
export { openaiResponsesModel } from './responses.ts'
