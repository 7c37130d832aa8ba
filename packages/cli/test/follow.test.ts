/** `indelible show --follow`: a process of its own that prints what others append. */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { spawn as spawnPty } from '@lydell/node-pty'
import { afterAll, expect, it } from 'vitest'
import { assistant, createSession, toolCall, user } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { folder, indelible, main } from './indelible.ts'

afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('show --follow says at a terminal that it is waiting for more', async () => {
  const path = join(folder, 'watched.db')
  const store = await sqliteStore({ path })
  await createSession(store, { id: 's', messages: [user('hello')] })
  // Standard output goes to a file, as people do; standard error is the terminal.
  const pty = spawnPty(
    'sh',
    ['-c', `exec "${process.execPath}" "${main}" show s --follow --store "${path}" > "${path}.out"`],
    {},
  )
  let shown = ''
  pty.onData((data) => {
    shown += data
    if (shown.includes('Ctrl-C')) pty.write('\u0003')
  })
  expect(await new Promise((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)))).toBe(0)
  expect(shown).toContain('s: prints new rows until Ctrl-C')
  await store.close()
})

it('show --follow prints existing messages, then those of another process, until the session is sealed', async () => {
  const path = join(folder, 'tail.db')
  const store = await sqliteStore({ path })
  const session = await createSession(store, { id: 's' })
  await session.append([user('not shown'), user('hello\u001b[2J there')])
  const child = spawn(process.execPath, [main, 'show', 's', '--follow', '--store', path, '--from', '-1'])
  const lines: string[] = []
  let news: () => void = () => {}
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line)
    news()
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  while (lines.length < 1 && child.exitCode === null)
    await Promise.race([ended, new Promise<void>((resolve) => (news = resolve))])
  await session.append(assistant('Let me see.', toolCall('c1', 'read', '{"path":"a"}')))
  await session.note({ type: 'pin', position: 1 })
  await session.seal()
  expect(await ended).toBe(0)
  expect(lines.every((line) => / \d\d:\d\d:\d\d /.test(line))).toBe(true)
  expect(
    lines.map((line) =>
      line
        .trim()
        .replace(/\d\d:\d\d:\d\d {2}/, '')
        .replaceAll(/ {2,}/g, ' | '),
    ),
  ).toEqual([
    '1 | user | hello there',
    '2 | assistant | Let me see. ▸ read {"path":"a"}',
    '3 | note | {"type":"pin","position":1}',
    expect.stringContaining('4 | note | {"type":"seal"'),
  ])
  const json = indelible(['show', 's', '--follow', '--store', path, '--from', '2', '--json'])
  expect(json.status).toBe(0)
  expect(json.lines.slice(0, 2).map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { position: 2, kind: 'entry', index: 2, at: expect.any(Number), message: { role: 'assistant' } },
    { position: 3, kind: 'note', index: 0, note: { type: 'pin', position: 1 } },
  ])
  const all = indelible(['show', 's', '--follow', '--store', path, '--json']) // the last ten, and there are five
  expect(all.lines.filter(Boolean).map((line) => (JSON.parse(line) as { position: number }).position)).toEqual([
    0, 1, 2, 3, 4,
  ])
  expect(indelible(['show', 'none', '--follow', '--store', path])).toMatchObject({ status: 1 })
  await store.close()
})

it('show --follow does not show the text of an altered message or note', async () => {
  const path = join(folder, 'altered.db')
  const store = await sqliteStore({ path })
  const session = await createSession(store, { id: 's', messages: [user('send 100 euros'), user('thanks')] })
  await session.note({ type: 'pin', position: 1 })
  await session.seal()
  await store.close()
  const db = new DatabaseSync(path)
  db.exec(`update row set body = replace(replace(body, '100', '900'), '"position":1', '"position":0')`)
  db.close()
  const damaged = 'the row was altered after it was appended'
  const tailed = indelible(['show', 's', '--follow', '--store', path])
  const shown = tailed.lines.map((line) => line.slice(17))
  expect(tailed).toMatchObject({
    status: 1,
    stderr: `s: row 0 is damaged: ${damaged}\ns: row 2 is damaged: ${damaged}\n`,
  })
  expect(shown.slice(0, 3)).toEqual([`damaged    ${damaged}`, 'user       thanks', `damaged    ${damaged}`])
  const json = indelible(['show', 's', '--follow', '--json', '--store', path]).lines.slice(0, 3)
  const parsed = json.map((line) => JSON.parse(line) as object)
  expect(parsed).toMatchObject([{ position: 0, damaged }, { message: { role: 'user' } }, { position: 2, damaged }])
  expect(json.join('')).not.toContain('900 euros')
})

it('show --follow ends on Ctrl-C', async () => {
  const path = join(folder, 'interrupted.db')
  const store = await sqliteStore({ path })
  const session = await createSession(store, { id: 's' })
  await session.append(user('hello'))
  const child = spawn(process.execPath, [main, 'show', 's', '--follow', '--store', path])
  const ended = new Promise((resolve) => child.on('close', resolve))
  await Promise.race([ended, new Promise((resolve) => child.stdout.once('data', resolve))])
  child.kill('SIGINT')
  expect(await ended).toBe(0)
  await store.close()
})
