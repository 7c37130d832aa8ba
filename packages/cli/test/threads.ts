/** What the command does in threads of its own, without the command: where this is bundled, its threads are, too. */
export { replaysOf } from '../src/model/replay-pool.ts'
export { beginRecording, type Recording } from '../src/record/recording.ts'
