export { AgentsSession, agentsSession, type AgentsSessionOptions } from './session.ts'
export { copyItems } from './migrate.ts'
