/** `indelible record`: a real program between whose calls and a provider on loopback it stands. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { providerServer, type ProviderServer, type Reply, type Request } from '../../../test/run/provider-server.ts'
import { createSession, memoryStore, openSession, orThrow, user } from 'indelible'
import type { Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { holdSession } from '@indelible/evidence'
import type { ObservedCall } from '@indelible/recorder'
import { summaryLines } from '../src/record/record.ts'
import { Recorders } from '../src/record/recorders.ts'
import { removeOld } from '../src/record/retention.ts'
import { sessionsIn } from '../src/sources/sessions.ts'
import type { Call } from '../src/terminal/command.ts'
import { terminalOf } from '../src/terminal/output.ts'
import { indelible, indelibleAside, main, type CommandEnded } from './indelible.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-record-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const client = join(root, 'packages/cli/test/record-client.ts')

let server: ProviderServer
let store: string
let stores = 0
let reply: (request: Request) => Reply
const answer = (content: string): Reply => ({
  body: {
    id: 'c1',
    model: 'gpt-5.2',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 10,
      total_tokens: 1010,
      prompt_tokens_details: { cached_tokens: 500 },
    },
  },
})
beforeEach(async () => {
  store = join(folder, `${stores++}.db`)
  reply = ({ body }) => answer(`heard ${(body['messages'] as readonly unknown[]).length}`)
  server = await providerServer((request) => reply(request))
})
afterEach(() => server.close())

interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const recorded = (
  args: readonly string[],
  env: { readonly [name: string]: string } = {},
  told: (child: ChildProcess, stdout: string) => void = () => {},
): Promise<CommandResult> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [main, 'record', '--store', store, ...args], {
      env: { ...process.env, XDG_DATA_HOME: folder, OPENAI_BASE_URL: `${server.url}/v1`, ...env },
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => told(child, (stdout += String(chunk))))
    child.stderr.on('data', (chunk) => (stderr += String(chunk)))
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
/** The same without a process of its own, where nothing is said that passes through. */
const recordedAside = (...args: readonly string[]): Promise<CommandEnded> => recordedWith([], {}, ...args)
const recordedWith = (
  options: readonly string[],
  env: { readonly [name: string]: string },
  ...args: readonly string[]
): Promise<CommandEnded> =>
  indelibleAside(['record', '--store', store, ...options, '--', ...args], {
    env: { OPENAI_BASE_URL: `${server.url}/v1`, ...env },
  })
/** A program that says nothing. */
const silent = ['/bin/sh', '-c', 'exec "$0" "$@" > /dev/null', process.execPath] as const

const listedSessions = (): readonly string[] => {
  const { lines } = indelible(['list', '--json', '--store', store])
  return lines.filter(Boolean).map((line) => (JSON.parse(line) as { readonly id: string }).id)
}

