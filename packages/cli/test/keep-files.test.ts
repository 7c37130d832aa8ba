/** `keep` and `restore`: files that grow, change and vanish, kills, erasures, keys. */
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { orThrow } from 'indelible'
import { ledgerContent } from 'indelible/internal/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { rounds } from '../../../test/rounds.ts'
import { environment, indelible, main } from './indelible.ts'
import { allBytes, id, line, newHome } from './keep-home.ts'

describe('keep', () => {
  it('reports grown, rewritten, truncated, moved and deleted files, and restores the latest whole bytes', () => {
    const { write, keep, restored, at, run } = newHome()
    const [file, text] = [`${id(1)}.jsonl`, line(id(1), 0, 'Look.')]
    write(file, text)
    expect(keep().stdout).toContain('1 new')
    appendFileSync(at(file), line(id(1), 1, 'A cat.'))
    expect(keep().stdout).toContain('1 grown')
    expect(restored(id(1), file)?.toString()).toBe(text + line(id(1), 1, 'A cat.'))
    write(file, line(id(1), 0, 'Look there.') + line(id(1), 1, 'A dog, or perhaps a cat.'))
    expect(keep().stdout).toContain('1 rewritten')
    expect(restored(id(1), file)?.toString()).toContain('A dog')
    truncateSync(at(file), text.length)
    expect(keep().stdout).toContain('1 truncated')
    expect(restored(id(1), file)?.length).toBe(text.length)
    truncateSync(at(file), 0)
    expect(keep().stdout).toContain('1 truncated') // nothing is there to keep: the earlier bytes stay
    expect(restored(id(1), file)?.length).toBe(text.length)
    write(file, text)
    keep()
    mkdirSync(at('../-moved'))
    renameSync(at(file), at(`../-moved/${file}`))
    expect(keep().stdout).not.toContain('deleted')
    unlinkSync(at(`../-moved/${file}`))
    expect(keep().stdout).toContain(`1 deleted since the last run: still here (indelible restore ${id(1)})`)
    expect(keep().stdout).not.toContain('deleted')
    expect(run('restore', id(1)).status).toBe(0)
    expect(readFileSync(at(`../-moved/${file}`)).toString()).toBe(text)
    expect(run('verify', id(1)).stdout).toContain('good')
  })

  it('a compressed file in place of a plain one is no deletion', () => {
    const { home, run, env, store } = newHome()
    const sessions = join(home, '.codex/sessions/2026/11/23')
    const path = join(sessions, `rollout-2026-11-23T10-00-00-${id(2)}.jsonl`)
    const text = `${JSON.stringify({ timestamp: '2026-11-23T10:00:00Z', type: 'session_meta', payload: { id: id(2), timestamp: '2026-11-23T10:00:00Z', cwd: '/w', originator: 'o', cli_version: '1' } })}\n${JSON.stringify({ timestamp: '2026-11-23T10:00:01Z', type: 'response_item', payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Look.' }] } })}\n` // oxfmt-ignore
    mkdirSync(sessions, { recursive: true })
    writeFileSync(path, text)
    const keep = () => indelible(['keep', '--store', store], { env }).stdout
    keep()
    writeFileSync(`${path}.zst`, zstdCompressSync(text))
    unlinkSync(path)
    expect(keep()).not.toContain('deleted')
    expect(run('list', '--json').lines.filter(Boolean)).toHaveLength(1)
    rmSync(sessions, { recursive: true })
    run('restore', id(2))
    expect(zstdDecompressSync(readFileSync(`${path}.zst`)).toString()).toBe(text)
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  it('a file of many pieces is read on where it ended, and shares what did not change', () => {
    const { write, keep, restored, at, store } = newHome()
    const file = `${id(3)}.jsonl`
    const big = Buffer.from(line(id(3), 0, Array.from({ length: 400_000 }, (_, at) => `word${at * 7919}`).join(' ')))
    const long = Buffer.concat(Array.from({ length: 8 }, () => big))
    write(file, long)
    expect(keep().stdout).toContain('1 new')
    const before = statSync(store).size
    appendFileSync(at(file), line(id(3), 1, 'A cat.'))
    expect(keep().stdout).toContain('1 grown')
    expect(statSync(store).size - before).toBeLessThan(200_000)
    expect(restored(id(3), file)?.equals(Buffer.concat([long, Buffer.from(line(id(3), 1, 'A cat.'))]))).toBe(true)
  })

  it('keeps what lies beside a session, and restores a sub-agent with its parent', () => {
    const { write, keep, run, at, home } = newHome()
    const result = Buffer.from([0, 1, 2, 255, 10])
    write(`${id(4)}.jsonl`, line(id(4), 0, 'Look.'))
    write(`${id(4)}/tool-results/c1.txt`, result)
    const agent = line(id(4), 0, 'Search.').replace('"cwd"', '"isSidechain":true,"agentId":"x1","cwd"')
    write(`${id(4)}/subagents/agent-x1.jsonl`, agent)
    keep()
    rmSync(join(home, '.claude'), { recursive: true })
    expect(run('restore', id(4)).status).toBe(0)
    expect(readFileSync(at(`${id(4)}/tool-results/c1.txt`)).equals(result)).toBe(true)
    expect(readFileSync(at(`${id(4)}/subagents/agent-x1.jsonl`), 'utf8')).toBe(agent)
    expect(lstatSync(at(`${id(4)}.jsonl`)).mode & 0o777).toBe(0o600)
  })

  it('restore overwrites nothing that differs, follows no link, and takes no path from a store', () => {
    const { write, keep, run, at, home } = newHome()
    write(`${id(5)}.jsonl`, line(id(5), 0, 'Look.'))
    keep()
    expect(run('restore', id(5)).stdout).toContain('is there already')
    write(`${id(5)}.jsonl`, 'something else\n')
    expect(run('restore', id(5))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('differs from what was kept'),
    })
    expect(readFileSync(at(`${id(5)}.jsonl`), 'utf8')).toBe('something else\n')
    rmSync(join(home, '.claude/projects/-w'), { recursive: true })
    mkdirSync(join(home, 'elsewhere'))
    symlinkSync(join(home, 'elsewhere'), join(home, '.claude/projects/-w'))
    expect(run('restore', id(5))).toMatchObject({ status: 1, stderr: expect.stringContaining('is a link') })
    expect(existsSync(join(home, `elsewhere/${id(5)}.jsonl`))).toBe(false)
  })

  it('hostile names and contents are kept and restored as they are', () => {
    const { write, keep, run, home, store, env } = newHome()
    const names = ['a\nb.jsonl', 'ü 😀.jsonl', '-rf.jsonl', 'x'.repeat(240) + '.jsonl', '$(touch x).jsonl']
    const content = Buffer.concat([Buffer.from('{"__proto__":{"a":1}}\n'), Buffer.from([0xff, 0xfe, 0, 10])])
    for (const name of names) write(name, content)
    const { status, stdout } = keep()
    expect([status, stdout]).toEqual([0, expect.stringContaining(`${names.length} new`)])
    rmSync(join(home, '.claude'), { recursive: true })
    const ids = run('list', '--json').lines.filter(Boolean).map((text) => (JSON.parse(text) as { id: string }).id) // oxfmt-ignore
    expect(ids).toHaveLength(names.length)
    for (const id of ids) expect(indelible(['restore', '--store', store, '--', id], { env }).status).toBe(0)
    for (const name of names) expect(readFileSync(join(home, '.claude/projects/-w', name)).equals(content)).toBe(true)
  })

  it('--dry-run stores nothing, --exclude leaves out, and the store is private', () => {
    const { write, keep, store, home } = newHome()
    write(`${id(6)}.jsonl`, line(id(6), 0, 'Look.'))
    write(`../-secret/${id(7)}.jsonl`, line(id(7), 0, 'Look.'))
    expect(keep('--dry-run').stdout).toContain('2 new')
    expect(existsSync(store)).toBe(false)
    expect(keep('--exclude', join(home, '.claude/projects/-secret')).stdout).toContain('1 session')
    expect(statSync(store).mode & 0o777).toBe(0o600)
    chmodSync(store, 0o644)
    expect(keep().stderr).toContain('only you can read it now')
    expect(statSync(store).mode & 0o777).toBe(0o600)
  })

  it('after restore a dry run reports no growth, also of a file whose time alone changed', () => {
    const { write, keep, run, at } = newHome()
    const file = `${id(9)}.jsonl`
    write(file, line(id(9), 0, 'Look.'))
    keep()
    unlinkSync(at(file))
    expect(run('restore', id(9)).status).toBe(0)
    utimesSync(at(file), 1.8e9, 1.8e9)
    expect(keep('--dry-run').stdout).toMatch(/^Claude Code {2}1 session {2}\d+ B on disk\n$/)
    appendFileSync(at(file), line(id(9), 1, 'A cat.'))
    expect(keep('--dry-run').stdout).toContain('1 grown')
  })

  it('if it should run by itself, list says how many days ago it last did', () => {
    const { write, keep, run, store, home } = newHome()
    write(`${id(10)}.jsonl`, line(id(10), 0, 'Look.'))
    keep()
    const db = new DatabaseSync(`${store}.keep`)
    db.prepare('update result set value = ?').run(JSON.stringify({ at: Date.now() - 3.5 * 86_400_000, failures: [] }))
    db.close()
    expect(run('list').stderr).not.toContain('last kept') // nothing is installed: its user runs it
    mkdirSync(join(home, '.local/share/indelible'), { recursive: true })
    writeFileSync(join(home, '.local/share/indelible/keep-install.json'), '{}')
    expect(run('list').stderr).toContain('last kept 3 days ago')
    keep()
    expect(run('list').stderr).not.toContain('last kept')
  })

  it('--redact keeps no bytes; without it the bytes follow', () => {
    const { write, keep, run, restored, store } = newHome()
    const secret = `sk-ant-api03-${'a1B2'.repeat(20)}`
    write(`${id(8)}.jsonl`, line(id(8), 0, `The key is ${secret}.`))
    const { stderr } = keep('--redact')
    expect(stderr).toContain('redacted: 1 secret')
    expect(allBytes(store)).not.toContain(secret)
    expect(run('restore', id(8))).toMatchObject({ status: 1, stderr: expect.stringContaining('no file of it is kept') })
    keep()
    expect(restored(id(8), `${id(8)}.jsonl`)?.toString()).toContain(secret)
  })
})

describe('after an erasure', () => {
  it('neither the bytes nor the erased messages of a session come back, also in a copy of it', () => {
    const { write, keep, run, at, store } = newHome()
    const [file, secret] = [`${id(1)}.jsonl`, 'My name is Grace Hopper of Arlington.']
    write(file, line(id(1), 0, secret) + line(id(1), 1, 'Hello.'))
    keep()
    const erased = run('erase', id(1), '0', '--yes')
    expect(erased.stdout).toContain('its kept files were dropped')
    expect(erased.stdout).toContain(`remains: the same text in ${at(file)}, which Claude Code wrote`)
    expect(allBytes(store)).not.toContain('Grace')
    expect(run('restore', id(1)).stderr).toContain('because messages were erased from it')
    appendFileSync(at(file), line(id(1), 2, 'And now?'))
    expect(keep().status).toBe(0)
    // A fork of the program has the same messages, with their times, under another id.
    write(`${id(2)}.jsonl`, line(id(2), 0, secret, 0) + line(id(2), 1, 'Hello.', 1) + line(id(2), 2, 'Another way.', 9))
    keep()
    keep()
    expect(allBytes(store)).not.toContain('Grace')
    const lens = run('list', '--json').lines.filter(Boolean).map((text) => JSON.parse(text) as { id: string; len: number }) // oxfmt-ignore
    expect(Object.fromEntries(lens.map((len) => [len.id, len.len]))).toEqual({ [id(1)]: 3, [id(2)]: 2 })
  })

  it('a session that had the text before is named, and a branch of the same file loses its kept bytes', () => {
    const { write, keep, run, at, store } = newHome()
    const [file, secret] = [`${id(1)}.jsonl`, 'My name is Grace Hopper of Arlington.']
    write(file, line(id(1), 0, 'Look.') + line(id(1), 1, 'Where?'))
    write(`${id(2)}.jsonl`, line(id(2), 0, secret))
    keep()
    // The user goes back: the branch is a fork of the session whose log has the bytes.
    write(file, line(id(1), 0, 'Look.') + line(id(1), 1, secret))
    expect(keep().stdout).toContain(`continued in ${id(1)}-2`)
    const erased = run('erase', `${id(1)}-2`, '1', '--yes')
    expect(erased.stdout).toContain('its kept files were dropped')
    expect(run('restore', id(1)).stderr).toContain('no file of it is kept')
    expect(erased.stdout).toContain(`remains: the same text in a kept file of ${id(2)}`)
    expect(erased.stdout).toContain(at(file))
    run('erase', id(2), '0', '--yes')
    expect(allBytes(store)).not.toContain('Grace')
  })

  it.each([
    ['of a session that was removed', 'plain'],
    ['of a session that is encrypted', 'encrypted'],
  ])('what was erased stays so in a copy %s', (_, kind) => {
    const { home, write, keep: keepIn, run: runIn, store } = newHome()
    const keys = join(home, 'keys')
    if (kind === 'encrypted') indelible(['encryption', 'new', keys])
    const more = kind === 'encrypted' ? ['--key-file', keys] : []
    const [keep, run] = [() => keepIn(...more), (...args: readonly string[]) => runIn(...args, ...more)]
    const [secret, result] = [
      'My name is Grace Hopper of Arlington.',
      'A whole result about Grace, with all that it has.',
    ]
    // The clock jumps back before the message that is erased.
    const call = (session: string) =>
      [
        line(session, 0, 'Look.', 90) + line(session, 1, 'Where?', 91) + line(session, 2, secret, 5),
        `${JSON.stringify({
          ...{ uuid: `${session}-3`, parentUuid: `${session}-2`, sessionId: session, version: '2.1.0', cwd: '/w' },
          ...{ timestamp: new Date(1.79e12 + 93_000).toISOString(), type: 'assistant' },
          message: { id: 'm3', type: 'message', role: 'assistant', model: 'm', stop_reason: 'tool_use', content: [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: {} }] }, // oxfmt-ignore
        })}\n`,
        `${JSON.stringify({
          ...{ uuid: `${session}-4`, parentUuid: `${session}-3`, sessionId: session, version: '2.1.0', cwd: '/w' },
          ...{ timestamp: new Date(1.79e12 + 94_000).toISOString(), type: 'user', toolUseResult: { stdout: result } },
          message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'shortened' }] },
        })}\n`,
      ].join('')
    write(`${id(1)}.jsonl`, call(id(1)))
    expect(keep().status).toBe(0)
    const texts = (session: string): string => run('export', session, '--to', 'indelible').stdout
    expect(texts(id(1))).toContain(result)
    expect(run('erase', id(1), '2', '4', '--yes').status).toBe(0)
    expect(texts(id(1))).not.toContain('Grace')
    if (kind === 'plain') expect(run('remove', id(1), '--yes').status).toBe(0)
    // The same messages in another file, in one with another beginning, and in the first one, which is kept again.
    write(`${id(2)}.jsonl`, call(id(2)) + line(id(2), 5, 'Good.', 95))
    write(
      `${id(3)}.jsonl`,
      line(id(3), 0, 'Another beginning.', 90) + line(id(3), 1, 'Yes.', 91) + line(id(3), 2, secret, 5),
    )
    expect(keep().status).toBe(0)
    expect(keepIn('--again', id(1), ...more).status).toBe(0)
    if (kind === 'plain') expect(allBytes(store)).not.toContain('Grace')
    for (const number of [1, 2, 3]) {
      expect(texts(id(number))).toContain('"type":"message"')
      expect(texts(id(number))).not.toContain('Grace')
      expect(run('restore', id(number), '--to', join(home, `copy-${number}`)).status).toBe(1)
    }
    expect(texts(id(2))).toContain('Good.')
    // A second run, after growth, and in a store that was moved without the file beside it.
    renameSync(store, join(home, 'moved.db'))
    appendFileSync(join(home, '.claude/projects/-w', `${id(2)}.jsonl`), line(id(2), 6, 'Go on.', 96))
    expect(indelible(['keep', '--store', join(home, 'moved.db'), ...more], { env: { HOME: home } }).status).toBe(0)
    const moved = indelible(['export', id(2), '--to', 'indelible', '--store', join(home, 'moved.db'), ...more]).stdout
    expect(moved).toContain('Go on.')
    expect(moved).not.toContain('Grace')
    if (kind === 'plain') expect(allBytes(join(home, 'moved.db'))).not.toContain('Grace')
  })

  it('a copy with other times has no erased message, also once the session was removed; an equal message elsewhere stays', () => {
    const { write, keep, run, store } = newHome()
    const secret = 'My name is Grace Hopper of Arlington.'
    const texts = ['Look at this, please.', 'Where should I look?', secret, 'Thank you, I see it.', 'Please continue.']
    const session = (number: number, lines: readonly string[], later: number): string =>
      lines.map((text, at) => line(id(number), at, text, later + at)).join('')
    write(`${id(1)}.jsonl`, session(1, texts, 0))
    keep()
    expect(run('erase', id(1), '2', '4', '--yes').status).toBe(0)
    expect(run('remove', id(1), '--yes').status).toBe(0)
    write(`${id(2)}.jsonl`, session(2, [...texts, 'Good.'], 5000))
    write(`${id(3)}.jsonl`, session(3, ['Another beginning.', 'Yes, what is it?', 'Please continue.'], 9000))
    expect(keep().status).toBe(0)
    expect(allBytes(store)).not.toContain('Grace')
    expect(run('export', id(2), '--to', 'indelible').stdout).toContain('Good.')
    expect(run('export', id(3), '--to', 'indelible').stdout).toContain('Please continue.')
    expect(run('restore', id(3), '--to', join(store, '../copy')).status).toBe(0)
    expect(run('ledger', 'verify').status).toBe(0)
  })

  it('a copy that another program has of the conversation has no erased message', () => {
    const { home, store, env, write, keep, run } = newHome()
    const secret = 'My name is Grace Hopper of Arlington.'
    const texts = ['Look at this, please.', 'Where should I look?', secret, 'Thank you, I see it.']
    write(`${id(1)}.jsonl`, texts.map((text, at) => line(id(1), at, text)).join(''))
    keep()
    expect(run('erase', id(1), '2', '--yes').status).toBe(0)
    const folder = join(home, '.codex/sessions/2026/09/21')
    mkdirSync(folder, { recursive: true })
    const entries = texts.map((text, at) => {
      const [role, type] = at % 2 === 0 ? ['user', 'input_text'] : ['assistant', 'output_text']
      return { type: 'response_item', payload: { type: 'message', role, content: [{ type, text }] } }
    })
    const lines = [{ type: 'session_meta', payload: { id: id(2), cwd: '/w' } }, ...entries]
    writeFileSync(
      join(folder, `rollout-2026-09-21T10-00-00-${id(2)}.jsonl`),
      lines.map((line, at) => `${JSON.stringify({ timestamp: `2026-09-21T10:00:0${at}Z`, ...line })}\n`).join(''),
    )
    expect(indelible(['keep', '--only', 'codex', '--store', store], { env }).status).toBe(0)
    expect(run('export', id(2), '--to', 'indelible').stdout).toContain('Where should I look?')
    expect(allBytes(store)).not.toContain('Grace')
  })

  it('a file that can only be read in part may have erased text: its bytes are not kept, and keep says so', () => {
    const { write, keep, run, at, store, restored } = newHome()
    const secret = 'My name is Grace Hopper of Arlington.'
    const text = (number: number): string => line(id(number), 0, 'Look.') + line(id(number), 1, 'Where?') + line(id(number), 2, secret) // oxfmt-ignore
    const torn = `${line(id(5), 0, 'Torn before.')}{"torn":\n`
    write(`${id(1)}.jsonl`, text(1))
    write(`${id(5)}.jsonl`, torn)
    write('notes.jsonl', 'no reader reads this\n')
    keep()
    expect(run('erase', id(1), '2', '--yes').status).toBe(0)
    write(`${id(2)}.jsonl`, text(2).slice(0, -30))
    write('more.jsonl', `${secret}\n`)
    const kept = keep()
    expect([kept.status, kept.stdout]).toEqual([1, expect.stringContaining(`not kept: ${at('more.jsonl')}: it has lines that can't be read`)]) // oxfmt-ignore
    expect(kept.stdout).toContain(`not kept: ${at(`${id(2)}.jsonl`)}: it has lines that can't be read`)
    expect(kept.stdout).not.toContain('kept as bytes')
    expect(run('show', id(2)).stdout).toContain('Where?')
    expect(allBytes(store)).not.toContain('Grace')
    // What was kept before grows on, and other programs have no part in it.
    appendFileSync(at(`${id(5)}.jsonl`), line(id(5), 2, 'Go on.', 50))
    appendFileSync(at('notes.jsonl'), 'nor this\n')
    expect(keep().stdout).toContain('2 grown')
    expect(restored(id(5), `${id(5)}.jsonl`)?.toString()).toBe(torn + line(id(5), 2, 'Go on.', 50))
  })

  it('the ledger alone confirms no guess of a short erased text, and a copied store knows its copies, too', async () => {
    const { home, write, keep, run, store, env, at } = newHome()
    const texts = ['What is the number of the card, please?', '4711', 'Thank you, that works very well.']
    const session = (number: number, later: number): string => texts.map((text, place) => line(id(number), place, text, later + place)).join('') // oxfmt-ignore
    write(`${id(1)}.jsonl`, session(1, 0))
    keep()
    expect(run('erase', id(1), '1', '--yes').stdout).toContain(
      `remains: ${at(`${id(1)}.jsonl`)}, which Claude Code wrote`,
    )
    const opened = await sqliteStore({ path: store })
    const { erasures } = await orThrow(() => ledgerContent(opened))
    await opened.close()
    const stored = erasures.flatMap(({ rows }) => rows.flatMap(({ digests = [] }) => digests))
    expect(stored.length).toBeGreaterThanOrEqual(3)
    for (const [place, roles, pair] of [
      [1, ['user', 'assistant'], texts.slice(0, 2)],
      [0, ['assistant', 'user'], texts.slice(1)],
    ] as const)
      expect(stored).not.toContain(createHash('sha256').update(JSON.stringify([place, roles, pair.map((text) => [text])])).digest('hex').slice(0, 32)) // oxfmt-ignore
    const copy = join(home, 'copy.db')
    expect(indelible(['copy', '--from', store, '--to', copy], { env }).status).toBe(0)
    write(`${id(2)}.jsonl`, session(2, 5000))
    for (const each of [store, copy]) {
      indelible(['keep', '--only', 'claude-code', '--store', each], { env })
      expect(indelible(['show', id(2), '--store', each], { env }).stdout).toContain('that works very well')
      expect(indelible(['export', id(2), '--to', 'indelible', '--store', each], { env }).stdout).not.toContain('"4711"')
    }
  })

  it('a copy of an encrypted session that was erased and removed has no erased message', () => {
    const { home, write, keep, run, store } = newHome()
    const keys = ['--key-file', join(home, 'keys')]
    indelible(['encryption', 'new', join(home, 'keys')])
    const text = (session: string): string =>
      line(session, 0, 'Look.') + line(session, 1, 'I am Grace Hopper of Arlington.') + line(session, 2, 'Good.')
    write(`${id(1)}.jsonl`, text(id(1)))
    keep(...keys)
    expect(run('erase', id(1), '1', '--yes', ...keys).status).toBe(0)
    expect(run('remove', id(1), '--yes', ...keys).status).toBe(0)
    write(`${id(2)}.jsonl`, text(id(2)))
    expect(keep(...keys).status).toBe(0)
    const shown = run('export', id(2), '--to', 'indelible', ...keys).stdout
    expect(shown).toContain('Good.')
    expect(shown).not.toContain('Grace')
    // The ledger has nothing from which a text could be guessed.
    expect(allBytes(store)).not.toContain('Grace')
  })

  it('a removed file that no reader reads is skipped under another name too, also once it has grown', () => {
    const { write, keep, run, at } = newHome()
    write('notes.jsonl', 'no reader reads this, nor that\n')
    write('other.jsonl', 'nor this other file\n')
    expect(keep().status).toBe(0)
    const name = run('list', '--json').lines.filter(Boolean).map((text) => (JSON.parse(text) as { id: string }).id).find((each) => each.includes('notes')) ?? '' // oxfmt-ignore
    expect(run('remove', name, '--yes').status).toBe(0)
    renameSync(at('notes.jsonl'), at('renamed.jsonl'))
    for (const text of ['', 'one more line\n']) {
      appendFileSync(at('renamed.jsonl'), text)
      expect(keep().stdout).toContain('1 session skipped, because you removed it')
      expect(run('list').stdout).not.toContain('renamed')
    }
    expect(run('list').stdout).toContain('other')
    keep('--again', 'renamed')
    expect(run('list').stdout).toContain('renamed')
  })

  it('an answer that was erased while it was written does not come back with its rest', () => {
    const { write, keep, run, at, store } = newHome()
    const begun = line(id(1), 0, 'Look.') + line(id(1), 1, 'I am Grace Hopper')
    write(`${id(1)}.jsonl`, begun)
    keep()
    run('erase', id(1), '1', '--yes')
    const answer = JSON.parse(line(id(1), 1, 'x')) as { message: { content: object[] } }
    answer.message.content = [
      { type: 'text', text: 'I am Grace Hopper of Arlington.' },
      { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: {} },
    ]
    const whole = line(id(1), 0, 'Look.') + `${JSON.stringify(answer)}\n`
    writeFileSync(at(`${id(1)}.jsonl`), whole)
    expect(keep().status).toBe(0)
    expect(allBytes(store)).not.toContain('Grace')
    expect(run('list', '--json').lines.filter(Boolean)).toHaveLength(1)
    // The other way round: a copy from before the answer was whole.
    rmSync(at(`${id(1)}.jsonl`))
    const later = (text: string, session: string): string =>
      text.replaceAll(id(1), session).replaceAll('Grace', 'Edsger').replaceAll(':13:2', ':43:2')
    write(`${id(2)}.jsonl`, later(whole, id(2)))
    keep()
    expect(run('show', id(2)).stdout).toContain('Edsger')
    expect(run('erase', id(2), '1', '--yes').status).toBe(0)
    write(`${id(3)}.jsonl`, later(begun, id(3)))
    keep()
    expect(allBytes(store)).not.toContain('Edsger')
  })

  it('a removed session is skipped until --again names it', () => {
    const { write, keep, run, at } = newHome()
    write(`${id(1)}.jsonl`, line(id(1), 0, 'Look.'))
    keep()
    expect(run('remove', id(1), '--yes').stdout).toContain(`${at(`${id(1)}.jsonl`)} still has it`)
    for (const text of ['', line(id(1), 1, 'A cat.')]) {
      appendFileSync(at(`${id(1)}.jsonl`), text)
      expect(keep().status).toBe(0)
      expect(run('list').stdout).not.toContain(id(1))
    }
    appendFileSync(at(`${id(1)}.jsonl`), line(id(1), 2, 'More.'))
    expect(keep().stdout).toContain('1 session skipped, because you removed it')
    keep('--again', id(1))
    expect(run('list').stdout).toContain(id(1))
    appendFileSync(at(`${id(1)}.jsonl`), line(id(1), 3, 'Yes.'))
    keep()
    expect(run('show', id(1)).stdout).toContain('Yes.')
  })
})

describe("what can't be written or read is said, with exit code 1", () => {
  it('a file that may not grow: what is kept is whole, and the next run keeps the rest', () => {
    const { home, write, store, keep, at, run, restored } = newHome()
    const texts = Array.from({ length: 12 }, (_, number) => line(id(number), 0, randomBytes(200_000).toString('hex')))
    for (const [number, text] of texts.entries()) write(`${id(number)}.jsonl`, text)
    const limited = () =>
      spawnSync('sh', ['-c', 'ulimit -f 4000; exec "$0" "$@"', process.execPath, main, 'keep', '--store', store], {
        env: environment({ env: { HOME: home } }),
        encoding: 'utf8',
      })
    for (let round = 0; round < 2; round++) {
      const { status, stdout, stderr } = limited()
      expect([status, stdout + stderr]).toEqual([1, expect.not.stringMatching(/^ {4}at /m)])
      expect(stdout + stderr).toMatch(/^not kept: |^indelible: /m)
      // The report says of each session whether its bytes are kept.
      for (const [number, text] of texts.entries()) {
        const file = at(`${id(number)}.jsonl`)
        const isKept = restored(id(number), `${id(number)}.jsonl`)?.toString() === text
        expect(stdout.includes(`not kept: ${file}: `)).toBe(!isKept)
        if (stdout.includes(`not kept: the messages of ${file}, whose bytes are kept: `)) expect(isKept).toBe(true)
      }
    }
    expect(run('repair').stdout).toContain('no findings')
    for (const [number, text] of texts.entries()) expect([text, undefined]).toContain(restored(id(number), `${id(number)}.jsonl`)?.toString()) // oxfmt-ignore
    expect(keep().status).toBe(0)
    for (const [number, text] of texts.entries()) expect(restored(id(number), `${id(number)}.jsonl`)?.toString() === text).toBe(true) // oxfmt-ignore
    expect(existsSync(at(`${id(0)}.jsonl`))).toBe(true)
  })

  it('the file beside the store is a folder or none of ours; the home is a file', () => {
    const { home, write, store, run } = newHome()
    write(`${id(1)}.jsonl`, line(id(1), 0, 'Look.'))
    mkdirSync(`${store}.keep`)
    expect(run('keep')).toMatchObject({ status: 1, stderr: expect.stringContaining(`${store}.keep: is a folder`) })
    rmSync(`${store}.keep`, { recursive: true })
    writeFileSync(`${store}.keep`, 'no database '.repeat(1000))
    expect(run('keep')).toMatchObject({ status: 1, stderr: expect.stringContaining('file is not a database') })
    rmSync(`${store}.keep`)
    expect(run('keep').status).toBe(0)
    const file = join(home, 'file')
    writeFileSync(file, '')
    expect(indelible(['keep'], { env: { HOME: file } })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(file),
    })
  })

  it('a clock that jumps back to 2001 changes nothing that is kept, and brings nothing back', () => {
    const { home, write, store, run, at } = newHome()
    const back = `--import=data:text/javascript,Date.now=()=>1e12`
    const early = (...args: readonly string[]) =>
      spawnSync(process.execPath, [back, main, ...args, '--store', store], {
        env: environment({ env: { HOME: home } }),
        encoding: 'utf8',
      })
    const secret = 'My name is Grace Hopper of Arlington.'
    write(`${id(1)}.jsonl`, line(id(1), 0, secret) + line(id(1), 1, 'Hello.'))
    expect(early('keep').status).toBe(0)
    expect(early('erase', id(1), '0', '--yes').status).toBe(0)
    appendFileSync(at(`${id(1)}.jsonl`), line(id(1), 2, 'And now?'))
    write(`${id(2)}.jsonl`, line(id(2), 0, secret, 0) + line(id(2), 1, 'Hello.', 1))
    for (let round = 0; round < 2; round++) {
      expect(run('keep').status).toBe(0)
      expect(early('keep').status).toBe(0)
    }
    expect(allBytes(store)).not.toContain('Grace')
    const lens = run('list', '--json').lines.filter(Boolean).map((text) => JSON.parse(text) as { id: string; len: number }) // oxfmt-ignore
    expect(Object.fromEntries(lens.map((len) => [len.id, len.len]))).toEqual({ [id(1)]: 3, [id(2)]: 1 })
    expect(run('verify', id(1)).stdout).toContain('good')
  })
})

