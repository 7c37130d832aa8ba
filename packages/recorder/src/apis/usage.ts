/** Token counts in OpenAI's format. */
import type { Usage } from 'indelible/notes/kit'
import { numberIn, type Wire } from './api.ts'

/** The token counts in an answer's `usage`. */
export const openaiUsage = (answer: Wire, input: string, output: string, details: string): Usage | undefined => {
  const [sent, said] = [numberIn(answer, 'usage', input), numberIn(answer, 'usage', output)]
  if (sent === undefined || said === undefined) return undefined
  const cached = numberIn(answer, 'usage', details, 'cached_tokens')
  return { input: sent, output: said, ...(cached !== undefined && { cacheRead: cached }) }
}
