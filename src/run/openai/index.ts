export type { AdapterOptions } from '../adapter.ts'
export { openaiChatModel } from './chat.ts'
export { openaiResponsesModel } from './responses.ts'