describe('indelible record', () => {
  it("records a program's conversation and passes its output and exit code through", async () => {
    const { code, stdout, stderr } = await recorded(['--', process.execPath, client, 'one', 'two'], { EXIT: '3' })
    expect([code, stdout]).toEqual([3, '{"role":"assistant","content":"heard 3"}\n'])
    expect(stderr).toContain('recorded: 2 calls in 1 session\n')
    expect(stderr).toMatch(/tokens: 2,000 in \(50 % from cache\), 20 out, about \$0\.\d{4}\n/)
    const [id, ...others] = listedSessions()
    expect(others).toEqual([])
    expect(stderr).toContain(`indelible show ${id}`)
    expect(indelible(['export', String(id), '--to', 'openai-chat', '--store', store]).stdout).toContain('heard 3')
    expect(indelible(['verify', String(id), '--store', store]).status).toBe(0)
    expect(readFileSync(store).includes('secret-key')).toBe(false)
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(Array(2).fill('Bearer secret-key'))
  })

  it('a session has the working folder of its program as the metadata `cwd`, unless no content is recorded', async () => {
    const record = async (...options: readonly string[]) =>
      indelibleAside(['record', '--store', store, ...options, '--', process.execPath, client, 'where?'], {
        env: { OPENAI_BASE_URL: `${server.url}/v1` },
        cwd: folder,
      })
    expect((await record()).status).toBe(0)
    const folders = (): readonly unknown[] =>
      indelible(['list', '--json', '--store', store])
        .lines.filter(Boolean)
        .map((line) => (JSON.parse(line) as { readonly metadata: { readonly cwd?: string } }).metadata.cwd)
    expect(folders()).toEqual([folder])
    expect((await record('--no-content')).status).toBe(0)
    expect(folders().toSorted()).toEqual([folder, undefined])
  })

  it('puts the address where an argument names the variable', async () => {
    const program = `const { OPENAI_BASE_URL: url, GOOGLE_GEMINI_BASE_URL: gemini } = process.env
      const right = process.argv[1] === "url=" + url && gemini === url.replace(/openai$/, 'gemini') &&
        /^http:\\/\\/127\\.0\\.0\\.1:\\d{4,5}\\/[0-9a-f]{24}\\/openai$/.test(url)
      process.exit(right && process.argv[2] === '{HOME} {}' ? 7 : 8)`
    const args = ['-e', program, 'url={OPENAI_BASE_URL}', '{HOME} {}']
    expect((await recordedAside(process.execPath, ...args)).status).toBe(7)
  })

  it('is reached directly by its program, beside what NO_PROXY has', async () => {
    const program = ['/bin/sh', '-c', '[ "$NO_PROXY" = a,127.0.0.1,localhost ]']
    expect((await recordedWith([], { NO_PROXY: 'a', no_proxy: 'b' }, ...program)).status).toBe(0)
  })

  it('with --strict a call that could not be recorded is exit code 1', async () => {
    const program = `await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-team': 'x'.repeat(300) },
      body: JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content: 'hi' }] }),
    })`
    const commandEnded = await recordedWith(
      ['--scope-header', 'X-Team', '--strict'],
      {},
      process.execPath,
      '-e',
      program,
    )
    expect([commandEnded.status, commandEnded.stderr]).toEqual([
      1,
      expect.stringMatching(/^indelible: a call is not recorded: "x{300}" can't be a scope\n1 call not recorded\n$/),
    ])
  })

  it("starts a new session for a program that asks the same as an earlier one, and passes a provider's error to it", async () => {
    await recordedAside(...silent, client, 'one')
    reply = () => ({ status: 500, body: { error: { message: 'broken' } } })
    const { status, stderr } = await recordedAside(process.execPath, client, 'one')
    expect(status).toBe(9)
    expect(stderr).toContain('recorded: 1 call in 1 session, 1 failed\n')
    expect(listedSessions()).toHaveLength(2)
  })

  it.each(['nope=http://127.0.0.1:9', 'openai', 'openai=ftp://a', 'openai=http://', 'OPENAI=http://a'])(
    'refuses the upstream %s before anything is recorded',
    (upstream) => {
      const { status, stderr } = indelible(['record', '--store', store, '--upstream', upstream, '--', process.execPath, client, 'one']) // oxfmt-ignore
      expect(status).toBe(2)
      expect(stderr).toMatch(/--upstream takes NAME=URL, where NAME is one of .*openai.*; not "/)
      expect(stderr).toContain(`not "${upstream}"`)
    },
  )

  it('answers for an unreachable provider', () => {
    const to = ['--upstream', 'openai=http://127.0.0.1:9']
    const { status, stderr } = indelible(['record', '--store', store, ...to, '--', process.execPath, client, 'one'])
    expect(status).toBe(9)
    expect(stderr).toContain('1 failed')
  })

  it('names an address that it cannot listen on', () => {
    const { host } = new URL(server.url)
    expect(indelible(['record', '--store', store, '--listen', host])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^indelible: can't listen on ${host}: .*EADDRINUSE`, 'm')) as string,
    })
  })

  it("returns the exit code of a killed program's signal", async () => {
    expect((await recordedAside('/bin/sh', '-c', 'kill -9 $$')).status).toBe(137)
  })

  it('serves programs started separately, reads compressed requests, and ends on SIGTERM', async () => {
    let asked = false
    let shown = ''
    const raw = createServer((incoming, outgoing) => {
      incoming.resume().on('end', () => {
        outgoing.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        outgoing.end(gzipSync(JSON.stringify(answer('read').body)))
      })
    })
    await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve))
    const upstream = `openai=http://127.0.0.1:${(raw.address() as AddressInfo).port}/v1`
    const { code, stderr } = await recorded(
      ['--listen', '127.0.0.1:0', '--scope-header', 'x-team', '--upstream', upstream],
      { ANTHROPIC_BASE_URL: 'http://me:secret@host.example/base//' },
      (child, stdout) => {
        const url = /^(http:\S+\/openai) /m.exec(stdout)?.[1]
        if (url === undefined || asked) return
        asked = true
        shown = stdout.replaceAll(/127\.0\.0\.1:\d{4,5}/g, 'HOST')
        void (async () => {
          const body = JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content: 'packed' }] })
          const headers = { 'content-type': 'application/json', 'content-encoding': 'zstd', 'x-team': 'blue' }
          await fetch(`${url}/chat/completions`, { method: 'POST', headers, body: zstdCompressSync(body) })
          await fetch(`${url}/chat/completions`, { method: 'POST', headers: { 'x-team': 'blue' }, body })
          expect((await fetch(url.replace('/openai', '/nothing'))).status).toBe(404)
          child.kill('SIGTERM')
        })()
      },
    )
    expect(code).toBe(0)
    expect(stderr).toContain('recorded: 2 calls in 2 sessions')
    expect(shown.split('\n')).toEqual([
      'http://HOST/openai  goes to http://HOST/v1',
      'http://HOST/anthropic  goes to http://host.example/base',
      'http://HOST/gemini  goes to https://generativelanguage.googleapis.com',
      'http://HOST/vertex  goes to https://aiplatform.googleapis.com',
      'http://HOST/codeassist  goes to https://cloudcode-pa.googleapis.com',
      '',
    ])
    expect(listedSessions()).toEqual([])
    raw.close()
  })

  it('stopped during an answer records it as far as it came, and leaves no spool', async () => {
    const half = {
      id: 'c1',
      model: 'gpt-5.2',
      choices: [{ index: 0, delta: { content: 'half an ans' } }],
      usage: { prompt_tokens: 5, completion_tokens: 1 },
    }
    reply = () => ({ events: [JSON.stringify(half)], hang: true })
    let asked = false
    const { code, stderr } = await recorded(['--listen', '127.0.0.1:0', '--strict'], {}, (child, stdout) => {
      const url = /^(http:\S+\/openai) /m.exec(stdout)?.[1]
      if (url === undefined || asked) return
      asked = true
      const body = JSON.stringify({ model: 'gpt-5.2', stream: true, messages: [{ role: 'user', content: 'hi' }] })
      void (async () => {
        const { body: stream } = await fetch(`${url}/chat/completions`, { method: 'POST', body })
        const reader = stream?.getReader()
        await reader?.read()
        await expect.poll(() => listedSessions().length, { timeout: 20_000 }).toBe(1) // only the answer is open
        child.kill('SIGTERM')
        await reader?.read().catch(() => {})
      })()
    })
    const [id] = listedSessions()
    expect(stderr).toMatch(
      /^recorded: 1 call in 1 session, 1 failed\ntokens: .*\npaid for: .*\n  indelible show \S+ --store \S+\n$/,
    )
    expect(code).toBe(0)
    expect(indelible(['export', String(id), '--to', 'openai-chat', '--store', store]).stdout).toContain('half an ans')
    expect(indelible(['show', String(id), '--call', '1', '--store', store]).stdout).toContain('at least 1 token')
    expect(readdirSync(folder).filter((name) => name.includes('spool'))).toEqual([])
  })

  it("uses a header's scope, which only a conversation creates; the summary counts all", async () => {
    let done = false
    let scopes = 0
    reply = () => answer('x')
    const { stderr } = await recorded(
      ['--listen', '127.0.0.1:0', '--scope-header', 'x-team', '--upstream', `openai=${server.url}/v1`],
      {},
      (child, stdout) => {
        const url = /^(http:\S+\/openai) /m.exec(stdout)?.[1]
        if (url === undefined || done) return
        done = true
        void (async () => {
          const body = JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content: 'x' }] })
          // More teams with a conversation than recorders are open, and teams without one.
          for (let index = 0; index < 74; index++) {
            const headers = { 'x-team': `team-${index}`, 'content-type': 'application/json' }
            if (index % 9 === 0) await (await fetch(`${url}/models`, { method: 'POST', headers, body: '{}' })).text()
            if (index % 9 !== 1)
              await (await fetch(`${url}/chat/completions`, { method: 'POST', headers, body })).text()
          }
          // Those with a log: of the teams that had a conversation, and the command's own.
          scopes = indelible(['list', '--scopes', '--json', '--store', store]).lines.filter(Boolean).length
          child.kill('SIGTERM')
        })()
      },
    )
    expect(stderr).toContain('recorded: 65 calls in 65 sessions\n')
    expect(stderr).toContain('9 other requests forwarded\n')
    expect(scopes).toBeLessThanOrEqual(66) // the last ones may be on their way
  })

  it.each([
    [[], 'needs a COMMAND'],
    [['--listen', 'x'], 'HOST:PORT'],
    [['--listen', '127.0.0.1:65536'], 'HOST:PORT'],
    [['--listen', '0.0.0.0:0'], '--token'],
    [['--listen', '[::]:0'], '--token'],
    [['--token', '1234567', '--', 'x'], 'at least 8'],
    // The first and last values that each of them takes: what is refused is the option after it.
    [['--listen', '127.0.0.1:65535', '--upstream', 'x=y'], '--upstream takes'],
    [['--listen', '[::1]:0', '--upstream', 'x=y'], '--upstream takes'],
    [['--token', '12345678', '--sample', '101', '--', 'x'], 'percentage'],
    [['--sample', '0', '--keep-days', '0', '--', 'x'], 'at least 1'],
    [['--sample', '100', '--keep-days', '0', '--', 'x'], 'at least 1'],
    [['--sample', '-1', '--', 'x'], 'percentage'],
    [['--upstream', 'x=y', '--', 'x'], '--upstream takes'],
    [['--sample', '101', '--', 'x'], 'percentage'],
    [['--keep-days', '0', '--', 'x'], 'at least 1'],
  ])('refuses %j as misuse', (args, text) => {
    expect(indelible(['record', ...args, '--store', store])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(text) as string,
    })
  })

  it('reads the token from the environment, hidden from other users', () => {
    const run = (token: string) =>
      indelible(['record', '--listen', '0.0.0.0:0', '--upstream', 'x', '--store', store], {
        env: { INDELIBLE_TOKEN: token },
      })
    expect(run('short').stderr).toContain('at least 8')
    expect(run('').stderr).toContain('add --token')
    expect(run('long-enough').stderr).toContain('--upstream takes')
  })

  it("names a program that cannot be run, with the shell's exit code", () => {
    const none = join(folder, 'none')
    const run = (command: string) => indelible(['record', '--store', store, '--', command])
    expect(run(none)).toMatchObject({
      status: 127,
      stderr: `indelible: ${none} can't be run: there is no such program\n`,
    })
    expect(run(folder)).toMatchObject({ status: 126, stderr: `indelible: ${folder} can't be run: permission denied\n` })
    expect(run('').status).toBe(2)
  })
})

