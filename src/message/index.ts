export type { Sequence } from '../sequence/index.ts'

export {
  assistant,
  developer,
  file,
  image,
  interruptedResults,
  provider,
  reasoning,
  refusal,
  system,
  text,
  toolCall,
  toolResult,
  user,
} from './construct.ts'
export { decodeMessage } from './decode.ts'
export type { MessageFault, PairingFault, PairingProblem } from './fault.ts'
export { isText, isToolCall, isToolResult, textOf, toolCallsOf, toolResultsOf, isErased } from './guards.ts'
export type {
  ErasedPart,
  FilePart,
  ImagePart,
  Message,
  Meta,
  Part,
  ProviderPart,
  ReasoningPart,
  RefusalPart,
  ResultPart,
  Role,
  Source,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from './message.ts'
export { openCalls, pairCalls, type OpenCall, type PairedCall } from './pairing.ts'
export { mend, type Mended, type Repair, settle, type Settled } from './settle.ts'
