/** What the tokens of several recordings were paid for. */
import type { RecorderSummary } from '@indelible/recorder/internal'

export const sumCauses = (summaries: readonly Pick<RecorderSummary, 'causes'>[]): RecorderSummary['causes'] => {
  const sums = new Map<Parameters<RecorderSummary['causes']['get']>[0], { tokens: number; dollars: number }>()
  for (const { causes } of summaries)
    for (const [cause, { tokens, dollars }] of causes) {
      const sum = sums.get(cause)
      sums.set(cause, { tokens: (sum?.tokens ?? 0) + tokens, dollars: (sum?.dollars ?? 0) + dollars })
    }
  return sums
}
