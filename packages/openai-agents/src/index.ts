export { AgentsSession, agentsSession, type AgentsSessionOptions } from './session.ts'
export { copyItems, type ItemSource } from './migrate.ts'
