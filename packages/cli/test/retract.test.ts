/** Commands on a session whose conversation went back: which of them speak of the conversation, and which of the record. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { indelible as runCommand } from './indelible.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-retract-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const indelible = (...args: readonly string[]) =>
  runCommand(args, { input: '', cwd: folder, env: { XDG_DATA_HOME: join(folder, 'home') } })
const showJson = (...args: readonly string[]) =>
  indelible('show', ...args, '--json')
    .lines.filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { position: number; message: { content: [{ text: string }] } })
    .map(({ position, message }) => `${position} ${message.content[0].text}`)

it('show, context, convert and export use the conversation, at positions of the record', () => {
  writeFileSync(
    join(folder, 'talk.json'),
    JSON.stringify(['one', 'two', 'three', 'four'].map((content) => ({ role: 'user', content }))),
  )
  expect(indelible('import', 'talk.json').status).toBe(0)
  expect(indelible('rewind', 'talk', '--to', '-3').stdout).toMatch(/^talk: 3 messages retracted, 1 left of 4, head 5:/)
  expect(indelible('append', 'talk', 'five').stdout).toMatch(/^talk: 1 message at 4/)

  expect(showJson('talk')).toEqual(['0 one', '4 five'])
  expect(showJson('talk', '--all')).toEqual(['0 one', '1 two', '2 three', '3 four', '4 five'])
  expect(showJson('talk', '--from', '2')).toEqual(['4 five'])
  expect(showJson('talk', '--from', '-1')).toEqual(['4 five'])
  expect(indelible('show', 'talk').lines[0]).toBe('talk: session, 5 messages, 3 of them retracted, 1 note')
  expect(indelible('context', 'talk').lines.map((line) => line.split(/ {2,}/)[0])).toEqual(
    expect.arrayContaining(['0 full', '4 full']),
  )
  expect(indelible('context', 'talk').stdout).not.toContain('three')
  expect(indelible('export', 'talk', '--to', 'openai-chat').stdout).not.toContain('three')

  expect(indelible('export', 'talk', '--to', 'indelible', '--out', 'talk.jsonl').status).toBe(0)
  expect(showJson('talk.jsonl')).toEqual(['0 one', '4 five'])
  expect(showJson('talk.jsonl', '--all').length).toBe(5)
  expect(indelible('export', 'talk.jsonl', '--to', 'openai-chat').stdout).not.toContain('three')
  expect(indelible('import', 'talk.jsonl', '--id', 'again').status).toBe(0)
  expect(indelible('prove', 'again').stdout.split(' ').at(-1)).toBe(indelible('prove', 'talk').stdout.split(' ').at(-1))
  expect(showJson('again')).toEqual(['0 one', '4 five'])
  expect(indelible('verify', 'again').status).toBe(0)

  expect(indelible('fork', 'talk', '--at', '4', '--id', 'kept').status).toBe(0)
  expect(showJson('kept')).toEqual(['0 one'])
  expect(indelible('fork', 'talk', '--at', '3', '--id', 'back').status).toBe(0)
  expect(showJson('back')).toEqual(['0 one', '1 two', '2 three'])
  expect(indelible('rewind', 'talk', '--to', '9').status).not.toBe(0)
  expect(indelible('rewind', 'talk').stderr).toContain('rewind needs --to N')
})
