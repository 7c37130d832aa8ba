/**
 * A text is planted in a call that a killed recorder left in its spool. After an erasure that names the store by another
 * spelling, no file beside the store has the text, however it is written there; or the command names the place that has it.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { Frames, Spool } from '@indelible/recorder/internal/proxy'
import { sqliteStore } from 'indelible/store/sqlite'
import { contentOf, isIn } from '../../../test/session/planted-cases.ts'
import { rounds } from '../../../test/rounds.ts'
import { ok } from '../../../test/task-results.ts'
import { spoolPathPrefix } from '../src/record/spools.ts'
import { terminalOf } from '../src/terminal/output.ts'
import { indelible } from './indelible.ts'

const root = mkdtempSync(join(tmpdir(), 'indelible-planted-spools-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const stream = { write: () => undefined }
const terminal = terminalOf({
  ...{ stdin: process.stdin, stdout: stream, stderr: stream, cwd: '.', onInterrupt: () => () => {} },
  env: { XDG_DATA_HOME: root },
})

interface PlantedCall {
  readonly name: string
  readonly body?: (text: string) => object | string
  readonly url?: (text: string) => string
  /** What the provider answers. */
  readonly answer?: (text: string) => string
  readonly status?: number
  /** Whether a message has the text, so that a search finds it. */
  readonly inMessage?: true
  /** Whether the text stays, and the command names the place. */
  readonly isNamed?: true
}

const asks = (content: unknown, more: object = {}): object => ({
  model: 'm',
  messages: [{ role: 'user', content }],
  ...more,
})
const chunk = (delta: object): string =>
  `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`

const calls: readonly PlantedCall[] = [
  // The first question is the title.
  { name: 'a question', inMessage: true, isNamed: true, body: (text) => asks(`I am ${text}.`) },
  { name: 'a part', inMessage: true, isNamed: true, body: (text) => asks([{ type: 'text', text }]) },
  { name: 'a long question', inMessage: true, body: (text) => asks(`${'long '.repeat(2000)}${text}`) },
  {
    name: 'the address of an image',
    inMessage: true,
    body: (text) => asks([{ type: 'image_url', image_url: { url: `https://example.com/?q=${encodeURIComponent(text)}` } }]), // oxfmt-ignore
  },
  { name: 'the name of the user', body: (text) => asks('x', { user: text }) },
  { name: 'a field', body: (text) => asks('x', { metadata: { deep: [{ [text]: 1, id: text }] } }) },
  {
    name: 'a tool',
    body: (text) => asks('x', { tools: [{ type: 'function', function: { name: 'f', description: text } }] }),
  },
  {
    name: 'a part of an unknown type',
    inMessage: true,
    body: (text) => asks([{ type: 'other', deep: { path: text } }]),
  },
  {
    name: 'a call and its result',
    inMessage: true,
    body: (text) => ({
      model: 'm',
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: JSON.stringify({ id: text }) } }] }, // oxfmt-ignore
        { role: 'tool', tool_call_id: 'c', content: text },
      ],
    }),
  },
  { name: 'the instructions', body: (text) => ({ model: 'm', messages: [{ role: 'system', content: text }, { role: 'user', content: 'x' }] }) }, // oxfmt-ignore
  { name: 'a body that is not JSON', body: (text) => `{"model":"m","messages":[{"role":"user","content":"${text}` },
  { name: 'a body that is a list', body: (text) => [text] },
  { name: 'messages of an unknown form', body: (text) => ({ model: 'm', messages: { text } }) },
  { name: 'the path', url: (text) => `http://x/${encodeURIComponent(text)}/chat/completions` },
  {
    name: 'an answer',
    inMessage: true,
    answer: (text) => JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: `Hello ${text}` } }] }), // oxfmt-ignore
  },
  {
    name: 'the beginning of an answer',
    inMessage: true,
    answer: (text) => [...`Hello ${text}, and more`].map((content) => chunk({ content })).join(''),
  },
  {
    name: 'an answer that calls',
    answer: (text) => chunk({ tool_calls: [{ index: 0, id: 'd', type: 'function', function: { name: 'f', arguments: JSON.stringify({ type: text }) } }] }), // oxfmt-ignore
  },
  { name: 'an error', status: 400, answer: (text) => JSON.stringify({ error: { message: `no ${text}` } }) },
  { name: 'an error that is a page', status: 502, answer: (text) => `<p>${text}</p>` },
  { name: 'fields of an answer', answer: (text) => JSON.stringify({ id: text, model: text, choices: [{ index: 0, finish_reason: text, message: { role: 'assistant', content: 'x', [text]: 1 } }] }) }, // oxfmt-ignore
]

