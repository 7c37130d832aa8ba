export { openTranscriptDatabase, readTranscriptDatabase, type TranscriptDatabase } from './database.ts'
export type { StoredConversation } from './stored-conversation.ts'
