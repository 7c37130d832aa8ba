export type { AdapterOptions } from '../model/adapter.ts'
export { openaiChatModel } from './chat.ts'
export { openaiResponsesModel } from './responses.ts'
