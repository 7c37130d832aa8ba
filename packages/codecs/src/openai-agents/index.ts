export { openaiAgents } from './codec.ts'
export type { AgentsInput, AgentsItem } from './wire.ts'
