export { digestOf, portableSha256, type Hash } from './sha256.ts'
