/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export type { TextFault } from './fault.ts'
export { type Fill, type TextOptions, appendText } from './text.ts'
