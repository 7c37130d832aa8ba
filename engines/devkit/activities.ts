/** The activities of the steps. The store, and what stands behind the model, are in the environment. */
import { eventsInStore, historyActivities, type HistoryActivities } from '@indelible/workflows/activities'
import { sqliteStore } from 'indelible/store/sqlite'
import { FatalError, RetryableError } from 'workflow'
import { remoteModel } from '../../packages/workflows/test/engines/remote.ts'

const { STORE = '', CONTROL = '' } = process.env

const open = async (): Promise<HistoryActivities> => {
  const store = await sqliteStore({ path: STORE })
  return historyActivities({
    store,
    registry: { openai: { apiKey: 'k', model: () => remoteModel(CONTROL) } },
    events: eventsInStore(store, { topicOf: ({ action }) => action.split('/')[0] ?? '' }),
    failure: ({ retryable, message, retryAfter }) =>
      retryable ? new RetryableError(message, { retryAfter: retryAfter ?? 200 }) : new FatalError(message),
  })
}

let opened: Promise<HistoryActivities> | undefined

/** Opened once in a process: a bundle of steps can't await at its top. */
export const activities = (): Promise<HistoryActivities> => (opened ??= open())
