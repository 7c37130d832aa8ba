/** A chat on DBOS, in a process of its own: `node dbos-worker.ts URL CONTROL WORKFLOW_ID`. Whoever runs it again goes on. */
import { DBOS } from '@dbos-inc/dbos-sdk'
import {
  createChat,
  eventsInStore,
  historyActivities,
  RetryableFailure,
  type ChatEnd,
  type ChatSignal,
  type HistoryActivities,
} from '../../src/activities/index.ts'
import { postgresStore } from '@indelible/postgres'
import { remoteModel, remoteTool } from './remote.ts'

const [url = '', control = '', workflowID = ''] = process.argv.slice(2)

const store = await postgresStore({ timeout: 600_000, connectionString: url, schema: 'content' })
const activities = historyActivities({
  store,
  registry: { openai: { apiKey: 'k', model: () => remoteModel(control) } },
  tools: [remoteTool(control)],
  events: eventsInStore(store, { topicOf: ({ action }) => action.split('/')[0] ?? '' }),
})

/** An activity as a step: what is worth another try is tried again, after as long as the provider says. */
const step = <Name extends 'stream' | 'runTool' | 'keepRefs' | 'endStream'>(name: Name): HistoryActivities[Name] =>
  (async (input: never) =>
    DBOS.runStep(async () => activities[name](input), {
      name,
      retriesAllowed: true,
      maxAttempts: 10,
      intervalSeconds: 0.1,
      shouldRetry: async (error) => {
        if (!(error instanceof RetryableFailure)) return false
        await new Promise((resolve) => setTimeout(resolve, error.retryAfter ?? 0))
        return true
      },
    })) as unknown as HistoryActivities[Name]

const chat = DBOS.registerWorkflow(
  async (): Promise<ChatEnd> => {
    const talk = createChat({ id: DBOS.workflowID ?? '', model: { name: 'gpt-x' } })
    const take = async (seconds: number): Promise<boolean> => {
      const signal = await DBOS.recv<ChatSignal>('chat', seconds)
      if (signal !== null) talk.signal(signal)
      return signal !== null
    }
    return talk.run({
      activities: {
        stream: step('stream'),
        runTool: step('runTool'),
        keepRefs: step('keepRefs'),
        endStream: step('endStream'),
      },
      wait: async (ready) => {
        while (!ready()) await take(3600)
      },
      poll: async () => {
        while (await take(0));
      },
    })
  },
  { name: 'chat' },
)

DBOS.setConfig({
  name: 'indelible',
  systemDatabaseUrl: url,
  applicationVersion: '1',
  logLevel: 'error',
  runAdminServer: false,
})
await DBOS.launch()
const handle = await DBOS.startWorkflow(chat, { workflowID })() // one that has begun goes on
process.stdout.write('ready\n')
try {
  process.stdout.write(`${JSON.stringify(await handle.getResult())}\n`)
} catch (error) {
  const { name, message, tag, status } = error as Error & { readonly tag?: string; readonly status?: number }
  process.stdout.write(`${JSON.stringify({ failed: { name, message, tag, status } })}\n`)
}
await DBOS.shutdown()
await store.close()
