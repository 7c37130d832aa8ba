/** The recording of `indelible record` without the command: where it is bundled, its thread is too. */
export { beginRecording, type Recording } from '../src/record/recording.ts'
