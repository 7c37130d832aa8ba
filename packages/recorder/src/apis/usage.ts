/** Token counts in OpenAI's format. */
import { present } from 'indelible/internal/json'
import type { Usage } from 'indelible/internal/notes'
import { numberIn, type Wire } from './api.ts'

/** The token counts in an answer's `usage`. */
export const openaiUsage = (answer: Wire, input: string, output: string, details: string): Usage | undefined => {
  const [sent, received] = [numberIn(answer, 'usage', input), numberIn(answer, 'usage', output)]
  if (sent === undefined || received === undefined) return undefined
  const cached = numberIn(answer, 'usage', details, 'cached_tokens')
  const written =
    numberIn(answer, 'usage', details, 'cache_write_tokens') ??
    numberIn(answer, 'usage', details, 'cache_creation_tokens')
  return { input: sent, output: received, ...present({ cacheRead: cached, cacheWrite: written }) }
}
