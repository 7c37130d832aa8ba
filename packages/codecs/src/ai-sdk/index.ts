export { aiModelMessages, aiUiMessages } from './codec.ts'
export type { AiUiMessage } from './ui-wire.ts'
export type { AiModelMessage } from './wire.ts'
