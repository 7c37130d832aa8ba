export type { CodecFault, DecodeFault, TranscriptFault } from './fault.ts'
export type { Codec, Decoded, Encoded, EncodeOptions, Loss } from './codec.ts'
export { codecs, type Codecs } from './codecs.ts'
