export { openaiResponses } from './codec.ts'
export type { ResponsesItem } from './wire.ts'
