/** What the command does in a thread of its own, without the command: where this is bundled, its thread is, too. */
export { beginRecording, type Recording } from '../src/record/recording.ts'
