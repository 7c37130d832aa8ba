export { chatStore, type Chat, type ChatStore, type NewChat } from './chats.ts'
export { chatStreams, type ChatStreams, type ResumeOptions, type StreamOptions } from './resume.ts'
export { toUIMessageStream, type UIStreamOptions } from './stream.ts'
export { aiSdkModel } from './model.ts'
