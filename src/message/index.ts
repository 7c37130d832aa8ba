export type { Json, JsonArray, JsonObject, Path } from '../json/index.ts'
export type { Sequence } from '../sequence/index.ts'
export { cutAnswer, interruptedMark, resultMessages, withOwnCallId } from './answer.ts'
export {
  assistant,
  developer,
  file,
  image,
  interruptedResults,
  noResult,
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
export { erasedMark, erasedMessage, isErased, standIn } from './erased.ts'
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
export {
  createPairing,
  openCalls,
  pairCalls,
  type MetCall,
  type MetResult,
  type OpenCall,
  type PairedCall,
  type Pairing,
} from './pairing.ts'
export {
  mend,
  type Mended,
  renamedCall,
  renamedResult,
  type Repair,
  settle,
  type Settled,
  withContent,
} from './settle.ts'
