/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { readLangChainMessage } from './langchain/decode.ts'
