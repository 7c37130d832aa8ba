/**
 * What tests start as processes and threads of their own. A process that loads the library file by file takes 0.3 to 0.5 s of
 * processor time, a bundle of the same files a third of it. `npm test` bundles them once a run (scripts/programs.ts). Everywhere
 * else, in `npm run check` too, they are started from their sources.
 */
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../scripts/run.ts'

/** Their files; their names differ. */
export const programs = [
  'src/cli/main.ts',
  'src/cli/record-thread.ts',
  'src/cli/replay-thread.ts',
  'test/adapters/ai-sdk-process.ts',
  'test/adapters/openai-agents-process.ts',
  'test/cli/command-thread.ts',
  'test/encryption/crash-process.ts',
  'test/engines/dbos-worker.ts',
  'test/evidence/hold-process.ts',
  'test/library.ts',
  'test/recorder/bounds-process.ts',
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
  'test/store/postgres-appender.ts',
  'test/store/postgres-elsewhere.ts',
  'test/store/postgres-watcher.ts',
  'test/store/sqlite-elsewhere.ts',
] as const

/** Where the bundles are: as deep as `src/cli`, since the command finds package.json and the page from its own place. */
export const bundles: string = join(root, '.cache/programs')

/** The path of a program, to start it. */
export const program = (path: (typeof programs)[number]): string =>
  process.env['INDELIBLE_PROGRAMS'] === 'bundled' ? join(bundles, `${basename(path, '.ts')}.js`) : join(root, path)

/** The same, to import it. */
export const programUrl = (path: (typeof programs)[number]): string => pathToFileURL(program(path)).href
