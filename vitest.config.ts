import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defaultServerConditions } from 'vite'
import { defineConfig } from 'vitest/config'
import { isShort } from './test/rounds.ts'

const test = (path: string): string => fileURLToPath(new URL(`test/${path}`, import.meta.url))

/** The tests of the library, or of every package: braces of both at once match none of the library's. */
const everywhere = (name: string): readonly string[] => [`test/${name}`, `packages/*/test/${name}`]
/** Tests that have a server or a store of their own, which a file would share with others. */
const apart = [...everywhere('**/{*postgres*,together,soak}.test.ts'), 'packages/postgres/test/**/*.test.ts']
/** Tests that add to prototypes: V8 does not take its fast paths back, for whatever else the process runs. */
const polluting = ['test/*/polluted.test.ts']
/** Those that fill chunks. */
const pollutingChunks = ['test/{history,entry}/polluted.test.ts']

// With fewer than 128 messages no chunk of a record is ever full, nor unread in a session that is opened: here two fill one,
// and two of them a group.
const small = {
  resolve: { alias: [{ find: './chunk-size.ts', replacement: test('history/small-chunks.ts') }] },
  test: { env: { INDELIBLE_SMALL_CHUNKS: 'yes', NODE_OPTIONS: '--conditions=@indelible/source' } },
}

export default defineConfig({
  resolve: { conditions: ['@indelible/source', ...defaultServerConditions] },
  ssr: { resolve: { conditions: ['@indelible/source', ...defaultServerConditions] } },
  test: {
    projects: [
      // Loading the library and fast-check anew for each file would take a third of the processor's time.
      {
        extends: true,
        test: {
          name: 'together',
          isolate: false,
          include: [...everywhere('**/*.test.ts')],
          exclude: [...apart, ...polluting],
        },
      },
      { extends: true, test: { name: 'apart', include: [...apart, ...polluting] } },
      {
        extends: true,
        ...small,
        test: {
          ...small.test,
          name: 'small chunks',
          isolate: false,
          include: ['test/history/*.test.ts', 'test/session/{session,conversation}.property.test.ts'],
          exclude: polluting,
        },
      },
      {
        extends: true,
        ...small,
        test: { ...small.test, name: 'small chunks, apart', include: pollutingChunks },
      },
    ],
    setupFiles: ['test/setup.ts'],
    env: { NODE_OPTIONS: '--conditions=@indelible/source' }, // for processes that tests start from sources
    // Only to end what hangs: no test's result depends on how long it takes.
    testTimeout: isShort ? 900_000 : 6 * 3_600_000,
    hookTimeout: isShort ? 900_000 : 1_800_000,
    expect: { poll: { timeout: 600_000 } },
    slowTestThreshold: 60_000,
    execArgv: ['--max-semi-space-size=32'], // fewer collections of what properties make and drop: 5 to 10 % of their time
    maxWorkers: availableParallelism() + 1, // many tests wait for processes of their own
  },
})
