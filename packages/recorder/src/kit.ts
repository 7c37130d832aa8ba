/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export { sentEntries } from './receipt.ts'
export { carriesConversation } from './wire.ts'
