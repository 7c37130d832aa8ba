export { encodeValue, redacted, type EncodedValue, type EncodeLimits, type EncodeOptions, type Redact } from './encode.ts'