it('the summary reports calls without usage, and no cost if none was counted', () => {
  const usage = (input: number) => ({ input, output: 1, cacheRead: 0, cacheWrite: 0 })
  const summary = {
    sessions: ['a'],
    calls: 3,
    failed: 1,
    silent: 2,
    passed: 0,
    lost: 0,
    unanswered: 0,
    breaks: [],
    causes: new Map(),
    moreSessions: 0,
    moreBreaks: 0,
  }
  const lines = (dollars: number, unpriced: number) =>
    summaryLines([{ ...summary, usage: usage(5), models: new Map(), dollars, unpriced }])
  expect(lines(0.00001, 0).slice(0, 3)).toEqual([
    'recorded: 3 calls in 1 session, 1 failed',
    'tokens: 5 in (0 % from cache), 1 out, less than $0.0001',
    '2 calls without token counts: the provider sent none',
  ])
  const nearly = { ...usage(1000), cacheRead: 999 }
  const [, tokens] = summaryLines([{ ...summary, usage: nearly, models: new Map(), dollars: 0, unpriced: 0 }])
  expect(tokens).toBe('tokens: 1,000 in (99 % from cache), 1 out')
  const gone = summaryLines([
    { ...summary, sessions: [], removed: 1, usage: usage(0), models: new Map(), dollars: 0, unpriced: 0 },
  ])
  expect([gone[0], gone.join('')]).toEqual([
    'recorded: 3 calls in 1 session, 1 failed; 1 session was removed since',
    expect.not.stringContaining('show'),
  ])
  expect(lines(0, 1)[1]).toBe('tokens: 5 in (0 % from cache), 1 out, price unknown')
  expect(lines(0.0001, 0)[1]).toBe('tokens: 5 in (0 % from cache), 1 out, about $0.00010')
  const plain = {
    ...summary,
    failed: 0,
    silent: 0,
    usage: { ...usage(0), output: 0 },
    models: new Map(),
    dollars: 0,
    unpriced: 0,
  }
  expect(summaryLines([plain])).toEqual(['recorded: 3 calls in 1 session', '  indelible show a'])
  expect(summaryLines([{ ...plain, removed: 2 }])).toEqual([
    'recorded: 3 calls in 3 sessions; 2 sessions were removed since',
    '  indelible show a',
  ])
  expect(summaryLines([{ ...plain, usage: usage(0), silent: 1, passed: 1 }, plain])).toEqual([
    'recorded: 6 calls in 2 sessions',
    'tokens: 0 in (0 % from cache), 1 out',
    '1 call without token counts: the provider sent none',
    '1 other request forwarded',
    ...['  indelible show a', '  indelible show a'],
  ])
  // A thread that died reports nothing.
  expect(summaryLines([{ ...plain, sessions: [], calls: 0, lost: 1 }])).toEqual(['1 call not recorded'])
  expect(summaryLines([{ ...plain, sessions: [], calls: 0, lost: 1, unanswered: 1 }])).toEqual([
    '1 call recorded without the answer',
  ])
  expect(summaryLines([])).toEqual(['nothing was recorded'])
  const lost = summaryLines([
    { ...summary, lost: 3, unanswered: 1, usage: usage(5), models: new Map(), dollars: 0, unpriced: 0 },
  ])
  expect(lost.slice(3, 5)).toEqual(['2 calls not recorded', '1 call recorded without the answer'])
  const because = 'the tool list changed: +search'
  const broken = { ...summary, breaks: [{ cause: 'tools', because, session: 'a', call: 5 } as const] }
  expect(
    summaryLines([{ ...broken, usage: usage(5), models: new Map(), dollars: 0, unpriced: 0 }]).find((line) =>
      line.startsWith('cache'),
    ),
  ).toBe(`cache break in a, call 5: ${because}`)
  const causes = new Map([
    ['new', { tokens: 5, dollars: 0.1 }],
    ['tools', { tokens: 900, dollars: 0.2 }],
  ] as const)
  const paid = { ...summary, causes, usage: usage(905), models: new Map(), dollars: 0.3, unpriced: 0 }
  expect(summaryLines([paid, paid])[2]).toBe('paid for: sent again, tools changed $0.400; new content $0.200')
  expect(lines(0.5, 1)[1]).toBe('tokens: 5 in (0 % from cache), 1 out, about $0.500 without models of unknown price')
  const scoped = {
    ...summary,
    sessions: ['a b'],
    scope: 'ann',
    usage: usage(0),
    models: new Map(),
    dollars: 0,
    unpriced: 0,
  }
  expect(summaryLines([scoped]).at(-1)).toBe("  indelible show 'a b' --scope ann")
  const ids = Array.from({ length: 11 }, (_, index) => `s${index}`)
  const many = ids.map((session, call) => ({ cause: 'tools', because, session, call }) as const)
  const manyOf = (sessions: number, breaks: number, moreSessions: number, moreBreaks: number) => {
    const of = { sessions: ids.slice(0, sessions), breaks: many.slice(0, breaks), moreSessions, moreBreaks }
    const said = summaryLines([{ ...scoped, ...of }])
    const count = (start: string): number => said.filter((line) => line.startsWith(start)).length
    return [count('cache break in'), count('and 2 more cache breaks'), count('  indelible show'), count('  …')]
  }
  expect(manyOf(10, 5, 0, 0)).toEqual([5, 0, 10, 0])
  expect(manyOf(11, 7, 0, 0)).toEqual([5, 1, 10, 1])
  expect(manyOf(3, 1, 1, 2)).toEqual([1, 1, 3, 1])
  const breaks = [{ cause: 'tools', because, session: 'a b', call: 9 } as const]
  expect(summaryLines([{ ...scoped, breaks }]).at(-1)).toBe("  indelible show 'a b' --call 9 --scope ann")
})

