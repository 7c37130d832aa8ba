/** A Temporal worker for chats, in a process of its own: `node worker.ts` with where everything is in its environment. */
import { ApplicationFailure, Context } from '@temporalio/activity'
import { NativeConnection, Worker } from '@temporalio/worker'
import { eventsInStore, historyActivities } from '@indelible/workflows/activities'
import { sqliteStore } from 'indelible/store/sqlite'
import { remoteModel, remoteTool } from '../../packages/workflows/test/engines/remote.ts'

const { ADDRESS = '', NAMESPACE = '', STORE = '', CONTROL = '', BUNDLE = '', QUEUE = 'chat' } = process.env

const store = await sqliteStore({ path: STORE })
const activities = historyActivities({
  store,
  registry: { openai: { apiKey: 'k', model: () => remoteModel(CONTROL) } },
  tools: [remoteTool(CONTROL), remoteTool(CONTROL, 'dangerous')],
  events: eventsInStore(store, { topicOf: ({ action }) => action.split('/')[0] ?? '' }),
  heartbeat: (beat) => Context.current().heartbeat(beat),
  heartbeatEvery: 500,
  invocation: () => {
    const { info, cancellationSignal: signal } = Context.current()
    // A worker that shuts down aborts too, and then the activity is tried again: only a request is for good.
    return {
      attempt: info.attempt,
      signal,
      last: () => Context.current().cancellationDetails?.cancelRequested === true,
    }
  },
  failure: ({ name, message, retryable, tag, status, retryAfter }) =>
    ApplicationFailure.create({
      type: name,
      message,
      nonRetryable: !retryable,
      details: [{ tag, status: status ?? null }],
      ...(retryAfter !== undefined && { nextRetryDelay: retryAfter }),
    }),
})

const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: ADDRESS }),
  namespace: NAMESPACE,
  taskQueue: QUEUE,
  activities,
  workflowBundle: { codePath: BUNDLE },
  shutdownGraceTime: '1 second',
  stickyQueueScheduleToStartTimeout: '1 second', // how long a workflow waits for a worker that died
})
process.stdout.write('ready\n')
await worker.run()
await store.close()
