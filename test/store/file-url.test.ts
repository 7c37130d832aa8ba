/** The file of a store as a `file:` URL: opened as a URL, or refused with a sentence. No file of another name appears. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { createSession, listSessions, user } from 'indelible'
import { backupSqlite, compactSqlite, sqliteStore } from 'indelible/store/sqlite'
import { filePath } from '../../src/store/sqlite/file-path.ts'
import { ok } from '../task-results.ts'

const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'file url '))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

it('opens the file of an absolute URL, with what is encoded in it, and the same file by its path', async () => {
  const home = folder()
  mkdirSync(join(home, 'ä b'))
  const path = join(home, 'ä b', 'a#1.db')
  const { href } = pathToFileURL(path)
  const store = await ok(sqliteStore({ path: href }))
  await ok(createSession(store, { id: 's', messages: [user('hi')] }))
  await store.close()()
  expect(readdirSync(join(home, 'ä b'))).toEqual(['a#1.db'])
  const again = await ok(sqliteStore({ path, create: false }))
  expect((await ok(listSessions(again))).sessions.map(({ id }) => id)).toEqual(['s'])
  await again.close()()
  await ok(backupSqlite({ path: href, to: pathToFileURL(join(home, 'copy.db')).href }))
  await ok(compactSqlite({ path: pathToFileURL(join(home, 'copy.db')).href }))
  expect(readdirSync(home).toSorted()).toEqual(['copy.db', 'ä b'])
})

it('reads a URL without a slash as a path from the current folder, as SQLite does', () => {
  expect(filePath('sqliteStore', 'path', 'file:agent.db')).toBe(join(process.cwd(), 'agent.db'))
  expect(filePath('sqliteStore', 'path', 'file:./data/a%20b.db')).toBe(join(process.cwd(), 'data', 'a b.db'))
  expect(filePath('sqliteStore', 'path', 'notes: today.db')).toBe(join(process.cwd(), 'notes: today.db'))
})

it.each([
  ['file:agent.db?mode=ro', 'a URL with parameters; pass the path alone, and `readOnly` or `create: false` as options'],
  ['file::memory:?cache=shared', 'a URL with parameters'],
  ['file://example.com/agent.db', 'no URL of a local file'],
  ['file:%zz.db', 'no URL of a local file'],
  ['https://example.com/agent.db', 'a URL of another kind; expected a path or a file: URL'],
  ['libsql://example.com', 'a URL of another kind'],
  [':memory:', 'memoryStore() is the store in memory'],
  ['', 'expected the path of the store'],
])('refuses %s with a sentence', (path, sentence) => {
  expect(() => sqliteStore({ path })).toThrow(sentence)
})
