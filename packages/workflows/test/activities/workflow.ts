/** A workflow, as somebody would write it: bundled on its own, it runs in a sandbox. */
import { chatStep, type ChatStep, type HistoryActivities } from '../../src/activities/index.ts'
import { createRefHistory, type MessageRef } from '../../src/refs/index.ts'

export const main = async (activities: Pick<HistoryActivities, 'stream'>, ref: string): Promise<string> => {
  const history = createRefHistory({ from: [JSON.parse(ref) as MessageRef] })
  const steps: ChatStep[] = []
  for (const turn of [1, 2])
    steps.push(await chatStep(activities, history, { action: `turn ${turn}`, model: { name: 'gpt-x' } }))
  return JSON.stringify({ steps, history })
}
