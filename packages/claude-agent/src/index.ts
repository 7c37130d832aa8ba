export { claudeSessionStore, type ClaudeSession, type ClaudeSessionStore, type ClaudeStoreOptions } from './store.ts'
export type { ClaudeEntry, ClaudeKey, ClaudeSummary, FoldSummary } from './wire.ts'
