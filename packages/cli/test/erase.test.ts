/** `indelible erase`, `hold` and `release`, as a person runs them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { assistant, createSession, forkSession, user } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { indelible, writeTestFile } from './indelible.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-erase-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let stores = 0
const filled = async (): Promise<readonly string[]> => {
  const path = join(folder, `${stores++}.db`)
  const store = await sqliteStore({ path })
  const messages = [user('My name is Grace Hopper of Arlington.'), assistant('Hello, Grace.'), user('A compiler?')]
  for (const id of ['a', 'b']) await (await createSession(store, { id, messages })).close()
  await store.close()
  return ['--store', path]
}
const why = ['--reason', 'request 812', '--by', 'ann']

describe('indelible erase', () => {
  it('erases by position and prints receipts that check-proof accepts; verify, show and the ledger report it', async () => {
    const store = await filled()
    const erased = indelible(['erase', 'a', '0-1', '--yes', ...why, ...store])
    expect(erased.stderr).toBe('')
    expect(erased.stdout).toMatch(/^a: erased 2 messages \(0-1\), recorded in the ledger at 1:[0-9a-f]{64}\n/)
    expect(erased.stdout).toContain('  remains: the same text in b message 0')
    expect(erased.stdout).toContain('  remains: the digests of 2 rows have no salt')
    expect(indelible(['verify', 'a', ...store]).stdout).toMatch(
      /^a: good, 2 of 3 messages erased \(positions 0-1\), head 3:/,
    )
    const shown = indelible(['show', 'a', ...store]).stdout
    expect([shown.includes('[erased]'), shown.includes('Grace')]).toEqual([true, false])
    expect(indelible(['ledger', 'show', ...store]).stdout).toMatch(/^a {2}2 rows erased by ann: request 812 {2}\d{4}/)
    const receipt = indelible(['erase', 'a', '0', '--yes', '--json', ...store]).stdout
    const file = join(folder, 'receipt.json')
    writeFileSync(file, receipt)
    const { size, root } = (
      JSON.parse(receipt) as { readonly ledger: { readonly size: number; readonly root: string } }
    ).ledger
    const checked = indelible(['prove', '--check', file, '--head', `${size}:${root}`])
    const line = `2 messages erased for "a" by ann (request 812), in the ledger with the head ${size}:${root}`
    expect(checked.stderr).toBe(`${line}\n`)
    expect(indelible(['prove', '--check', file]).stderr).toBe(
      `${line}, as the receipt itself states; pass --head to compare it with a head that you know\n`,
    )
  })
  it('finds messages by pattern and age in every session and skips held ones', async () => {
    const store = await filled()
    expect(indelible(['erase', '--matching', 'GRACE', '--dry-run', ...store]).stdout).toBe(
      'b: 2 messages (0-1) would be erased\na: 2 messages (0-1) would be erased\n',
    )
    expect(indelible(['erase', '--older-than', '1d', '--dry-run', ...store]).stderr).toBe('found no message to erase\n')
    expect(indelible(['hold', 'a', '--reason', 'case 14', '--by', 'ann', ...store]).stdout).toBe('a: held\n')
    const some = indelible(['erase', '--matching', 'grace', '--yes', ...why, ...store])
    expect(some.stdout).toMatch(/^b: erased 2 messages \(0-1\)/)
    expect(some).toMatchObject({ status: 0, stderr: 'a: held by ann (case 14); 2 messages (0-1) skipped\n' })
    expect(indelible(['remove', 'a', '--yes', ...store])).toMatchObject({ status: 1 })
    expect(indelible(['ledger', 'verify', ...store]).stdout).toContain('1 held, 2 rows erased')
    expect(indelible(['hold', '--release', 'a', ...store]).stdout).toBe('a: released\n')
    expect(indelible(['remove', 'a', '--yes', ...store])).toMatchObject({ status: 0 })
  })
  it('lists mark every session that has the erased messages, also forks and originals', async () => {
    const store = await filled()
    const file = await sqliteStore({ path: store[1] as string })
    await (await forkSession(file, 'a', { id: 'one', at: 1 })).close()
    await (await forkSession(file, 'a', { id: 'three', at: 3 })).close()
    await (await forkSession(file, 'three', { id: 'two', at: 2 })).close()
    await file.close()
    const marks = () =>
      indelible(['list', '--json', '--sort', 'id', ...store])
        .lines.slice(0, -1)
        .map((line) => {
          const { id, erased } = JSON.parse(line) as { readonly id: string; readonly erased?: number }
          return [id, erased]
        })
    expect(indelible(['erase', 'a', '1', '--yes', ...why, ...store]).status).toBe(0)
    expect(marks()).toEqual([['a', 1], ['b', undefined], ['one', undefined], ['three', 1], ['two', 1]]) // oxfmt-ignore
    expect(indelible(['erase', 'two', '0', '--yes', ...why, ...store]).status).toBe(0)
    expect(marks()).toEqual([['a', 2], ['b', undefined], ['one', 1], ['three', 2], ['two', 2]]) // oxfmt-ignore
  })
  it('lists held messages before erasing and fails if all are held', async () => {
    const store = await filled()
    const file = await sqliteStore({ path: store[1] as string })
    await (await forkSession(file, 'a', { id: 'fork', at: 1 })).close()
    await file.close()
    indelible(['hold', 'fork', '--reason', 'case 14', '--by', 'ann', ...store])
    indelible(['hold', 'b', ...store])
    const dry = indelible(['erase', '--matching', 'grace', '--dry-run', ...store])
    expect([dry.status, dry.stdout.split('\n').toSorted(), dry.stderr]).toEqual([
      0,
      [
        '',
        'a: 1 message (1) would be erased',
        'a: held with fork, which shares them, by ann (case 14); 1 message (0) would stay',
        'b: held; 2 messages (0-1) would stay',
        'fork: held by ann (case 14); 1 message (0) would stay',
      ],
      '',
    ])
    expect(indelible(['erase', 'a', '0', '--dry-run', ...store]).stdout).toBe(
      'a: held with fork, which shares them, by ann (case 14); 1 message (0) would stay\n',
    )
    expect(indelible(['erase', 'a', '0-1', '--yes', ...store])).toMatchObject({ status: 1, stdout: '' })
    const some = indelible(['erase', '--matching', 'grace', '--yes', ...store])
    expect([some.status, some.stdout]).toEqual([0, expect.stringMatching(/^a: erased 1 message \(1\)/)])
    expect(some.stderr).toContain('a: held with fork, which shares them, by ann (case 14); 1 message (0) skipped')
    const none = indelible(['erase', '--matching', 'grace', '--yes', ...store])
    expect([none.status, none.stdout]).toEqual([1, ''])
    expect(none.stderr).toContain('every found message is held: nothing was erased')
  })
  it('reports which messages were held and which were not', async () => {
    const store = await filled()
    expect(indelible(['hold', '--release', 'a', ...store])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: 'a: was not held\nindelible: 1 session was not held\n',
    })
    indelible(['hold', 'a', '--by', 'ann', ...store])
    expect(indelible(['hold', 'a', '--by', 'bob', ...store]).stdout).toBe('a: held by ann already\n')
    const both = indelible(['hold', '--release', 'a', 'b', ...store])
    expect([both.status, both.stdout]).toEqual([1, 'a: released\n'])
  })
  it('proves when and why a message was erased', async () => {
    const store = await filled()
    const head = indelible(['prove', 'a', ...store]).stdout.trim()
    const before = indelible(['prove', 'a', '1', ...store]).stdout
    const done = indelible(['erase', 'a', '1', '--yes', ...why, ...store]).stdout
    const ledger = /recorded in the ledger at (\S+)/.exec(done)?.[1] ?? ''
    const proved = indelible(['prove', 'a', '-2', ...store])
    expect([proved.status, proved.stderr]).toEqual([
      0,
      expect.stringMatching(/^message 1 of a was erased at \d{4}-.* by ann \(request 812\): the proof has its leaf/),
    ])
    const file = writeTestFile('erased.json', proved.stdout)
    const checked = indelible(['prove', '--check', file, '--head', head, '--ledger-head', ledger])
    expect(JSON.parse(checked.stdout)).toMatchObject({ row: 1, id: 'a', by: 'ann', reason: 'request 812' })
    expect(checked.stderr).toMatch(
      /^row 1 of the record of messages and notes with the head 3:\w+ has this leaf, and was erased at 20\d\d-\S+ by ann \(request 812\), according to the ledger with the head 1:\w+\n$/,
    )
    expect(indelible(['verify', 'a', ...store]).stdout).toMatch(
      /^a: good, 1 of 3 messages erased \(position 1\), head 3:/,
    )
    expect(indelible(['prove', '--check', writeTestFile('before.json', before), '--head', head])).toMatchObject({
      status: 0,
    })
    const other = `3:${'ab'.repeat(32)}`
    const own = indelible(['prove', '--check', file])
    expect([own.status, own.stderr]).toEqual([0, expect.stringContaining('both heads come from the proof itself')])
    expect(indelible(['prove', '--check', file, '--head', other, '--ledger-head', ledger])).toMatchObject({ status: 1 })
    expect(indelible(['prove', '--check', file, '--head', head, '--ledger-head', other])).toMatchObject({ status: 1 })
    expect(indelible(['prove', '--check', file, '--head', head])).toMatchObject({ status: 2 })
  })
  it('reports remaining copies of a text by message position or note row', async () => {
    const path = join(folder, 'remains.db')
    const store = await sqliteStore({ path })
    const session = await createSession(store, {
      id: 'n',
      messages: [user('0'), user('1'), user('Grace of Arlington')],
      metadata: { from: { title: 'About Grace of Arlington', format: 'claude-code' } },
    })
    await session.note({ type: 'pin', position: 0 })
    await session.note({ type: 'pin', position: 1 })
    await session.append(user('You said: Grace of Arlington'))
    await session.note({ type: 'tool_started', callId: 'c', name: 'find', arguments: '{"of":"Grace of Arlington"}' })
    await session.close()
    await store.close()
    const erased = indelible(['erase', 'n', '2', '--yes', '--store', path])
    expect(erased.stdout).toContain('  remains: the same text in n message 3, n note (row 6)\n')
    const inTitle = 'in the metadata or the id of n; "indelible rename n TITLE" replaces a title\n'
    expect(erased.stdout).toContain(`  remains: the same text ${inTitle}`)
    expect(indelible(['rename', 'n', 'Another', '--store', path]).status).toBe(0)
    expect(indelible(['show', 'n', '3', '--store', path]).stdout).toContain('You said: Grace of Arlington')
    const [receipt] = indelible(['erase', 'n', '2', '--yes', '--json', '--store', path]).lines
    expect(JSON.parse(receipt as string)).toMatchObject({ messages: [2], remains: [{ what: 'leaf', rows: [2] }] })
  })
  it('exports no text that was erased and that an older state of the store has brought back', async () => {
    const store = await filled()
    const db = new DatabaseSync(store[1] as string)
    const before = db.prepare("select id, body from row where body like '%Grace Hopper%' limit 1").get() as object
    const { id, body } = before as { readonly id: number; readonly body: string }
    indelible(['erase', 'b', '0', '--yes', ...store])
    indelible(['erase', 'a', '0', '--yes', ...store])
    db.prepare('update row set body = ?, erased = null where id = ?').run(body, id)
    db.close()
    for (const to of ['indelible', 'anthropic', 'openai-chat']) {
      const results = ['a', 'b'].map((session) => indelible(['export', session, '--to', to, ...store]))
      expect([to, results.map(({ status }) => status).toSorted()]).toEqual([to, [0, 1]])
      expect(results.map(({ stdout }) => stdout).join('\n')).not.toContain('Grace Hopper')
      expect(results.map(({ stderr }) => stderr).join('\n')).toContain('restored; erase it again')
    }
  })
  it('erases content outside messages: an input never taken, and a whole session', async () => {
    const path = join(folder, 'inputs.db')
    const store = await sqliteStore({ path })
    const session = await createSession(store, { id: 'i', messages: [user('Hello there.')], erasable: true })
    const message = { role: 'user', content: [{ type: 'text', text: 'I am Grace Hopper.' }] }
    await session.note({ type: 'input', id: 'in-1', state: 'queued', message })
    await session.note({ type: 'application', namespace: 'app', content: 'a title' })
    await session.close()
    await store.close()
    const at = ['--store', path]
    expect(indelible(['erase', 'i', '--input', 'in-1', '--dry-run', ...at]).stdout).toBe(
      'i: input in-1 would be erased\n',
    )
    expect(indelible(['erase', 'i', '--input', 'in-2', '--yes', ...at])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('session "i" has no input "in-2"') as string,
    })
    expect(indelible(['erase', 'i', '--input', 'in-1', '--yes', ...at]).stdout).toMatch(
      /^i: erased 1 note, recorded in the ledger at 1:/,
    )
    indelible(['hold', 'i', ...at])
    expect(indelible(['erase', 'i', '--all', '--dry-run', ...at]).lines[0]).toBe(
      'i: held; 1 message (0) and the rest of its content would stay',
    )
    expect(indelible(['erase', 'i', '--all', '--yes', ...at])).toMatchObject({ status: 1, stdout: '' })
    indelible(['hold', '--release', 'i', ...at])
    const all = indelible(['erase', 'i', '--all', '--yes', ...at])
    expect(all.stdout).toMatch(/^i: erased 1 message \(0\) and 1 note, recorded in the ledger at 4:/)
    const again = await sqliteStore({ path })
    const other = await createSession(again, { id: 'j', messages: [user('Hello.')], erasable: true })
    await other.note({ type: 'application', namespace: 'app', content: 'a title' })
    await other.close()
    await again.close()
    const receipt = writeTestFile('all.json', indelible(['erase', 'j', '--all', '--yes', '--json', ...at]).stdout)
    expect(indelible(['prove', '--check', receipt]).stderr).toMatch(
      /^1 message and 1 note erased for "j", in the ledger/,
    )
    for (const wrong of [['i', '0', '--all'], ['i', '--all', '--input', 'x'], ['--all'], ['--input', 'x']])
      expect(indelible(['erase', ...wrong, '--yes', ...at]).status).toBe(2)
  })
  it('says when, by whom and why an input or the whole content was erased before, and does not claim to erase it again', async () => {
    const path = join(folder, 'again.db')
    const store = await sqliteStore({ path })
    const session = await createSession(store, { id: 's', messages: [user('Hello there.')], erasable: true })
    const message = { role: 'user', content: [{ type: 'text', text: 'I am Grace Hopper.' }] }
    await session.note({ type: 'input', id: 'queued', state: 'queued', message })
    await session.note({ type: 'input', id: 'taken', state: 'taken', at: 0 })
    await session.note({ type: 'application', namespace: 'app', content: 'a title' })
    await session.close()
    await store.close()
    const at = ['--store', path]
    const all = (...subject: readonly string[]) => indelible(['erase', 's', ...subject, '--yes', ...at]).stdout
    const dry = (...subject: readonly string[]) => indelible(['erase', 's', ...subject, '--dry-run', ...at]).stdout
    const before = ', at \\d{4}-\\S+Z by ann \\(request 812\\)'
    expect(dry('--input', 'taken')).toBe('s: input taken would be erased\n')
    all('--input', 'queued', ...why)
    const queued = `s: input queued was erased before${before}`
    expect(all('--input', 'queued')).toMatch(new RegExp(`^${queued}, recorded in the ledger at 1:\\w+\\n$`))
    expect(dry('--input', 'queued')).toMatch(new RegExp(`^${queued}\\n$`))
    all('--input', 'taken', ...why)
    const taken = `s: 1 message \\(0\\) was erased before${before}`
    expect(all('--input', 'taken')).toMatch(new RegExp(`^${taken}, recorded in the ledger at 2:\\w+\\n$`))
    expect(all('--input', 'taken', '--input', 'queued')).toMatch(new RegExp(`^${taken}.*\\n${queued}.*\\n$`))
    expect(all('--all')).toMatch(/^s: erased 1 note, recorded in the ledger at 3:\w+\ns: 1 note was erased before/)
    const over = `^s: 1 note was erased before${before}.*\\n${taken}.*\\ns: 1 note was erased before, at \\S+Z`
    expect(all('--all')).toMatch(new RegExp(`${over}, recorded in the ledger at 3:\\w+\\n$`))
    expect(dry('--all')).toMatch(new RegExp(`${over}\\n$`))
  })
  it('refuses missing positions before asking and counts no message twice', async () => {
    const store = await filled()
    for (const at of ['3', '1-10', '99999'])
      for (const how of ['--dry-run', '--yes']) {
        const refused = indelible(['erase', 'a', '0', at, how, ...store])
        expect([refused.status, refused.stdout, refused.stderr]).toEqual([1, '', expect.stringContaining('3')])
      }
    indelible(['erase', 'a', '1', '--yes', ...why, ...store])
    const before = /^a: 1 message \(1\) was erased before, at \d{4}-\S+Z by ann \(request 812\)/
    const dry = indelible(['erase', 'a', '0-1', '1', '--dry-run', ...store])
    expect([dry.status, ...dry.lines.slice(0, 2)]).toEqual([
      0,
      'a: 1 message (0) would be erased',
      expect.stringMatching(before),
    ])
    const again = indelible(['erase', 'a', '1', '--yes', ...store])
    expect([again.status, again.lines[0]]).toEqual([0, expect.stringMatching(before)])
    expect(again.stdout).not.toContain('erased 1 message')
    const both = indelible(['erase', 'a', '0-1', '--yes', ...store])
    expect(both.lines.slice(0, 2)).toEqual([
      expect.stringMatching(/^a: erased 1 message \(0\), recorded in the ledger at 2:/),
      expect.stringMatching(before),
    ])
    const none = indelible(['erase', 'a', '0-1', '--dry-run', ...store])
    expect([none.status, none.stderr]).toEqual([0, 'found no message to erase\n'])
  })
  it('skips and lists unreadable sessions', () => {
    const at = (name: string): string => join(folder, `unread-${name}`)
    const store = ['--store', at('s.db')]
    const keys = ['--key-file', at('keys')]
    const chat = writeTestFile('grace.json', JSON.stringify([{ role: 'user', content: 'I am Grace Hopper.' }]))
    indelible(['encryption', 'new', at('keys')])
    for (const id of ['one', 'two', 'three']) indelible(['import', chat, '--id', id, ...store, ...keys])
    indelible(['import', chat, '--id', 'plain', ...store])
    indelible(['encryption', 'destroy', 'two', '--yes', ...store, ...keys])
    const dry = indelible(['erase', '--matching', 'grace', '--dry-run', ...store, ...keys])
    expect([dry.status, dry.lines.toSorted().slice(1)]).toEqual([
      1,
      ['one', 'plain', 'three'].map((id) => `${id}: 1 message (0) would be erased`),
    ])
    expect(dry.stderr).toMatch(
      /^two: skipped: "two" is encrypted.*was destroyed.*\nindelible: 1 session was skipped\n$/,
    )
    const done = indelible(['erase', '--matching', 'grace', '--yes', ...store, ...keys])
    expect(done.status).toBe(1)
    for (const id of ['one', 'plain', 'three']) expect(done.stdout).toMatch(new RegExp(`^${id}: erased 1 message`, 'm'))
    expect(done.stderr).toContain('two: skipped: "two" is encrypted')
    expect(indelible(['erase', '--matching', 'grace', '--yes', ...store, ...keys])).toMatchObject({
      status: 1,
      stdout: '',
    })
  })
  it.each([[['a', '3-1']], [['a', '0', '--matching', 'x']], [['--matching', '(']], [['--older-than', '3w']]])(
    'refuses %j',
    (args) => expect(indelible(['erase', ...args, '--yes', '--store', folder]).status).toBe(2),
  )
})
