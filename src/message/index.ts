export type { Json, JsonArray, JsonObject, Path } from '../json/index.ts'
export type { Sequence } from '../sequence/index.ts'
export { cutAnswer, interruptedMark, resultMessages } from './answer.ts'
export {
  assistant,
  developer,
  file,
  image,
  provider,
  reasoning,
  refusal,
  system,
  text,
  toolCall,
  toolResult,
  toolResultPart,
  user,
} from './construct.ts'
export { checkMessage, decodeMessage } from './decode.ts'
export type { MessageFault, PairingFault, PairingProblem, PartPlace } from './fault.ts'
export {
  isReasoning,
  isRole,
  isText,
  isToolCall,
  isToolResult,
  roles,
  textOf,
  toolCallsOf,
  toolResultsOf,
} from './guards.ts'
export type {
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
export { interruptedResults, mend, settle, type Mended, type Repair, type Settled } from './settle.ts'
