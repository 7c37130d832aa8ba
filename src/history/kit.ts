/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export { type Fill, appendText } from './text.ts'
