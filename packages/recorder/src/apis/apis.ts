import { anthropicApi } from './anthropic.ts'
import type { Api } from './api.ts'
import { geminiApi } from './gemini.ts'
import { openaiChatApi } from './openai-chat.ts'
import { openaiResponsesApi } from './openai-responses.ts'

/** The APIs that are recorded. The first one whose path matches is used. */
export const apis: readonly Api[] = [openaiChatApi, openaiResponsesApi, anthropicApi, geminiApi]
