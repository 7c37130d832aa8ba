export {
  openTranscriptDatabase,
  readTranscriptDatabase,
  type StoredConversation,
  type TranscriptDatabase,
} from './database.ts'
