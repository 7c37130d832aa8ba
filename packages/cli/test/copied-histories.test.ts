/** Files into which a program copied another session's history: their calls are counted once, in the session that made them. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { readTranscript } from '@indelible/transcripts'
import { orThrow } from 'indelible'
import { bytesOfFile } from '../src/sources/codex-base.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-copies-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const linesOf = (...all: readonly object[]): string => all.map((line) => `${JSON.stringify(line)}\n`).join('')
const usageOf = (text: string): unknown => orThrow(readTranscript(text)).origin.usage

it('a rollout of Codex with the history of its parent counts only its own calls', () => {
  const at = (second: number) => `2026-07-01T11:00:0${second}.000Z`
  const counted = (total: number, last: number, second: number): object => ({
    ...{ timestamp: at(second), type: 'event_msg' },
    payload: {
      type: 'token_count',
      info: {
        total_token_usage: { input_tokens: total, output_tokens: total / 100 },
        last_token_usage: { input_tokens: last, output_tokens: last / 100, cached_input_tokens: 0 },
      },
    },
  })
  const said = (role: string, text: string, second: number): object => ({
    ...{ timestamp: at(second), type: 'response_item' },
    payload: { type: 'message', role, content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }] },
  })
  const meta = (more: object): object => ({
    timestamp: at(0),
    type: 'session_meta',
    payload: { id: 'c', timestamp: at(0), ...more },
  })
  const rest = [said('user', 'q', 0), said('assistant', 'a', 0), counted(1000, 1000, 0), said('user', 'task', 1), said('assistant', 'done', 3), counted(1200, 200, 3)] // oxfmt-ignore
  expect(usageOf(linesOf(meta({ forked_from_id: 'p' }), ...rest))).toEqual({ input: 200, output: 2 })
  expect(usageOf(linesOf(meta({}), ...rest))).toEqual({ input: 1200, output: 12 })
})

it('a branch of Claude Code counts only its own calls, with what they write for an hour', () => {
  const line = (type: string, uuid: string, parentUuid: string | null, message: object, more: object = {}): object => ({
    ...{ type, uuid, parentUuid, sessionId: 's', version: '2.1.219', timestamp: '2026-07-01T10:00:00.000Z', cwd: '/w', userType: 'external', isSidechain: false },
    message,
    ...more,
  }) // oxfmt-ignore
  const usage = {
    input_tokens: 10,
    output_tokens: 20,
    cache_creation_input_tokens: 5,
    cache_creation: { ephemeral_1h_input_tokens: 5 },
  }
  const answer = (id: string): object => ({
    id,
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-5',
    content: [{ type: 'text', text: 'x'.repeat(20) }],
    usage,
  })
  const copied = { forkedFrom: { sessionId: 'o', messageUuid: 'a1' } }
  expect(
    usageOf(
      linesOf(
        line('user', 'u1', null, { role: 'user', content: 'one' }, copied),
        line('assistant', 'a1', 'u1', answer('m1'), copied),
        line('user', 'u2', 'a1', { role: 'user', content: 'two' }),
        line('assistant', 'a2', 'u2', answer('m2')),
      ),
    ),
  ).toEqual({ input: 15, output: 20, cacheWrite: 5, cacheWriteHour: 5 })
})

it('the base of a rollout is not read through a link out of its folder', async () => {
  const sessions = join(folder, '.codex/sessions')
  mkdirSync(sessions, { recursive: true })
  const secret = join(folder, 'secret')
  writeFileSync(
    secret,
    linesOf({
      type: 'response_item',
      payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'SECRET' }] },
    }),
  )
  const path = join(sessions, 'rollout-1-child.jsonl')
  writeFileSync(path, linesOf({ type: 'session_meta', payload: { id: 'child', history_base: { thread_id: 'base' } } }))
  symlinkSync(secret, join(sessions, 'rollout-1-base.jsonl'))
  const read = async (): Promise<string> => {
    let text = ''
    for await (const bytes of bytesOfFile(path)) text += Buffer.from(bytes).toString()
    return text
  }
  expect(await read()).not.toContain('SECRET')
  rmSync(join(sessions, 'rollout-1-base.jsonl'))
  writeFileSync(join(sessions, 'rollout-1-base.jsonl'), 'SECRET\n')
  expect(await read()).toContain('SECRET')
})
