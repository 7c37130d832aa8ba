/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export { hostKeyOf } from './ring.ts'
export { decryptBlock } from './row-cipher.ts'
