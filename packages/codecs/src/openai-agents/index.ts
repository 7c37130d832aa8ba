export { openaiAgents } from './codec.ts'
export type {
  AgentsApplyPatchOutput,
  AgentsComputerOutput,
  AgentsFunctionCall,
  AgentsFunctionResult,
  AgentsInput,
  AgentsItem,
  AgentsReasoning,
  AgentsShellOutput,
  AgentsSpoken,
} from './wire.ts'
