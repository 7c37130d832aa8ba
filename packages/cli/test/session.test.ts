/** The commands on sessions, as a person runs them, on a real file. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { homeOf } from '../src/sources/home.ts'
import { defaultStorePath, storeName } from '../src/sources/store.ts'
import { environment, indelible as runCommand, main } from './indelible.ts'

const example = join(root, 'examples/coding-agent.json')
const folder = mkdtempSync(join(tmpdir(), 'indelible-session-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let homes = 0
const newHome = (): string => join(folder, `home-${homes++}`)

const runner =
  (home: string) =>
  (...args: readonly string[]) =>
    piped(home, '', ...args)

const piped = (home: string, input: string, ...args: readonly string[]) => {
  const ended = runCommand(args, { input, cwd: folder, env: { XDG_DATA_HOME: home } })
  return { ...ended, lines: ended.lines.slice(0, -1) }
}

describe('a conversation in a store', () => {
  const home = newHome()
  const indelible = runner(home)

  it('is imported into the user’s default store, with a notice, and listed', () => {
    const { status, stdout, stderr } = indelible('import', example)
    expect([status, stderr]).toEqual([0, `store: ${join(home, 'indelible', 'sessions.db')}\n`])
    expect(stdout).toMatch(/^coding-agent: 19 messages of coding-agent\.json \(openai-chat\), head 19:[0-9a-f]{64}\n$/)
    expect(indelible('import', example).stdout).toMatch(/^coding-agent-2: /)
    expect(indelible('list').lines.map((line) => line.trim().split(/\s+/).slice(2, 4))).toEqual([
      ['messages', 'session'],
      ['19', 'coding-agent-2'],
      ['19', 'coding-agent'],
    ])
    expect(JSON.parse(indelible('list', '--json').lines[1] ?? '')).toMatchObject({
      id: 'coding-agent',
      len: 19,
      metadata: { from: { format: 'openai-chat' } },
    })
  })
  it('accepts messages and lines of JSON, all or none', () => {
    expect(indelible('append', 'coding-agent', 'And the tests?').stdout).toMatch(
      /^coding-agent: 1 message at 19, head 20:/,
    )
    expect(
      piped(
        home,
        '{"role":"assistant","content":"On it."}\n\n{"role":"user","content":[{"type":"text","text":"ok"}]}\n',
        'append',
        'coding-agent',
        '--page',
        'plan',
      ).stdout,
    ).toMatch(/^coding-agent: 2 messages at 20, head 22:/)
    const bad = piped(home, '{"role":"user","content":"x"}\n{"role":"king","content":"x"}', 'append', 'coding-agent')
    expect([bad.status, bad.stderr]).toEqual([
      1,
      expect.stringContaining('line 2 is not a message: role should be one of'),
    ])
    expect(piped(home, '{"role":"user",', 'append', 'coding-agent').stderr).toContain('line 1 is not JSON')
    for (const none of ['null', '5', '"x"', '[]', '{}'])
      expect(piped(home, `\n${none}`, 'append', 'coding-agent').stderr).toContain('line 2 is not a message: ')
    expect(indelible('append', 'coding-agent', 'late', '--at', '19')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /grown from 19 to 22 messages, .*"indelible show coding-agent --from 19"/,
      ) as string,
    })
    const once = ['append', 'coding-agent', 'once', '--operation', 'o1'] as const
    expect(indelible(...once).stdout).toBe(indelible(...once).stdout)
    expect(
      indelible('show', 'coding-agent', '--json', '--from', '-4').lines.map(
        (line) => (JSON.parse(line) as { page: string }).page,
      ),
    ).toEqual(['conversation', 'plan', 'plan', 'conversation'])
  })
  it('is shown like a file; an existing file has priority', () => {
    expect(indelible('show', 'coding-agent').lines[0]).toBe('coding-agent: session, 23 messages')
    expect(indelible('show', example).lines[0]).toMatch(/^coding-agent\.json: openai-chat, 19 messages/)
    writeFileSync(join(folder, 'coding-agent-2'), '[{"role":"user","content":"a file"}]')
    expect(indelible('show', 'coding-agent-2').lines[0]).toMatch(/openai-chat, 1 message/)
    expect(indelible('show', 'coding-agent-2', '--store', join(home, 'indelible/sessions.db')).lines[0]).toBe(
      'coding-agent-2: session, 19 messages',
    )
    expect(indelible('show', 'nowhere')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('this store has no session "nowhere"') as string,
    })
  })
  it('is forked, and the fork diverges', () => {
    expect(indelible('fork', 'coding-agent', '--at', '5', '--id', 'other').stdout).toMatch(
      /^other: 5 messages of coding-agent, head 5:/,
    )
    expect(indelible('fork', 'coding-agent', '--at', '-20', '--id', 'tail').stdout).toMatch(/^tail: 3 messages/)
    expect(indelible('list').lines[1]).toMatch(/3 {2}tail .*forked from coding-agent at 3$/)
    expect(indelible('fork', 'coding-agent', '--at', '99')).toMatchObject({ status: 1 })
  })
  it('is proven message by message to anyone with the head', () => {
    const head = indelible('prove', 'coding-agent').lines[0] ?? ''
    const proof = join(folder, 'proof.json')
    writeFileSync(proof, indelible('prove', 'coding-agent', '4').stdout)
    expect(indelible('prove', '--check', proof, '--head', head)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('"tool_result"') as string,
    })
    expect(
      indelible(
        'prove',
        '--check',
        proof,
        '--head',
        head.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      ),
    ).toMatchObject({ status: 1, stderr: expect.stringContaining('the proof does not hold') as string })
    expect(piped(home, readFileSync(proof, 'utf8').replace('tool', 'took'), 'prove', '--check', '-').status).toBe(1)
    expect(indelible('prove', 'coding-agent', '99').status).toBe(1)
    expect(indelible('prove', 'coding-agent', '-1').stdout).toBe(indelible('prove', 'coding-agent', '22').stdout)
    expect(indelible('prove', '-1', '--store', join(home, 'indelible/sessions.db'))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('this store has no session "-1"') as string,
    })
    expect(indelible('show', '--json', 'coding-agent', '--from', '-2', '--to', '-1').lines).toHaveLength(1)
  })
  it('is exported as a provider request or completely, and reimported with the same head', () => {
    expect(JSON.parse(indelible('export', 'coding-agent', '--to', 'anthropic').stdout)).toMatchObject({
      messages: expect.any(Array) as unknown,
    })
    const out = join(folder, 'whole.jsonl')
    expect(indelible('export', 'coding-agent', '--to', 'indelible', '--out', out)).toMatchObject({
      status: 0,
      stdout: '',
    })
    expect(indelible('export', 'coding-agent', '--to', 'indelible', '--out', out)).toMatchObject({ status: 1 })
    const elsewhere = join(folder, 'elsewhere.db')
    expect(indelible('import', out, '--store', elsewhere).stdout).toContain(
      indelible('prove', 'coding-agent').lines[0] ?? '?',
    )
    expect(indelible('export', 'coding-agent', '--to', 'indelible', '--store', elsewhere).stdout).toBe(
      readFileSync(out, 'utf8'),
    )
    expect(indelible('import', out, '--store', elsewhere)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('already') as string,
    })
    writeFileSync(out, readFileSync(out, 'utf8').replace('And the tests?', 'And the rest?'))
    expect(indelible('import', out, '--id', 'changed', '--store', elsewhere)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('nothing was imported') as string,
    })
  })
  it.each([
    [['--from', '23'], '23 to before 23'],
    [['--from', '99'], '99 to before 23'],
    [['--from', '5', '--until', '5'], '5 to before 5'],
    [['--from', '-1', '--until', '3'], '22 to before 3'],
    [['--until', '0'], '0 to before 0'],
    [['--from', '-99', '--until', '-23'], '0 to before 0'],
  ])('is not exported as a page without messages: %j', (range, text) => {
    expect(indelible('export', 'coding-agent', '--to', 'html', ...range)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining(`coding-agent: has 23 messages, and none from ${text}; nothing was`) as string,
    })
  })
  it('is verified, and changes in the file are reported', () => {
    const head = indelible('prove', 'coding-agent').lines[0] ?? ''
    indelible('append', 'coding-agent', 'more')
    expect(indelible('verify', 'coding-agent', '--head', head)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        /^coding-agent: good, 24 messages, head 24:.*, which continues the given head of 23 rows\n$/,
      ) as string,
    })
    expect(indelible('verify', 'other', '--head', head)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('truncated: it has 5 rows, but had 23') as string,
    })
    for (const size of [5, 4])
      expect(indelible('verify', 'other', '--head', `${size}:${'0'.repeat(64)}`)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining(
          `other: rewritten: its first ${size} rows do not have the head ${size}:0`,
        ) as string,
      })
    expect(indelible('verify', '--all')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^(?:\S+: good, .*\n){4}4 sessions verified, 0 damaged\n$/) as string,
      stderr: expect.stringMatching(/^store: .*\n$/) as string,
    })
    const db = new DatabaseSync(join(home, 'indelible/sessions.db'))
    db.exec(`update row set body = replace(body, 'And the tests?', 'And the rests?')`)
    db.close()
    expect(indelible('verify', 'coding-agent')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('coding-agent: damaged at row 19') as string,
    })
    expect(indelible('verify', '--all')).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^(?:\S+: good, .*\n){3}4 sessions verified, 1 damaged\n$/) as string,
      stderr: expect.stringMatching(
        /^store: .*\ncoding-agent: damaged at row 19 .*\nindelible: 1 session of 4 is damaged\n$/,
      ) as string,
    })
  })
})

describe('open calls', () => {
  it('are reported and get error results on request', () => {
    const home = newHome()
    const indelible = runner(home)
    const path = join(folder, 'open.json')
    writeFileSync(
      path,
      '[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}]',
    )
    indelible('import', path)
    expect(indelible('append', 'open', 'stop').stderr).toContain('1 call without a result')
    indelible('fork', 'open', '--at', '2', '--id', 'again')
    expect(indelible('append', 'again', 'go on', '--interrupted').stdout).toMatch(/^again: 2 messages at 2/)
    expect(indelible('show', 'again').stdout).toContain('open calls: none')
    // A call of an earlier turn can't be settled by an append, also not by the one that was asked to.
    const { stderr } = indelible('append', 'open', 'go on', '--interrupted')
    expect(stderr).toContain(
      "1 call without a result, which providers refuse; messages already follow, so an append can't add it",
    )
    expect(stderr).toContain('"indelible fork open --at 2')
    expect(stderr).not.toContain('--interrupted appends error results')
    const calls = ['c2', 'c3'].map((id) => ({ type: 'tool_call', id, name: 'f', arguments: '{}' }))
    piped(home, JSON.stringify({ role: 'assistant', content: calls }), 'append', 'again')
    expect(indelible('append', 'again', 'stop').stderr).toMatch(
      /^2 calls without a result, .* so an append can't add them; .*;\n.*"indelible fork again --at 5"/m,
    )
    expect(indelible('fork', 'open', '--at', '2', '--id', 'third').status).toBe(0)
    expect(indelible('append', 'third', '--role', 'assistant', 'x').stderr).not.toContain('without a result')
  })
})

describe('several conversations', () => {
  it('of one file become one session each, or the picked one', () => {
    const indelible = runner(newHome())
    const path = join(folder, 'runs.json')
    writeFileSync(
      path,
      JSON.stringify([0, 1, 2].map((run) => ({ task_id: run, traj: [{ role: 'user', content: `run ${run}` }] }))),
    )
    expect(indelible('import', path, example).lines.map((line) => line.split(':')[0])).toEqual([
      'runs-0',
      'runs-1',
      'runs-2',
      'coding-agent',
    ])
    expect(indelible('import', path, '--pick', '1', '--id', 'one').lines).toHaveLength(1)
    const heard = piped(newHome(), readFileSync(path, 'utf8'), 'import', '-')
    expect([heard.status, heard.lines.map((line) => line.split(':')[0])]).toEqual([
      0,
      ['conversation-0', 'conversation-1', 'conversation-2'],
    ])
    expect(indelible('show', 'one', '--json').stdout).toContain('run 1')
    expect(indelible('import', path, '--id', 'x').status).toBe(2)
  })
})

describe('JSON lines', () => {
  it('of messages or conversations are shown, checked, converted and imported', () => {
    const indelible = runner(newHome())
    const messages = join(folder, 'said.jsonl')
    writeFileSync(messages, '{"role":"user","content":"hi"}\n{"role":"assistant","content":"ho"}\n{"role":"us')
    const tuning = join(folder, 'tuning.jsonl')
    writeFileSync(
      tuning,
      ['a', 'b'].map((content) => `${JSON.stringify({ messages: [{ role: 'user', content }] })}\n`).join(''),
    )
    expect(indelible('show', messages)).toMatchObject({
      status: 1, // because of the line that is cut off
      stdout: expect.stringMatching(/^said\.jsonl: openai-chat, 2 messages\n/) as string,
    })
    expect(indelible('show', '--check', messages)).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('line     3  is cut off') as string,
    })
    expect(JSON.parse(indelible('export', tuning, '--pick', '1', '--to', 'anthropic').stdout)).toEqual({
      messages: [{ role: 'user', content: 'b' }],
    })
    expect(indelible('import', messages, tuning).lines.map((line) => line.split(' of ')[0])).toEqual([
      'said: 2 messages',
      'tuning-0: 1 message',
      'tuning-1: 1 message',
    ])
  })
})

describe('wrong command lines', () => {
  it.each([
    [['import']],
    [['append']],
    [['append', 'x', 'y', 'z']],
    [['append', 'x', 'y', '--role', 'king']],
    [['append', 'x', 'y', '--page', 'gossip']],
    [['append', 'x', 'y', '--at', 'soon']],
    [['fork', 'x', '--at', 'soon']],
    [['verify', 'x', 'y']],
    [['verify', 'x', '--head', 'y']],
    [['verify', 'x', '--all']],
    [['verify', '--all', '--head', `1:${'0'.repeat(64)}`]],
    [['verify', 'x', '--deep']],
    [['prove', 'x', 'last']],
    [['export', 'x']],
    [['export', 'x', '--to', 'nothing']],
    [['export', 'x', '--to', 'anthropic', '--from', '1']],
    [['export', 'x', '--to', 'indelible', '--until', '1']],
    [['export', 'x', '--to', 'openai-chat', '--redact']],
    [['list', 'x']],
    [['list', '--store', '']],
  ])('%j is refused', (args) => {
    const { status, stderr } = runner(newHome())(...args)
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^indelible: .+\nTry: indelible \S+ --help\n$/)])
  })
  it('reading does not create a missing store', () => {
    const home = newHome()
    for (const args of [['list'], ['verify', '--all'], ['append', 'x', 'y']]) {
      const { status, stderr } = runner(home)(...args)
      expect([status, stderr]).toEqual([
        1,
        expect.stringContaining('this store does not exist; "indelible import FILE" creates it'),
      ])
    }
    expect(existsSync(home)).toBe(false)
  })
  it('importing an unreadable file does not create a missing store', () => {
    const home = newHome()
    for (const [file, reason] of [
      [join(home, 'nowhere.jsonl'), 'does not exist'],
      [join(root, 'package.json'), 'not a conversation'],
    ] as const)
      expect(runner(home)('import', file)).toMatchObject({ status: 1, stderr: expect.stringContaining(reason) })
    expect(existsSync(home)).toBe(false)
  })
  it('every command has help within 80 columns', () => {
    const run = runner(newHome())
    const commands = run('--help').stdout.match(/(?<=^  )[a-z][a-z-]*(?= )/gm) ?? []
    expect(commands.length).toBeGreaterThan(20)
    for (const command of commands) {
      const { status, stdout } = run(command, '--help')
      expect([command, status, stdout]).toEqual([command, 0, expect.stringMatching(/^Usage: indelible /)])
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    }
  })
})

describe('the required Node version', () => {
  const on = (version: string, ...args: readonly string[]) => {
    const faked = `data:text/javascript,${encodeURIComponent(`Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`)}`
    return spawnSync(process.execPath, ['--import', faked, main, ...args], {
      encoding: 'utf8',
      env: { ...process.env, XDG_DATA_HOME: newHome() },
    })
  }
  it.each(['20.20.2', '22.15.1', '9.1.0', '23.11.1'])('rejects %s', (version) => {
    expect(on(version, 'list')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `indelible: needs Node 22.16 or later, but not 23; this is ${version}\n`,
    })
  })
  it.each(['22.16.0', '24.0.0', '100.0.0'])('accepts %s', (version) => expect(on(version, '--version').status).toBe(0))
  it.each(['20.20.2', '22.15.1', '23.11.1'])(
    'of the library rejects %s with one sentence, also without SQLite',
    (version) => {
      const faked = `data:text/javascript,${encodeURIComponent(`
      import { registerHooks } from 'node:module'
      Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })
      registerHooks({ resolve: (name, context, next) => {
        if (name === 'node:sqlite') throw new Error('No such built-in module: node:sqlite')
        return next(name, context)
      } })`)}`
      for (const entry of ['indelible', 'indelible/store/sqlite', 'indelible/internal/json']) {
        const program = `import('${entry}').catch(({ message }) => console.log(message))`
        const args = ['--import', faked, '--input-type=module', '-e', program]
        const { stdout, stderr } = spawnSync(process.execPath, args, {
          encoding: 'utf8',
          cwd: root,
          env: { PATH: process.env['PATH'] },
        })
        expect([entry, stdout, stderr]).toEqual([
          entry,
          `indelible needs Node 22.16 or later, but not 23; this is ${version}\n`,
          '',
        ])
      }
    },
  )
  it("matches the package's engines field", () => {
    const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      readonly engines: { readonly node: string }
    }
    expect(on('1.0.0', 'list').stderr).toContain('needs Node 22.16 or later, but not 23')
    expect(engines.node).toBe('^22.16 || >=24')
  })
})

it('the name of a store in PostgreSQL has no password, wherever the address holds it', () => {
  for (const given of ['postgres://u:pass:word@h/d?schema=s', 'postgres://u@h/d?schema=s&password=pass:word'])
    expect(storeName(given)).toBe('postgres://u@h/d?schema=s')
  expect(storeName('/home/a:b@c/sessions.db')).toBe('/home/a:b@c/sessions.db')
})

it("the default store is in the system's application data folder", () => {
  expect(defaultStorePath({ XDG_DATA_HOME: '/x' }, 'linux', '/home/a')).toBe(join('/x', 'indelible', 'sessions.db'))
  expect(defaultStorePath({ XDG_DATA_HOME: 'relative' }, 'linux', '/home/a')).toBe(
    join('/home/a', '.local', 'share', 'indelible', 'sessions.db'),
  )
  expect(defaultStorePath({}, 'darwin', '/Users/a')).toBe(
    join('/Users/a', 'Library', 'Application Support', 'indelible', 'sessions.db'),
  )
  expect(defaultStorePath({ LOCALAPPDATA: '/data' }, 'win32', '/a')).toBe(join('/data', 'indelible', 'sessions.db'))
  // Not in the current folder, which anybody may have made.
  expect(isAbsolute(homeOf({ HOME: '' }, ''))).toBe(true)
})

it('npm start imports, continues, verifies, and finds the change', () => {
  const { status, stdout } = spawnSync(process.execPath, [join(root, 'scripts/start.ts')], {
    encoding: 'utf8',
    cwd: folder,
    env: { ...environment(), TMPDIR: folder },
  })
  expect(status).toBe(0)
  expect(stdout).toMatch(/^example: 19 messages/m)
  expect(stdout).toMatch(/^example: 1 message at 19/m)
  expect(stdout).toMatch(/^example: good, 20 messages.*, which continues the given head of 20 rows$/m)
  expect(stdout).toMatch(
    /changes a word in row (\d+):\n\n\$ .*\nindelible: example: damaged at row \1 \(message \1\): /,
  )
})
