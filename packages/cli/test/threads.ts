/** What the command does in threads of its own, without the command: where this is bundled, its threads are, too. */
export { resultsOf } from '../src/compare/pool.ts'
export { beginRecording, type Recording } from '../src/record/recording.ts'
