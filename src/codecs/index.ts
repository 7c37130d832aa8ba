export { type CodecFault } from './fault.ts'
export type { Codec, Decoded, Encoded, EncodeOptions, Loss } from './codec.ts'
export { codecs, type CodecFormat, type Codecs } from './codecs.ts'
export { sourceOf } from './source.ts'