it('an encrypted store keeps encrypted, and restores with its keys', () => {
  const { home, write, keep, run, at, store } = newHome()
  const keys = join(home, 'keys')
  expect(indelible(['encryption', 'new', keys]).status).toBe(0)
  write(`${id(1)}.jsonl`, line(id(1), 0, 'My name is Grace Hopper.'))
  expect(keep('--key-file', keys).status).toBe(0)
  appendFileSync(at(`${id(1)}.jsonl`), line(id(1), 1, 'Hello, Grace.'))
  expect(keep('--key-file', keys).stdout).toContain('1 grown')
  expect(allBytes(store)).not.toContain('Grace')
  const text = readFileSync(at(`${id(1)}.jsonl`), 'utf8')
  rmSync(join(home, '.claude'), { recursive: true })
  expect(run('restore', id(1)).status).toBe(1)
  expect(run('restore', id(1), '--key-file', keys).status).toBe(0)
  expect(readFileSync(at(`${id(1)}.jsonl`), 'utf8')).toBe(text)
  expect(run('verify', id(1), '--key-file', keys).stdout).toContain('good')
})

it('one run keeps a store at a time: a later one asks it to look again', async () => {
  const { home, write, store, keep } = newHome()
  for (let number = 0; number < 40; number++) write(`${id(number)}.jsonl`, line(id(number), 0, 'Look.'))
  const env = environment({ env: { HOME: home } })
  const runs = Array.from({ length: 3 }, () => {
    const child = spawn(process.execPath, [main, 'keep', '--store', store], { env })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (text += String(piece)))
    return once(child, 'close').then(([code]) => ({ code: code as number, text }))
  })
  const ended = await Promise.all(runs)
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(ended.some(({ text }) => text.includes('40 new'))).toBe(true)
  expect(keep().lines[0]).toMatch(/on disk$/)
  expect(indelible(['list', '--json', '--store', store]).lines.filter(Boolean)).toHaveLength(40)
})

