export { openaiAgents } from './codec.ts'
export type {
  AgentsApplyPatchOutput,
  AgentsComputerOutput,
  AgentsFunctionCall,
  AgentsFunctionResult,
  AgentsItem,
  AgentsReasoning,
  AgentsShellOutput,
  AgentsSpoken,
} from './wire.ts'
