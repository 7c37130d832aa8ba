/**
 * What tests start as processes and threads of their own. A process that loads the library file by file takes 0.3 to 0.5 s of
 * processor time, a bundle of the same files a third of it. `npm test` bundles them once a run (scripts/programs.ts), and starts
 * the command as it was built, which loads only what a command needs. Everywhere else, in `npm run check` at full size
 * too, they are started from their sources.
 */
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../scripts/run.ts'

/** Their files; their names differ. */
export const programs = [
  'packages/cli/src/record/record-thread.ts',
  'packages/ai-sdk/test/ai-sdk-process.ts',
  'packages/openai-agents/test/openai-agents-process.ts',
  'packages/cli/test/command-thread.ts',
  'packages/cli/test/threads.ts',
  'packages/encryption/test/crash-process.ts',
  'packages/workflows/test/activities/activities-library.ts',
  'packages/workflows/test/engines/dbos-worker.ts',
  'packages/evidence/test/hold-process.ts',
  'test/library.ts',
  'packages/recorder/test/bounds-process.ts',
  'packages/records/test/caller-process.ts',
  'packages/transcripts/test/stream-memory.ts',
  'test/run/kills-agent.ts',
  'test/run/soak-agent.ts',
  'test/run/turns-process.ts',
  'test/search/search-process.ts',
  'test/session/erase-process.ts',
  'test/session/follow-process.ts',
  'test/session/import-process.ts',
  'test/session/lease-process.ts',
  'test/session/soak-process.ts',
  'test/session/writer-process.ts',
  'test/store/creator-thread.ts',
  'test/store/open-process.ts',
  'packages/postgres/test/postgres-appender.ts',
  'packages/postgres/test/postgres-elsewhere.ts',
  'packages/postgres/test/postgres-watcher.ts',
  'test/store/sqlite-elsewhere.ts',
] as const

/** Where the bundles are: in the command's package, since it finds package.json and the page from its own place. */
export const bundles: string = join(root, 'packages/cli/.cache/programs')

/** Whether they are bundled. */
export const areBundled: boolean = process.env['INDELIBLE_PROGRAMS'] === 'bundled'

/** The path of a program, to start it. */
export const program = (path: (typeof programs)[number]): string =>
  areBundled ? join(bundles, `${basename(path, '.ts')}.js`) : join(root, path)

/** The path of the command, to start it. */
export const command: string = join(root, areBundled ? 'packages/cli/dist/bin/main.js' : 'packages/cli/src/main.ts')

/** The same, to import it. */
export const programUrl = (path: (typeof programs)[number]): string => pathToFileURL(program(path)).href
