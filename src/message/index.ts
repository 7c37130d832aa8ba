export type { Json, JsonArray, JsonObject, Path } from '../json/index.ts'
export type { Sequence } from '../sequence/index.ts'
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
export { checkMessage, decodeMessage, messageFaultText, type MessageFault } from './decode.ts'
export {
  isBlockId,
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
  BlockId,
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
export { codecFaultText, type CodecFault } from './codec-fault.ts'
export type { Codec, Decoded, Encoded, EncodeOptions, Loss } from './codec.ts'
export { codecs, type CodecFormat, type Codecs } from './codecs.ts'
export { openCalls, pairCalls, type OpenCall, type PairedCall } from './pairing.ts'
export { sourceOf } from './source.ts'
export {
  interruptedResults,
  mend,
  pairingFaultText,
  problemText,
  settle,
  type Mended,
  type PairingFault,
  type PairingProblem,
  type PartPlace,
  type Repair,
  type Settled,
} from './settle.ts'
