/** What a process loads and runs that stores one message: every file, byte, module of Node and statement takes time before it. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { crc32 } from 'node:zlib'
import { afterAll, expect, it } from 'vitest'
import { root } from '../scripts/run.ts'
import { shortCrc } from '../src/store/sqlite/sum.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-first-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const entry = (path: string): string => JSON.stringify(pathToFileURL(join(root, 'dist/node', path)).href)

const program = `
import { registerHooks } from 'node:module'
import { DatabaseSync, StatementSync } from 'node:sqlite'
const loaded = { files: [], bytes: 0, builtIns: [], prepared: 0, statements: 0 }
registerHooks({
  load(url, context, next) {
    const result = next(url, context)
    loaded.files.push(url.replace(/^.*\\/dist\\/node\\//, ''))
    loaded.bytes += result.source?.length ?? 0
    return result
  },
})
const count = (of, name, what) => {
  const real = of[name]
  of[name] = function (...args) {
    loaded[what] += 1
    return real.apply(this, args)
  }
}
for (const name of ['run', 'get', 'all', 'iterate']) count(StatementSync.prototype, name, 'statements')
count(DatabaseSync.prototype, 'exec', 'statements')
count(DatabaseSync.prototype, 'prepare', 'prepared')
const before = new Set(process.moduleLoadList)
const { createSession, user } = await import(${entry('index.js')})
const { sqliteStore } = await import(${entry('store/sqlite/index.js')})
// Its clock stands still: else the time of the last use is written where the machine is slow.
const store = await sqliteStore({ path: process.argv[2], durability: 'os', now: () => 1_700_000_000_000 })
const session = await createSession(store)
await session.append(user('hello'))
loaded.builtIns = process.moduleLoadList.filter((name) => !before.has(name)).map((name) => name.replace(/^.* /, ''))
console.log(JSON.stringify(loaded))
`

interface Loaded {
  readonly files: readonly string[]
  readonly bytes: number
  readonly builtIns: readonly string[]
  readonly prepared: number
  readonly statements: number
}

it('a process that stores its first message loads little of the library and of Node', () => {
  const path = join(folder, 'first.mjs')
  writeFileSync(path, program)
  const loaded = JSON.parse(
    execFileSync(process.execPath, ['--no-warnings', path, join(folder, 'first.db')], { encoding: 'utf8' }),
  ) as Loaded
  expect(loaded.files.toSorted()).toEqual([
    'chunks/library.js',
    'chunks/sqlite.js',
    'index.js',
    'store/sqlite/index.js',
  ])
  expect(loaded.bytes).toBeLessThan(680_000)
  // Their names in Node. `crypto` has its hash and its random bytes.
  for (const slow of ['zlib', 'perf_hooks', 'internal/fs/promises', 'internal/fs/streams', 'worker_threads', 'http'])
    expect(loaded.builtIns).not.toContain(slow)
  expect(loaded.builtIns).toContain('crypto')
  expect(loaded.prepared).toBeLessThanOrEqual(30)
  expect(loaded.statements).toBeLessThanOrEqual(46)
})

it('has few arrow functions at the top of its files: V8 takes half as long again to compile those', () => {
  for (const name of ['library', 'sqlite']) {
    const code = readFileSync(join(root, 'dist/node/chunks', `${name}.js`), 'utf8')
    const count = (pattern: RegExp): number => code.match(pattern)?.length ?? 0
    const arrows = count(/^(?:var|let|const) \w+ = (?:async )?\([^()]*\) =>/gm)
    expect(arrows).toBeLessThan(count(/^(?:async )?function /gm) / 50)
  }
})

it('the first check sums of a process are those of zlib', () => {
  for (const length of [0, 1, 7, 100, 1024]) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 167 + length) & 255)
    expect(shortCrc(bytes)).toBe(crc32(bytes))
  }
})
