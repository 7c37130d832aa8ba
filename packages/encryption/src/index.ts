export { checkKeys, destroyKey, rotateKeys } from './keys.ts'
export { hostKeyOf, hostKeyText, keyRing, newHostKey, type HostKey, type KeyRing } from './ring.ts'

export { withKeys, type KeysOptions } from './with-keys.ts'