it('a run that is killed at any moment loses nothing and keeps nothing twice', async () => {
  const { home, write, store, keep, at, run } = newHome()
  const texts = new Map<string, string>()
  for (let number = 0; number < 30; number++) {
    const text = Array.from({ length: 1 + (number % 5) * 8 }, (_, at) => line(id(number), at, `Message ${at}.`)).join(
      '',
    )
    texts.set(id(number), text)
    write(`${id(number)}.jsonl`, text)
  }
  const env = environment({ env: { HOME: home } })
  for (let round = 0; round < rounds(8, 200); round++) {
    const child = spawn(process.execPath, [main, 'keep', '--store', store], { env, stdio: 'ignore' })
    const ended = once(child, 'close')
    await new Promise((resolve) => setTimeout(resolve, 200 + ((60 * round) % 900)))
    child.kill('SIGKILL')
    await ended
    const grown = id(round % 30)
    texts.set(grown, texts.get(grown) + line(grown, (texts.get(grown) as string).split('\n').length - 1, 'More.'))
    writeFileSync(at(`${grown}.jsonl`), texts.get(grown) as string)
  }
  expect(keep().status).toBe(0)
  const listed = run('list', '--json').lines.filter(Boolean).map((text) => JSON.parse(text) as { id: string; len: number }) // oxfmt-ignore
  expect(Object.fromEntries(listed.map((one) => [one.id, one.len]))).toEqual(
    Object.fromEntries([...texts].map(([session, text]) => [session, text.split('\n').length - 1])),
  )
  rmSync(join(home, '.claude'), { recursive: true })
  for (const [session, text] of texts) {
    expect(run('restore', session).status).toBe(0)
    expect(readFileSync(at(`${session}.jsonl`), 'utf8')).toBe(text)
  }
}, 1_800_000)
