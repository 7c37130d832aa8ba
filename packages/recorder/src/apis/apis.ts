/** The APIs that are recorded. */
import { anthropicApi } from './anthropic.ts'
import type { Api } from './api.ts'
import { geminiApi } from './gemini.ts'
import { openaiChatApi } from './openai-chat.ts'
import { openaiResponsesApi } from './openai-responses.ts'

/** Each of them. The first one whose path fits is called. */
export const apis: readonly Api[] = [openaiChatApi, openaiResponsesApi, anthropicApi, geminiApi]
