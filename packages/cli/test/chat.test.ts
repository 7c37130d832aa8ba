/** `indelible chat` in a real terminal: a pseudo-terminal of the operating system, with keys that are pressed. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn, type IPty } from '@lydell/node-pty'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, it } from 'vitest'
import { settle, textOf, toolCallsOf, type Message } from 'indelible'
import { listSessions, openSession, verifySession, type Session } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { folderTools } from '../src/model/folder-tools.ts'
import { providerServer } from '../../../test/run/provider-server.ts'
import { indelible, indelibleAside, main } from './indelible.ts'

const top = mkdtempSync(join(tmpdir(), 'indelible-chat-'))
afterAll(() => rmSync(top, { recursive: true, force: true }))

const folder = join(top, 'folder')
mkdirSync(join(folder, 'inner'), { recursive: true })
writeFileSync(join(folder, 'a.txt'), 'first line\nsecond line\n')
writeFileSync(join(folder, 'inner', 'b.txt'), 'another first line\n')
writeFileSync(join(top, 'secret.txt'), 'first secret\n')
symlinkSync(join(top, 'secret.txt'), join(folder, 'link.txt'))
symlinkSync(top, join(folder, 'up'))

interface Terminal {
  readonly pty: IPty
  readonly shown: () => string
  readonly until: (text: string | RegExp) => Promise<void>
  readonly ended: Promise<number>
}

const terminal = (...args: readonly string[]): Terminal => {
  const pty = spawn(process.execPath, [main, 'chat', ...args], {
    cols: 100,
    rows: 30,
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', XDG_DATA_HOME: top },
  })
  let shown = ''
  const ended = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)))
  let news: () => void = () => {}
  pty.onData((data) => {
    shown += data
    news()
  })
  const until = async (text: string | RegExp): Promise<void> => {
    const isShown = (): boolean => (typeof text === 'string' ? shown.includes(text) : text.test(shown))
    await new Promise<void>((resolve, reject) => {
      news = () => void (isShown() && resolve())
      void ended.then(() => reject(new Error(`${String(text)} was never shown; what was:\n${shown}`)))
      news()
    })
  }
  return { pty, shown: () => shown, until, ended }
}

const reopened = async (
  id: string,
  path = join(top, 'indelible', 'sessions.db'),
): Promise<{ readonly session: Session; readonly close: () => Promise<unknown> }> => {
  const store = await sqliteStore({ path })()
  if (isLeft(store)) throw new Error(JSON.stringify(store.left))
  expect(isRight(await verifySession(store.right, id)())).toBe(true)
  const session = await openSession(store.right, id)()
  if (isLeft(session)) throw new Error(JSON.stringify(session.left))
  return { session: session.right, close: store.right.close() }
}

const messageTexts = (view: Iterable<Message>): string[] =>
  [...view].map((message) => `${message.role}: ${textOf(message)}`)

describe('indelible chat', () => {
  it('plays the demonstration: tools, a cut-off answer, and a following one', async () => {
    const { shown, ended } = terminal('--demo', '--session', 'demo', '--store', join(top, 'demo.db'))
    expect(await ended).toBe(0)
    const text = shown()
    for (const expected of [
      'scripted (a demonstration, no model)',
      'you> What is in this folder?',
      'you> Tell me its story.',
      'you (interrupting)> In one sentence, please.',
      '▸ list {"path":"."}',
      '"../secrets" is outside the folder',
      '[interrupted; the text so far is kept]',
      'In short: a record that nothing can rewrite.',
      '12 messages in session demo',
    ])
      expect(text).toContain(expected)
    const { session, close } = await reopened('demo', join(top, 'demo.db'))
    expect(isRight(settle(session.view()))).toBe(true)
    expect([...session.notes()].filter(({ type }) => type === 'receipt').length).toBeGreaterThan(3) // what each call was sent
    expect(messageTexts(session.view()).slice(-4)).toEqual([
      'user: Tell me its story.',
      expect.stringMatching(/^assistant: Well,.*\[interrupted\]$/) as unknown,
      'user: In one sentence, please.',
      'assistant: As you like. In short: a record that nothing can rewrite.',
    ])
    await close()
  })

  it('SIGTERM keeps what an answer has said, and gives the terminal back', async () => {
    const chat = terminal('--session', 'ended')
    await chat.until('you> ')
    chat.pty.write(`tell me ${'a '.repeat(200)}\r`)
    await chat.until('You said: tell me')
    process.kill(chat.pty.pid, 'SIGTERM')
    expect(await chat.ended).toBe(0)
    expect(chat.shown()).toContain('continue with:\r\n  indelible chat --session ended')
    const { session, close } = await reopened('ended')
    expect(messageTexts(session.view()).at(-1)).toMatch(/^assistant: You said: tell me.*\[interrupted\]$/)
    await close()
  })
  it('answers typed messages; Ctrl-C cuts an answer, again quits; --session continues', async () => {
    const first = terminal('--session', 'mine')
    await first.until('no model, a few fixed rules')
    await first.until('you> ')
    first.pty.write('please list the files\r')
    await first.until(/I see 4 lines/)
    first.pty.write('read inner/b.txt\r')
    await first.until(/another first line[^]*you> /)
    const long = join(folder, 'inner', 'long.txt')
    writeFileSync(long, `${'x'.repeat(100)}\ny\n`)
    first.pty.write('read inner/long.txt\r')
    await first.until(/I see 3 lines[^]*you> /)
    rmSync(long)
    expect(first.shown()).toContain(`◂ ${'x'.repeat(80)} (3 lines)`)
    first.pty.write(`tell me ${'a '.repeat(90)}\r`) // 15 milliseconds for each word
    await first.until('You said: tell me')
    first.pty.write('\u0003')
    await first.until('[interrupted; the text so far is kept]')
    first.pty.write('\u0003')
    expect(await first.ended).toBe(0)
    expect(first.shown()).toContain('continue with:\r\n  indelible chat --session mine')

    const { session, close } = await reopened('mine')
    expect(isRight(settle(session.view()))).toBe(true)
    expect(
      session
        .view()
        .toArray()
        .flatMap((message) => toolCallsOf(message))
        .map(({ name }) => name),
    ).toEqual(['list', 'read', 'read'])
    expect(messageTexts(session.view()).at(-1)).toMatch(/^assistant: You said: tell me.*\[interrupted\]$/)
    const len = session.len
    await close()

    const again = terminal('--session', 'mine')
    await again.until('you> ')
    again.pty.write('hello again\r')
    await again.until('You said: hello again')
    again.pty.write('\u0004')
    expect(await again.ended).toBe(0)
    const resumed = await reopened('mine')
    expect(resumed.session.len).toBe(len + 2)
    await resumed.close()
  })

  it('accepts an id prefix at a terminal and a whole id from a pipe', async () => {
    const store = join(top, 'begun.db')
    const whole = '7f000001-aaaa-4bbb-8ccc-000000000001'
    indelible(['chat', '--session', whole, '--store', store], { input: 'first\n' })
    expect(indelible(['chat', '--session', '7f00', '--store', store]).stdout).toContain('new session 7f00 in')
    const { pty, until, ended, shown } = terminal('--session', '7f0000', '--store', store)
    await until('you> ')
    expect(shown()).toContain(`session ${whole} in`)
    expect(shown()).toMatch(/after\s+3\s+messages/)
    pty.write('\u0004')
    expect(await ended).toBe(0)
  })

  it('creates no session before the first message', async () => {
    const store = join(top, 'silent.db')
    for (const args of [[], ['--session', 'quiet']]) {
      const { status, stdout } = indelible(['chat', '--store', store, ...args], { terminal: 100 })
      expect(status).toBe(0)
      expect(stdout).toContain('you said nothing, so no session was created')
    }
    const opened = await sqliteStore({ path: store })()
    if (isLeft(opened)) throw new Error('no store')
    expect(await listSessions(opened.right)()).toMatchObject({ right: { sessions: [] } })
    await opened.right.close()()
    const { pty, until, ended, shown } = terminal('--store', store)
    await until('you> ')
    pty.write('hi\r')
    await until('You said: hi')
    pty.write('\u0004')
    expect(await ended).toBe(0)
    const id = /session (\S+) in/.exec(shown())?.[1] ?? ''
    expect(shown()).toContain(`3 messages in session ${id}; continue with:\r\n  indelible chat --session ${id} --store`)
    const { session, close } = await reopened(id, store)
    expect(messageTexts(session.view()).slice(1)).toEqual([
      'user: hi',
      expect.stringMatching(/^assistant: You said: hi/) as unknown,
    ])
    await close()
  })

  it('says from a pipe where it writes, and what it says to each line', () => {
    const store = join(top, 'piped.db')
    const chat = (input: string) =>
      indelible(['chat', '--session', 'p', '--store', store], { input, cwd: folder }).stdout
    const model = 'model scripted (no model, a few fixed rules); tools: list, read, search'
    const rules = 'I am not a language model: I only know "list", "read PATH" and "search TEXT".'
    const end = (count: number): string =>
      `\n${count} messages in session p; continue with:\n  indelible chat --session p --store ${store}\n`
    expect(chat('hi\n \nread a.txt\n')).toBe(
      `new session p in ${store}\n${model}\nYou said: hi. ${rules}\nI read it.\n▸ read {"path":"a.txt"}\n◂ first line second line (3 lines)\nI see 3 lines. first line\n${end(7)}`,
    )
    expect(chat(`find nothing\n${'x'.repeat(201)}\n`)).toBe(
      `session p in ${store}, after 7 messages\n${model}\nI look for it.\n▸ search {"text":"nothing"}\n◂ (no line has it)\nI see 1 line. (no line has it)\nYou said: ${'x'.repeat(200)}. ${rules}\n${end(13)}`,
    )
    expect(chat('')).toBe(`session p in ${store}, after 13 messages\n${model}\n${end(13)}`)
  })
  it('asks a compatible server, which may need no key', async () => {
    const server = await providerServer(() => ({
      events: [
        JSON.stringify({
          id: 'c',
          model: 'm',
          choices: [{ index: 0, delta: { role: 'assistant', content: 'Served.' } }],
        }),
        JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
        '[DONE]',
      ],
    }))
    const args = ['chat', '--model', 'm', '--type', 'openai_compatible', '--base-url', `${server.url}/v1`]
    const { status, stdout } = await indelibleAside([...args, '--store', join(top, 'served.db')], { input: 'hi\n' })
    expect([status, stdout]).toEqual([0, expect.stringMatching(/\nmodel m; tools: [^]*Served\./)])
    expect(server.requests.map(({ path, headers, body }) => [path, headers.authorization, body['model']])).toEqual([
      ['/v1/chat/completions', 'Bearer none', 'm'],
    ])
    await server.close()
  })
  it('explains wrong arguments', () => {
    const refusalOf = (...args: readonly string[]): string => {
      const { status, stderr } = indelible(['chat', ...args], { env: { XDG_DATA_HOME: top } })
      return `${status}: ${stderr.split('\n')[0]}`
    }
    expect(refusalOf('hello')).toBe('2: indelible: chat takes no arguments, but got hello')
    expect(refusalOf('--budget', 'much')).toBe('2: indelible: --budget takes a whole number of tokens, not "much"')
    for (const budget of ['0', '-1', '1.5']) expect(refusalOf('--budget', budget)).toContain(`not "${budget}"`)
    expect(refusalOf('--session', '')).toBe('2: indelible: --session takes an ID')
    expect(refusalOf('--model', 'claude-opus-5')).toMatch(/^2: .*ANTHROPIC_API_KEY/)
    expect(refusalOf('--model', 'gpt-5.5')).toMatch(/^2: .*OPENAI_API_KEY/)
    expect(refusalOf('--model', 'm', '--type', 'openai_compatible')).toMatch(/^2: /)
    expect(refusalOf('--base-url', 'http://127.0.0.1:9')).toMatch(/describe a model: name it with --model$/)
    expect(refusalOf('--type', 'openai')).toBe(
      '2: indelible: --type and --base-url describe a model: name it with --model',
    )
    expect(refusalOf('--model', 'qwen')).toMatch(
      /^2: indelible: no provider can be inferred from the model name "qwen"; pass its type/,
    )
    expect(refusalOf('--folder', '/no/such')).toBe('1: indelible: /no/such: there is no such folder')
  })
})

describe('the folder tools', () => {
  const call = async (name: string, input: unknown, inside = folder): Promise<string> => {
    const found = (await folderTools(inside)).find((tool) => tool.name === name)
    try {
      return String(
        await found?.run?.(input as never, {
          call: { type: 'tool_call', id: 'c', name, arguments: '' },
          signal: new AbortController().signal,
        }),
      )
    } catch (error) {
      return `! ${(error as Error).message}`
    }
  }
  it('read the folder', async () => {
    expect(await call('list', {})).toBe('a.txt\ninner/\nlink.txt\nup')
    expect(await call('list', { path: 'inner' })).toBe('b.txt')
    expect(await call('read', { path: 'a.txt' })).toBe('first line\nsecond line\n')
    expect(await call('read', { path: 'a.txt', from: 2 })).toBe('second line\n')
    expect(await call('search', { text: 'first' })).toBe('a.txt:1: first line\ninner/b.txt:1: another first line')
    expect(await call('search', { text: 'nowhere' })).toBe('(no line has it)')
  })
  it('show a limited part, and say how to get the rest', async () => {
    const large = mkdtempSync(join(top, 'large-'))
    const inLarge = (name: string, input: unknown) => call(name, input, large)
    expect(await inLarge('list', {})).toBe('(empty)')
    for (const name of ['.git', 'node_modules']) mkdirSync(join(large, name))
    writeFileSync(join(large, '.git/config'), 'found')
    writeFileSync(join(large, 'bytes'), 'found\0')
    const write = (lines: readonly string[]): void => writeFileSync(join(large, 'a.txt'), lines.join('\n'))
    const many = (count: number, line: string): string[] => Array.from({ length: count }, () => line)
    expect(await inLarge('read', { path: 'bytes' })).toBe('(not a text file)')
    write(many(100, `  found ${'x'.repeat(300)}`))
    const match = (at: number): string => `a.txt:${at + 1}: found ${'x'.repeat(194)}`
    const matches = Array.from({ length: 100 }, (_, at) => match(at))
    expect(await inLarge('search', { text: 'found' })).toBe(matches.join('\n'))
    write(many(101, `  found ${'x'.repeat(300)}`))
    expect(await inLarge('search', { text: 'found' })).toBe(
      [...matches, '(more than 100 matches: look for something longer)'].join('\n'),
    )
    // 64 lines of 1,024 bytes fit, the last without its end.
    write(many(64, 'y'.repeat(1023)))
    expect(await inLarge('read', { path: 'a.txt' })).toBe(many(64, 'y'.repeat(1023)).join('\n'))
    write(many(66, 'y'.repeat(1023)))
    const cut = (count: number, from: number): string =>
      `${`${'y'.repeat(1023)}\n`.repeat(64)}(cut here: ${count} more lines; read on from line ${from})`
    expect(await inLarge('read', { path: 'a.txt' })).toBe(cut(2, 65))
    for (const from of [0, 1]) expect(await inLarge('read', { path: 'a.txt', from })).toBe(cut(2, 65))
    expect(await inLarge('read', { path: 'a.txt', from: 2 })).toBe(cut(1, 66))
    expect(await inLarge('read', { path: 'a.txt', from: 66 })).toBe('y'.repeat(1023))
    expect(await inLarge('read', { path: 'a.txt', from: 67 })).toBe('')
    write([...many(1, 'y'.repeat(64 * 1024)), 'z'])
    expect(await inLarge('read', { path: 'a.txt' })).toBe(
      `${'y'.repeat(64 * 1024)}\n(cut here: 1 more lines; read on from line 2)`,
    )
    write(['y'.repeat(64 * 1024 + 1)])
    expect(await inLarge('read', { path: 'a.txt' })).toBe(
      `${'y'.repeat(64 * 1024)}(cut here: the rest of this line is left out; read on from line 2)`,
    )
    for (let index = 0; index < 496; index++) writeFileSync(join(large, `f${index}`), '')
    expect((await inLarge('list', {})).split('\n')).toHaveLength(500)
    writeFileSync(join(large, 'g'), '')
    expect((await inLarge('list', {})).split('\n').slice(-2)).toEqual([expect.stringMatching(/^\w+\/?$/), '(1 more)'])
  })
  it('read nothing outside, not even through a link', async () => {
    for (const path of [
      '..',
      '../secret.txt',
      '/etc/passwd',
      'inner/../../secret.txt',
      join(top, 'secret.txt'),
      'link.txt',
      'up',
      'up/secret.txt',
      'a.txt\0',
      '',
      7,
    ])
      for (const name of ['list', 'read'])
        expect([path, await call(name, { path })]).toEqual([path, expect.stringMatching(/^! |^there is no/) as unknown])
    expect(await call('search', { text: 'secret', path: 'up' })).toBe('! "up" is a link that leads outside the folder')
    expect(await call('search', { text: 'secret' })).toBe('(no line has it)')
    expect(await call('read', { path: 'no.txt' })).toBe('! there is no "no.txt" in the folder')
  })
})
