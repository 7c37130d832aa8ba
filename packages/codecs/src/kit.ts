/** Entry for the packages of this repository, which are released together. No stability promise. */
export { readLangChainMessage } from './langchain/decode.ts'
