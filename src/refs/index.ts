export { base64Of, bytesOfBase64, textOfUtf8 } from './base64.ts'
export { decodeRow, encodeRow, takeMessage, type DecodedRow, type EncodedRow, type TakenOut } from './row.ts'
