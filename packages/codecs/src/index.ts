export { allCodecs, type AllCodecs } from './all-codecs.ts'
