export { attachedTo, lacking } from './attached.ts'
export { againstStoring, isPlaceholder, placeholderOf } from './placeholder.ts'
export { decodeRow, encodeRow, takeMessage, type DecodedRow, type EncodedRow, type TakenOut } from './row.ts'
