export { geminiModel, type GeminiOptions } from './model.ts'