describe('the recorders of a command', () => {
  const request = { method: 'POST', url: 'http://x/chat/completions', header: () => undefined }
  /** The rest of a call, as the proxy reports it. */
  const answered = async (call: ObservedCall | undefined, question: string): Promise<void> => {
    call?.piece(Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: question }] })))
    call?.sent()
    call?.answered(200, (name) => (name === 'content-type' ? 'application/json' : undefined))
    call?.chunk(Buffer.from(JSON.stringify(answer('heard').body)))
    call?.end()
    await call?.over
  }
  const day = 86_400_000
  const idsIn = async (store: Store): Promise<readonly string[]> =>
    (await sessionsIn(store)).map(({ id }) => id).toSorted()
  /** In two scopes: sessions of a recorder and one that is not. The last appends of `old` and `fresh` are 1 ms apart. */
  const filled = async () => {
    let now = 100 * day
    const whole = memoryStore({ now: () => now })
    const other = orThrow(whole.scoped('other'))
    for (const store of [whole, other]) {
      for (const id of ['old', 'fresh', 'edge'])
        await createSession(store, { id, messages: [user('Hi.')], metadata: { recorder: 'openai-chat' } })
      await createSession(store, { id: 'own', messages: [user('Hi.')] })
      now += 1
      await (await openSession(store, 'fresh')).append(user('And?'))
      now -= 1
    }
    now += 7 * day + 1
    for (const store of [whole, other]) await (await openSession(store, 'edge')).append(user('Now.'))
    return { whole, other }
  }
  const recordersOf = (store: Store, days: number | undefined, values: Call['values'] = {}, sample = 100) => {
    const output: string[] = []
    const nowhere = { write: () => undefined }
    const stderr = { write: (text: string) => output.push(text) }
    const around = { stdin: process.stdin, stdout: nowhere, stderr, env: {}, cwd: '.', onInterrupt: () => () => {} }
    const call: Call = { values, positionals: [], terminal: terminalOf(around) }
    return { told: output, recorders: new Recorders(store, call, { sample, days, now: Date.now, marks: false }) }
  }

  it('report at most 20 problems, and record no call whose scope has no valid name', () => {
    const { told: output, recorders } = recordersOf(memoryStore(), undefined)
    expect(recorders.of('team')).toBeDefined()
    for (let call = 0; call < 25; call++) expect(recorders.of('a\nb')).toBeUndefined()
    expect(output).toEqual(
      Array.from({ length: 20 }, () => `indelible: a call is not recorded: "a\\nb" can't be a scope\n`),
    )
  })
  it('end the scope that was not used for longest once there are 64, unless a call of it is open', async () => {
    const { recorders } = recordersOf(memoryStore(), undefined)
    recorders.begin()
    const open = recorders.of('open')?.observe(request)
    for (let index = 0; index < 62; index++) recorders.of(`s${index}`)
    recorders.of('s0')
    const names = (): readonly (string | undefined)[] => recorders.summaries().map(({ scope }) => scope)
    const from = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, at) => `s${first + at}`)
    expect(names()).toEqual([undefined, 'open', ...from(1, 61), 's0'])
    recorders.of('new')
    expect(names()).toEqual([undefined, 'open', ...from(2, 61), 's0', 'new'])
    await answered(open, 'open')
    recorders.of('newer')
    await recorders.settled()
    expect(names()).toEqual([undefined, ...from(2, 61), 's0', 'new', 'newer', undefined])
  })
  it.each([
    [{}, 100, [true, true, '']],
    [{ 'no-content': true }, 100, [false, false, '']],
    [{ redact: true }, 100, [false, true, 'redacted: 1 secret (openai-key 1)\n']],
    [{}, 0, []],
  ])('record what the options %j and a sample of %i %% allow', async (values, sample, expected) => {
    const memory = memoryStore()
    const { told: output, recorders } = recordersOf(memory, undefined, values, sample)
    recorders.begin()
    const secret = `sk-proj-${'aB3'.repeat(16)}`
    await answered(recorders.of('default')?.observe(request), `use ${secret}`)
    await recorders.settled()
    recorders.tellRedacted()
    const [id] = await idsIn(memory)
    if (id === undefined) return expect(expected).toEqual([])
    const text = JSON.stringify((await openSession(memory, id)).view().toArray())
    expect([text.includes(secret), text.includes('heard'), output.join('')]).toEqual(expected)
  })
  it('a session that was removed since is counted, and not named', async () => {
    const memory = memoryStore()
    const { recorders } = recordersOf(memory, undefined)
    recorders.begin()
    for (const question of ['stays', 'goes']) await answered(recorders.of('default')?.observe(request), question)
    const [first, ...others] = recorders.summaries()[0]?.sessions ?? []
    await memory.remove(String(first))
    await recorders.settled()
    expect(recorders.summaries()).toMatchObject([{ sessions: others, removed: 1, calls: 2 }])
    expect(others).toHaveLength(1)
  })
  it('with --keep-days remove sessions of the recorder whose last append is older, and no other', async () => {
    const { whole, other } = await filled()
    const { told: output, recorders } = recordersOf(whole, 7)
    recorders.begin()
    await recorders.settled()
    expect(output).toEqual(['1 session older than 7 days removed\n'])
    expect([await idsIn(whole), await idsIn(other)]).toEqual([
      ['edge', 'fresh', 'own'],
      ['edge', 'fresh', 'old', 'own'],
    ])
    recorders.removeOld()
    await recorders.settled()
    expect(output).toHaveLength(1) // nothing is said about nothing
  })
  it('with --keep-days remove them when the command starts, with a row in the ledger', async () => {
    const past = await sqliteStore({ path: store, now: () => 100 * day })
    for (const id of ['a', 'b'])
      await createSession(past, { id, messages: [user('Hi.')], metadata: { recorder: 'openai-chat' } })
    await past.close()
    const args = ['record', '--store', store, '--keep-days', '1', '--', '/bin/sh', '-c', ':']
    const database = new DatabaseSync(store)
    database.exec(`create trigger kept before delete on log begin select raise(abort, 'kept'); end`)
    expect(indelible(args).stderr).toMatch(
      /^indelible: old sessions could not be removed: .*kept.*\nnothing was recorded\n/,
    )
    database.exec('drop trigger kept')
    database.close()
    expect(indelible(args)).toMatchObject({
      status: 0,
      stderr: '2 sessions older than 1 day removed\nnothing was recorded\n',
    })
    expect(listedSessions()).toEqual([])
    expect(indelible(['ledger', 'show', '--store', store]).lines.toSorted()).toEqual(
      ['^$', '^a .* removed by indelible record: older than 1 day$', '^b .* removed by'].map(
        (line) => expect.stringMatching(line) as string,
      ),
    )
  })
  it('with --keep-days look at all scopes if requests name them', async () => {
    const { whole, other } = await filled()
    const { told: output, recorders } = recordersOf(other, 7, { 'scope-header': 'x-team' })
    recorders.begin()
    await recorders.settled()
    expect(output).toEqual(['2 sessions older than 7 days removed\n'])
    for (const store of [whole, other]) expect(await idsIn(store)).toEqual(['edge', 'fresh', 'own'])
  })
  it('with --keep-days leave sessions under a hold, and remove the others', async () => {
    const { whole } = await filled()
    await createSession(whole, { id: 'last', metadata: { recorder: 'openai-chat' } })
    await holdSession(whole, 'old')
    expect(await removeOld(whole, 7)).toBe(0)
    expect(await removeOld(whole, -1)).toBe(3)
    expect(await idsIn(whole)).toEqual(['old', 'own'])
  })
  it('with --keep-days say why nothing could be removed; without it, they remove nothing', async () => {
    const { whole } = await filled()
    const none = recordersOf(whole, undefined)
    none.recorders.begin()
    await none.recorders.settled()
    expect([none.told, await idsIn(whole)]).toEqual([[], ['edge', 'fresh', 'old', 'own']])
    const { told: output, recorders } = recordersOf(whole, 7)
    await whole.close()
    recorders.begin()
    await recorders.settled()
    expect(output).toEqual([expect.stringMatching(/^indelible: old sessions could not be removed: .*closed.*\n$/)])
  })
})
