export { checkKeys, destroyKey, rotateKeys } from './keys.ts'
export { hostKeyOf, hostKeyText, keyRing, newHostKey, type HostKey, type KeyRing } from './ring.ts'
export { decryptBlock } from './row-cipher.ts'
export { withKeys, type KeysOptions } from './with-keys.ts'
