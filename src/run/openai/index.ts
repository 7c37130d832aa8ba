export { openaiChatModel } from './chat.ts'
