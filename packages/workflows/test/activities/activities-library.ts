/** What a process of a test needs of activities, in one file to load. */
export { assistant, memoryStore, user } from 'indelible'
export { scriptedModel } from 'indelible/run'
export { historyActivities } from '@indelible/workflows/activities'
export { createRefHistory } from '@indelible/workflows/refs'
