/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { decodeRecorded } from './anthropic/decode.ts'
export { codecFaultText, type EncodeFault } from './fault.ts'
export { decodeWire } from './admit.ts'
export type { Decode, Codec, Encode } from './codec.ts'
export { answersOf, asContent, isOnePlainText } from './content.ts'
export { parsedInput } from './input.ts'
export { contentOf, isAgentsItem, isText, ItemReading, readingOf, speakers, textsIn } from './items-reading.ts'
export { itemContent, pictureOf, resultText, withKept } from './items-writing.ts'
export { encoderFor, listWriter, type Place, type Writing } from './encoder.ts'
export { joinMarks } from './residual.ts'
export {
  callPart,
  filePart,
  imagePart,
  keepingOf,
  type KeptMeta,
  messageOf,
  reasoningPart,
  resultPart,
  stringIn,
  textPart,
} from './parts.ts'
export { keepResidual, type Kept, mutableCopy, type MutableObject, residualOf, restoreResidual } from './residual.ts'
export { CallReader, isMadeId, nextMadeId, madeId } from './gemini/calls.ts'
export { blockWire, JoinedMessage, type JoinedBlock } from './anthropic/join.ts'
export { JoinedResponse } from './gemini/join.ts'
export { JoinedCompletion } from './openai-chat/join.ts'
export type { ChatGrowth } from './openai-chat/join-calls.ts'
export { JoinedEvents } from './openai-responses/join.ts'
export { createChatDecoder } from './openai-chat/decode.ts'
export { decodeNext, type ListReading } from './admit.ts'
export { readingOfRequest as anthropicReading } from './anthropic/decode.ts'
export { readingOfRequest as geminiReading } from './gemini/decode.ts'
export { readingOfRequest as openaiChatReading } from './openai-chat/decode.ts'
export { readingOfRequest as openaiResponsesReading } from './openai-responses/decode.ts'
export { type Resolved, sourceOf, urlOf } from './source.ts'
export { anthropicUsage, geminiUsage, openaiChatUsage, openaiResponsesUsage, type UsageCounts } from './usage.ts'