const ascii = (json: string): string =>
  json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`) // oxlint-disable-line no-control-regex
const bodies = {
  plain: (json: string) => Buffer.from(json),
  ascii: (json: string) => Buffer.from(ascii(json)),
  gzip: (json: string) => gzipSync(json),
} as const

/** Leaves a call as a recorder that is killed does. */
const leave = (near: string, planted: PlantedCall, text: string, encoding: keyof typeof bodies, kept: number): void => {
  const spool = new Spool({ near, onNotice: (reason) => expect.unreachable(reason) })
  const frames = new Frames({ spool, post: () => undefined })
  const body = planted.body?.(text) ?? asks('x')
  const bytes = bodies[encoding](typeof body === 'string' ? body : JSON.stringify(body))
  const headers: { readonly [name: string]: string } = {
    ...(encoding === 'gzip' && { 'content-encoding': 'gzip' }),
  }
  const url = planted.url?.(text) ?? 'http://x/chat/completions'
  const call = frames.observe('default', { method: 'POST', url, header: (name) => headers[name] })
  call.piece(bytes.subarray(0, 20))
  if (kept > 0) call.piece(bytes.subarray(20))
  if (kept > 1) call.sent()
  if (kept > 2 && planted.answer !== undefined) {
    const answer = planted.answer(text)
    call.answered(planted.status ?? 200, (name) =>
      name === 'content-type' ? (answer.startsWith('data:') ? 'text/event-stream' : 'application/json') : undefined,
    )
    const all = Buffer.from(answer)
    call.chunk(all.subarray(0, 30))
    call.chunk(all.subarray(30))
    if (kept > 3) call.end()
  }
  spool.close()
}

const texts = ['Grace Hopper of 12 Main Street', 'Ada "Byron" of Größenwahn 🦆 \\ x']
const patternOf = (text: string): string => text.replaceAll(/[^a-z0-9]+/gi, '.+')
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((one) =>
    one.isFile() ? [join(one.parentPath, one.name)] : [],
  )

it('an erased text is in no spool of a killed recorder, and does not come back from one', async () => {
  const cases = fc.record({
    planted: fc.constantFrom(...calls),
    text: fc.constantFrom(...texts),
    encoding: fc.constantFrom('plain' as const, 'ascii' as const, 'gzip' as const),
    kept: fc.integer({ min: 0, max: 4 }),
    spelling: fc.nat(3),
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ planted, text, encoding, kept, spelling }) => {
      const home = mkdtempSync(join(root, 'h'))
      const folder = join(home, 'real')
      mkdirSync(folder)
      const path = join(folder, 's.db')
      symlinkSync(folder, join(home, 'linked'))
      symlinkSync(path, join(home, 'link.db'))
      const spellings = [path, join(home, 'linked/s.db'), join(home, 'link.db'), `${home}/real/../linked/./s.db`]
      const store = await ok(sqliteStore({ path, durability: 'os' }))
      await store.close()
      const near = await spoolPathPrefix({ store: spellings[spelling] }, terminal)
      leave(near ?? '', planted, text, encoding, kept)
      const env = { HOME: home }
      const isWhole = kept >= (planted.answer === undefined ? 2 : 3)
      const elsewhere = ['--store', spellings[3 - spelling] ?? '']
      const matching = indelible(['erase', '--matching', patternOf(text), '--yes', ...elsewhere], { env })
      let named = matching.stdout
      expect(matching.status).toBe(0)
      if (planted.inMessage === true) expect(matching.stdout.includes(': erased ')).toBe(isWhole)
      else {
        const listed = indelible(['list', '--json', ...elsewhere], { env }).lines.slice(0, -1)
        for (const line of listed) {
          const { id } = JSON.parse(line) as { readonly id: string }
          const { status, stdout } = indelible(['erase', id, '--all', '--yes', ...elsewhere], { env })
          expect(status).toBe(0)
          named += stdout
        }
      }
      expect(readdirSync(folder).filter((name) => name.includes('-spool-'))).toEqual([])
      const again = await ok(sqliteStore({ path, durability: 'os' }))
      const bytes = Buffer.concat([await contentOf(again), ...filesIn(home).map((file) => readFileSync(file))])
      await again.close()
      const isStill = isIn(bytes, text)
      if (isStill) expect([planted.name, planted.isNamed]).toEqual([planted.name, true])
      if (isStill) expect(named).toContain('remains: the same text in the metadata')
      rmSync(home, { recursive: true, force: true })
    }),
    { numRuns: rounds(24, 300) },
  )
})
