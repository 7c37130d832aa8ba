export type { CodecFault, DecodeFault, EncodeFault, TranscriptFault } from './fault.ts'
export type { Allowed, Codec, Decoded, Encode, Encoded, EncodeOptions, Loss, UnsettledOptions } from './codec.ts'
export { codecs, type Codecs } from './codecs.ts'
