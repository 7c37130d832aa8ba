export { openaiChat } from './codec.ts'

export type { ChatMessage } from './wire.ts'
