export { cl100k, o200k } from './tokenizers.ts'
