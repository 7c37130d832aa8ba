export { claudeSessionStore, type ClaudeSessionStore, type ClaudeStoreOptions } from './store.ts'
export type { ClaudeEntry } from './wire.ts'
