/** `continue` and `sessions`: homes of the test's own, and programs that only say how they were started. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { isOfSubAgent } from '../src/sources/machine-sessions.ts'
import { writtenLines } from '../src/terminal/report.ts'
import { shellWord } from '../src/terminal/screen.ts'
import { faultMessage, user, type Message } from 'indelible'
import { estimateTokens, modelSummarizer, prepareSummaries } from 'indelible/context'
import { openSession } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { nativePrograms, readTranscript, type NativeProgram, type Transcript } from '@indelible/transcripts'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { folder, indelible, main } from './indelible.ts'

const session = '11111111-2222-4333-8444-555555555555'
const other = '11111111-2222-4333-8444-666666666666'
const at = (uuid: string, parentUuid: string | null) => ({
  uuid,
  parentUuid,
  sessionId: session,
  version: '2.1.0',
  timestamp: 't',
})
const lines = [
  { ...at('u1', null), cwd: '/gone', type: 'user', message: { role: 'user', content: 'What is in the picture?' } },
  {
    ...at('a1', 'u1'),
    type: 'assistant',
    message: {
      id: 'm1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 't1', name: 'Read', input: { file: 'a.png' } },
      ],
    },
  },
  {
    ...at('u2', 'a1'),
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'a cat' }] },
  },
  { ...at('u3', 'u2'), type: 'user', message: { role: 'user', content: 'Thanks.' } },
]
const text = (values: readonly object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')

const commands: { readonly [Program in NativeProgram]: string } = {
  'claude-code': 'claude',
  codex: 'codex',
  gemini: 'gemini',
  opencode: 'opencode',
  pi: 'pi',
}

/** Says where and how it was started; as opencode, it keeps what it imports. */
const script = `#!/bin/sh
if [ "$1" = import ]; then
  cp "$2" "$HOME/imported.json"
  echo "Imported session: $(grep -o 'ses_[0-9a-f]*' "$2" | head -1)"
else
  echo "$(pwd) $(basename "$0") $*" > "$HOME/started"
fi
`

const madeHome = () => {
  const home = mkdtempSync(join(folder, 'home-'))
  for (const path of ['.claude', '.codex', '.gemini', '.pi/agent', 'bin', 'work', 'temporary'])
    mkdirSync(join(home, path), { recursive: true })
  for (const command of Object.values(commands)) writeFileSync(join(home, 'bin', command), script, { mode: 0o755 })
  writeFileSync(join(home, 'work/opencode.json'), '{"model":"acme/large"}')
  const original = join(home, '.claude/projects/-gone', `${session}.jsonl`)
  mkdirSync(dirname(original), { recursive: true })
  const write = (values: readonly object[], changed = new Date('2026-01-01')): void => {
    writeFileSync(original, text(values))
    utimesSync(original, changed, changed)
  }
  write(lines)
  // What Node compiled would be files in the home, too.
  const env = {
    HOME: home,
    PATH: `${join(home, 'bin')}:/usr/bin:/bin`,
    TMPDIR: join(home, 'temporary'),
    NODE_DISABLE_COMPILE_CACHE: '1',
  }
  const files = (): readonly string[] =>
    readdirSync(home, { recursive: true, encoding: 'utf8' })
      .filter((path) => statSync(join(home, path)).isFile())
      .toSorted()
  return {
    home,
    env,
    original,
    write,
    files,
    run: (args: readonly string[], more: { readonly [name: string]: string | undefined } = {}) =>
      indelible(['continue', ...args], { env: { ...env, ...more }, cwd: join(home, 'work') }),
  }
}

it('a problem of a whole message has no empty name before it', () => {
  const [, line] = writtenLines(
    { repairs: [], losses: [{ position: 0, path: [], reason: 'is a system message: left out' }] },
    100,
  )
  expect(line).toBe('       1 × is a system message: left out')
})

const said = (content: string): readonly string[] => {
  const read = readTranscript(content)
  if (isLeft(read)) throw new Error(faultMessage(read.left))
  expect(read.right.damage).toEqual([])
  return (read.right.messages as readonly Message[]).flatMap((message) =>
    message.content.map((part) =>
      part.type === 'text'
        ? part.text
        : part.type === 'tool_call'
          ? `${part.name} ${part.arguments}`
          : part.type === 'tool_result'
            ? part.content.map((resultPart) => (resultPart.type === 'text' ? resultPart.text : resultPart.type)).join()
            : part.type,
    ),
  )
}
const all = ['What is in the picture?', 'I look.', 'Read {"file":"a.png"}', 'a cat', 'Thanks.']

it.each(nativePrograms)('a Claude Code session continues in %s in a new file', (program) => {
  const { home, env, original, files, run } = madeHome()
  const before = files()
  const { status, stdout, stderr } = run([session, '--in', program, '--print'])
  const [, command, id = ''] = /^cd \S+\/work && (\w+) (?:--resume|resume|-r|-s|--session) (\S+)\n$/.exec(stdout) ?? []
  expect([command, id === session]).toEqual([commands[program], false])
  const added = files().filter((path) => !before.includes(path))
  const file = added.find((path) => !path.endsWith('.project_root')) ?? ''
  expect(added.length).toBe(program === 'gemini' ? 2 : 1)
  const where = program === 'opencode' ? 'the database of opencode' : join(home, file)
  expect([status, stderr]).toEqual([0, `${session}.jsonl: written for ${program} as ${id}, 3 turns, in ${where}\n`])
  expect(said(readFileSync(join(home, file), 'utf8'))).toEqual(all)
  expect(readFileSync(original, 'utf8')).toBe(text(lines))
  expect(statSync(join(home, file)).mode & 0o777).toBe(0o600)
  if (program !== 'opencode') expect(statSync(dirname(join(home, file))).mode & 0o777).toBe(0o700)
  expect(readdirSync(join(home, 'temporary'))).toEqual([])
  // It is found again, and a second one stands beside it, in the same folder.
  if (program === 'opencode') return
  const listed = indelible(['list', '--machine', '--of', program, '--json'], { env })
  const found = listed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly id: string; readonly title: string; readonly project: string })
    .find((one) => String(id).startsWith(one.id))
  expect([found?.title, found?.project]).toEqual([all[0], join(home, 'work')])
  expect(run([String(id), '--print']).status).toBe(0)
  const again = files().filter((path) => !before.includes(path) && !added.includes(path))
  expect(again.map(dirname)).toEqual([dirname(file)])
})

it.each([
  // A provider accepts only its own signed reasoning.
  ['openai', 'codex', [], 'own'],
  [undefined, 'codex', [], 'own'],
  ['azure', 'codex', [], 'text'],
  ['openai', 'pi', [], 'text'],
  ['azure', 'codex', ['--reasoning', 'own'], 'own'],
  ['openai', 'codex', ['--reasoning', 'text'], 'text'],
  ['openai', 'codex', ['--reasoning', 'omit'], 'omit'],
] as const)('reasoning of a Codex session of %s continues in %s %j as: %s', (provider, program, args, expected) => {
  const { home, files, run } = madeHome()
  const item = (payload: object): object => ({ timestamp: 't', type: 'response_item', payload })
  writeFileSync(
    join(home, 'rollout.jsonl'),
    text([
      { timestamp: 't', type: 'session_meta', payload: { id: session, cwd: home, model_provider: provider } },
      { timestamp: 't', type: 'turn_context', payload: { cwd: home, model: 'gpt-5.5' } },
      item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Why?' }] }),
      item({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'I think.' }], encrypted_content: 'gAAAA' }),
      item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Because.' }] }),
    ]),
  )
  const before = files()
  expect(run([join(home, 'rollout.jsonl'), '--in', program, '--print', ...args])).toMatchObject({ status: 0 })
  const added = files().find((path) => !before.includes(path)) ?? ''
  const written = readFileSync(join(home, added), 'utf8')
  expect(written).toContain('Because.')
  expect(written.includes('gAAAA') ? 'own' : written.includes('I think.') ? 'text' : 'omit').toBe(expected)
})

it.each([
  ['--model', ['--model', 'a/b/c'], {}, { providerID: 'a', modelID: 'b/c' }],
  [
    "the folder's settings",
    [],
    { 'work/opencode.json': { model: 'acme/large' } },
    { providerID: 'acme', modelID: 'large' },
  ],
  [
    "the user's settings",
    [],
    { '.config/opencode/opencode.json': { model: 'user/one' } },
    { providerID: 'user', modelID: 'one' },
  ],
  [
    'the last choice',
    [],
    { '.local/state/opencode/model.json': { recent: [{ providerID: 'last', modelID: 'x' }, {}] } },
    { providerID: 'last', modelID: 'x' },
  ],
  [
    'no setting',
    [],
    { 'work/opencode.json': { model: 1 }, '.local/state/opencode/model.json': { recent: [] } },
    'no model is configured',
  ],
  ['settings that are no JSON', [], { '.config/opencode/opencode.json': '{' }, 'no model is configured'],
  [
    'settings and a choice elsewhere',
    [],
    { 'set/opencode/opencode.json': { model: 'else/one' } },
    { providerID: 'else', modelID: 'one' },
  ],
  [
    'a choice elsewhere',
    [],
    { 'state/opencode/model.json': { recent: [{ providerID: 'chosen', modelID: 'x' }] } },
    { providerID: 'chosen', modelID: 'x' },
  ],
  ['a choice that is none', [], { '.local/state/opencode/model.json': { recent: 'a/b' } }, 'no model is configured'],
  ['no provider', ['--model', 'large'], {}, '"large" is no model'],
] as const)('continue in opencode takes the model of %s', (what, args, settings, expected) => {
  const { home, env, run } = madeHome()
  const elsewhere = { XDG_CONFIG_HOME: join(home, 'set'), XDG_STATE_HOME: join(home, 'state') }
  rmSync(join(home, 'work/opencode.json'))
  for (const [path, content] of Object.entries(settings)) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), typeof content === 'string' ? content : JSON.stringify(content))
  }
  const { stderr } = run([session, '--in', 'opencode', '--print', ...args], what.includes('elsewhere') ? elsewhere : {})
  if (typeof expected === 'string') expect(stderr).toContain(`opencode: ${expected}; --model PROVIDER/MODEL names one`)
  else expect(readFileSync(join(env.HOME, 'imported.json'), 'utf8')).toContain(JSON.stringify(expected).slice(1, -1))
})

it.each([
  ['gemini', {}, {}, /^\.gemini\/tmp\/indelible-\w{8}\/chats\/[^/]+\.jsonl$/],
  ['gemini', { '.gemini/tmp/mine/.project_root': 'WORK\n' }, {}, /^\.gemini\/tmp\/mine\/chats\//],
  ['gemini', { '.gemini/projects.json': '{"projects":{"WORK":"listed"}}' }, {}, /^\.gemini\/tmp\/listed\/chats\//],
  ['gemini', { '.gemini/projects.json': '{"projects":{"WORK":"../up"}}' }, {}, /^\.gemini\/tmp\/indelible-\w{8}\//],
  ['gemini', { '.gemini/projects.json': '{"projects":{"WORK":5}}' }, {}, /^\.gemini\/tmp\/indelible-\w{8}\//],
  [
    'gemini',
    { '.gemini/projects.json': '{"projects":{"WORK":"odd"}}', '.gemini/tmp/odd/.project_root/x': '' },
    {},
    'HOME/.gemini/tmp/odd/.project_root: ',
  ],
  ['gemini', { 'else/.gemini/x': '' }, { GEMINI_CLI_HOME: 'HOME/else' }, /^else\/\.gemini\/tmp\/indelible-/],
  ['pi', {}, {}, /^\.pi\/agent\/sessions\/--.*-work--\/[^/]+\.jsonl$/],
  ['pi', { 'else/x': '' }, { PI_CODING_AGENT_DIR: '~/else' }, /^else\/sessions\/--.*-work--\/[^/]+\.jsonl$/],
  ['pi', { 'else/x': '' }, { PI_CODING_AGENT_SESSION_DIR: '~/else' }, /^else\/[^/]+\.jsonl$/],
  [
    'pi',
    {},
    { PI_CODING_AGENT_SESSION_DIR: '~/none' },
    'pi has no folder HOME/none; start it once, or set PI_CODING_AGENT_DIR',
  ],
  ['claude-code', { 'else/x': '' }, { CLAUDE_CONFIG_DIR: 'HOME/else' }, /^else\/projects\/-.*-work\/[^/]+\.jsonl$/],
  ['codex', { 'else/x': '' }, { CODEX_HOME: 'HOME/else' }, /^else\/sessions\/\d{4}\/\d\d\/\d\d\/rollout-[^/]+\.jsonl$/],
] as const)('continue writes where %s looks: with %j and %j', (program, there, env, expected) => {
  const { home, original, files, run } = madeHome()
  const inHome = (given: string): string => given.replace('WORK', join(home, 'work')).replace('HOME', home)
  for (const [path, content] of Object.entries(there)) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), inHome(content))
  }
  const before = files()
  const set = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, inHome(value)]))
  const { stderr } = run([original, '--in', program, '--print'], set)
  const added = files().filter((path) => !before.includes(path) && !path.endsWith('.project_root'))
  if (typeof expected === 'string') expect([stderr, added]).toEqual([expect.stringContaining(inHome(expected)), []])
  else expect(added).toEqual([expect.stringMatching(expected)])
})

it('only a file that can be run is a program', () => {
  const { home, run } = madeHome()
  mkdirSync(join(home, 'folders/codex'), { recursive: true })
  mkdirSync(join(home, 'files'))
  writeFileSync(join(home, 'files/codex'), script, { mode: 0o644 })
  const statusWith = (...folders: readonly string[]) =>
    run([session, '--in', 'codex'], { PATH: folders.map((folder) => resolve(home, folder)).join(':') }).status
  expect(statusWith('folders')).toBe(127)
  expect(statusWith('files')).toBe(127)
  expect(statusWith('nowhere', 'folders', 'bin', '/usr/bin', '/bin')).toBe(0)
})

it('--at counts from the start or the end, up to all messages', () => {
  const { home, files, run } = madeHome()
  const saidUpTo = (at: string): readonly string[] | string => {
    const before = files()
    const { status, stderr } = run([session, '--in', 'pi', '--print', '--at', at])
    const added = files().find((path) => !before.includes(path))
    return status === 0 && added !== undefined ? said(readFileSync(join(home, added), 'utf8')) : stderr
  }
  expect(saidUpTo('1')).toEqual(all.slice(0, 1))
  expect(saidUpTo('-1')).toEqual(all.slice(0, 4))
  expect(saidUpTo('-3')).toEqual(all.slice(0, 1))
  expect(saidUpTo('4')).toEqual(all)
  expect(saidUpTo('-4')).toContain('has no message to continue from')
  for (const at of ['5', '-5']) expect(saidUpTo(at)).toContain('has 4 messages, so --at takes 1 to 4, or a negative')
})

it('a session that its program may still write, and one with other conversations, are continued with a notice', () => {
  const { home, write, run } = madeHome()
  const ends = (): string => run([session, '--print']).stderr
  write(lines, new Date(Date.now() + 100_000)) // a clock that is ahead
  expect(ends()).toMatch(/: changed 0 s ago; anything that its program writes/)
  write(lines, new Date(Date.now() - 60_000))
  expect(ends()).not.toContain('changed')
  const aside = (uuid: string) => ({ ...lines[0], ...at(uuid, null), isSidechain: true })
  const pi = join(home, 'pi.jsonl')
  writeFileSync(
    pi,
    `${text([{ type: 'session', id: 's', timestamp: 't' }])}{"type":"message","n":1e999,"timestamp":"t","message":{"role":"user","content":"go"}}\nnope\n`,
  )
  expect(run([pi, '--print']).stderr).toMatch(
    /^pi\.jsonl: 1 damaged line \(line 3\).*\nchanged while reading: 1 value\n.*1e999.*\n.*line 2\npi\.jsonl: written for pi as /,
  )
  write([...lines, aside('v1')])
  expect(ends()).toMatch(/has 1 other conversation, which is not in the new session; --pick N continues another/)
  write([...lines, aside('v1'), aside('w1')])
  expect(ends()).toMatch(/has 2 other conversations, which are not in the new session/)
})

it('a title continues with its conversation', () => {
  const { home, write, run } = madeHome()
  write([...lines, { type: 'custom-title', customTitle: 'About a cat', sessionId: session }])
  expect(run([session, '--in', 'opencode', '--print'])).toMatchObject({ status: 0 })
  expect(readFileSync(join(home, 'imported.json'), 'utf8')).toContain('"About a cat"')
})

it('an import that opencode does not confirm fails with the end of its words', () => {
  const { home, run } = madeHome()
  writeFileSync(join(home, 'bin/opencode'), `#!/bin/sh\nprintf '%0600d no' 0\n`, { mode: 0o755 })
  expect(run([session, '--in', 'opencode', '--print'])).toMatchObject({
    status: 1,
    stderr: `indelible: opencode did not import the session: ${'0'.repeat(497)} no\n`,
  })
  expect(readdirSync(join(home, 'temporary'))).toEqual([])
})

it('continue starts the program in the given folder with the remaining arguments', () => {
  const { home, run } = madeHome()
  mkdirSync(join(home, 'else where'))
  const { status } = run([session, '--cwd', join(home, 'else where'), '--', '-p', 'And now?'])
  expect(status).toBe(0)
  expect(readFileSync(join(home, 'started'), 'utf8')).toMatch(
    /else where claude --resume [0-9a-f-]{36} -p And now\?\n$/,
  )
})

it('continue --print uses the folder of the session if it exists here, and --cwd over it', () => {
  const { home, run, original } = madeHome()
  const own = join(home, "its 'own'")
  mkdirSync(own)
  const printed = (folder: string, ...args: readonly string[]): string => {
    writeFileSync(
      original,
      readFileSync(original, 'utf8').replaceAll(/"cwd":"(?:[^"\\]|\\.)*"/g, `"cwd":${JSON.stringify(folder)}`),
    )
    return run([session, '--print', ...args]).stdout
  }
  expect(printed(own)).toContain(`cd ${shellWord(own)} && claude --resume `)
  expect(printed(own, '--cwd', home)).toContain(`cd ${home} && claude --resume `)
  writeFileSync(join(home, 'file'), '')
  for (const other of [join(home, 'gone'), 'work', '', join(home, 'file'), `${own}\u0000`, 'C:\\work'])
    expect(printed(other)).toContain(`cd ${join(home, 'work')} && claude --resume `)
  const unsafe = join(home, 'a\u001b]0;b')
  mkdirSync(unsafe)
  expect(printed(unsafe)).toContain(`cd ${join(home, 'work')} && claude --resume `)
  rmSync(join(home, 'started'), { force: true })
  printed(own)
  expect(run([session]).status).toBe(0)
  expect(readFileSync(join(home, 'started'), 'utf8')).toMatch(/work claude --resume /)
})

it('continues from an earlier message and answers its open calls, with a notice', () => {
  const { home, files, run } = madeHome()
  const before = files()
  const { stderr } = run([session, '--at', '2', '--in', 'pi', '--print'])
  expect(stderr).toMatch(/repairs: 1 problem[^]*inserted an error result[^]*written for pi/)
  const file = files().find((path) => !before.includes(path)) ?? ''
  expect(said(readFileSync(join(home, file), 'utf8'))).toEqual([
    ...all.slice(0, 3),
    'No result was recorded for this call.',
  ])
})

it('a conversation that is too large is shortened, with a notice', () => {
  const { write, run } = madeHome()
  const long = Array.from({ length: 40 }, (_, index) => ({
    ...at(`v${index}`, index === 0 ? 'u3' : `v${index - 1}`),
    type: 'user',
    message: { role: 'user', content: `${index} ${'and so on '.repeat(100)}` },
  }))
  write([...lines, ...long])
  const { status, stderr } = run([session, '--budget', '3000', '--print'])
  expect([status, stderr]).toEqual([0, expect.stringContaining('more than the 3,000 of --budget; shortened to')])
})

it('a conversation of exactly --budget tokens is whole; each program has a default', () => {
  const { home, run } = madeHome()
  const messages: readonly Message[] = [{ role: 'user', content: [{ type: 'text', text: 'word '.repeat(400) }] }]
  const tokens = estimateTokens(messages[0] as Message)
  const file = join(home, 'chat.json')
  const written = (program: NativeProgram, ...args: readonly string[]) =>
    run([file, '--in', program, '--print', ...args])
  writeFileSync(file, JSON.stringify(messages))
  expect(written('pi', '--budget', String(tokens))).toMatchObject({ status: 0 })
  expect(written('pi', '--budget', String(tokens)).stderr).not.toContain('shortened')
  expect(written('pi', '--budget', String(tokens - 1)).stderr).toMatch(
    new RegExp(
      `takes about ${tokens} tokens, more than the ${tokens - 1} of --budget; shortened to 1 message of about`,
    ),
  )
  expect(written('pi', '--budget', '1')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^indelible: chat\.json: .*; nothing was written\n$/) as string,
  })
  const budgets = { 'claude-code': 150, codex: 200, gemini: 800, opencode: 150, pi: 150 }
  for (const program of nativePrograms) {
    writeFileSync(file, JSON.stringify([{ role: 'user', content: 'x'.repeat(1700 * budgets[program]) }]))
    expect(written(program).stderr).toContain(` tokens, more than the ${budgets[program]},000 of --budget; `)
  }
})

it('a stored session continues with its notes, and without reasoning that only its provider may read', async () => {
  const { home, env, files, run } = madeHome()
  const store = ['--store', join(home, 'sessions.db')]
  const item = (payload: object): object => ({ timestamp: 't', type: 'response_item', payload })
  const said = (at: number): object =>
    item({
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: `${'and so on '.repeat(100)}end of ${at}.` }],
    })
  writeFileSync(
    join(home, 'long.jsonl'),
    text([
      { timestamp: 't', type: 'session_meta', payload: { id: session, cwd: home, model_provider: 'openai' } },
      item({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'I think.' }], encrypted_content: 'gAAAA' }),
      item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Because.' }] }),
      ...Array.from({ length: 40 }, (_, at) => said(at)),
    ]),
  )
  indelible(['import', join(home, 'long.jsonl'), '--id', 'long', ...store], { env })
  const written = (...args: readonly string[]): string => {
    const before = files()
    expect(run(['long', ...store, '--in', 'codex', '--print', ...args])).toMatchObject({ status: 0 })
    return readFileSync(join(home, files().find((path) => !before.includes(path)) ?? ''), 'utf8')
  }
  const whole = written()
  expect([whole.includes('I think.'), whole.includes('gAAAA'), whole.includes('end of 3.')]).toEqual([
    true,
    false,
    true,
  ])
  expect(written('--budget', '3000')).not.toContain('end of 3.')
  const opened = await sqliteStore({ path: store[1] as string })
  const stored = await openSession(opened, 'long')
  const summarizer = modelSummarizer('m', () => 'They went on and on.')
  await stored.append({
    messages: [],
    notes: await prepareSummaries(stored.view(), [], summarizer, { chunkTokens: 1000, keepTokens: 500 }),
  })
  await stored.append(Array.from({ length: 12 }, () => user('and so on '.repeat(100))))
  await opened.close()
  expect(written('--budget', '3000')).toContain('They went on and on.')
  indelible(['pin', 'long', '4', ...store], { env })
  expect(written('--budget', '3000')).toContain('end of 3.')
})

it('continue accepts a stored session and a file of any format with --in', () => {
  const { home, env, write, run } = madeHome()
  const store = ['--store', join(home, 'sessions.db')]
  indelible(['keep', '--only', 'claude-code', ...store], { env })
  expect(run([session, ...store, '--print']).stdout).toMatch(/claude --resume/)
  write(lines.slice(0, 1)) // from now on the two are different
  expect(run([session, ...store, '--print']).stderr).toMatch(/, 3 turns, in /)
  expect(run([session, '--print']).stderr).toMatch(/, 1 turn, in /)
  const file = join(home, 'chat.json')
  const chat = JSON.stringify([{ role: 'user', content: 'hi' }])
  writeFileSync(file, chat)
  expect(run([file, '--in', 'codex', '--print'], { PATH: undefined }).stdout).toMatch(/codex resume/)
  expect(run([file, ...store, '--in', 'codex']).stderr).toMatch(/chat\.json/)
  const piped = (name: string) => indelible(['continue', name, '--in', 'codex', '--print'], { env, input: chat })
  expect(piped('-').stderr).toMatch(/^standard input: written for codex as /)
  expect(piped('').status).toBe(2)
  indelible(['import', file, '--id', 'plain', ...store], { env })
  expect(run(['plain', ...store]).stderr).toMatch(/^indelible: plain was not written by a program/)
  expect(run([file]).stderr).toMatch(
    /chat.json was not written by a program that can continue it; choose one with --in: claude-code/,
  )
})

it("lists all programs' sessions by project and title", () => {
  const { home, env, original, write, run } = madeHome()
  run([session, '--in', 'codex', '--print'])
  run([session, '--in', 'gemini', '--print'])
  const { lines: printed } = indelible(['list', '--machine', '--limit', '2'], { env, columns: 160 })
  expect(printed.length).toBe(3)
  for (const line of printed.slice(0, 2)) expect(line).toMatch(/ (?:codex|gemini) .* work +What is in the picture\?/)
  expect(indelible(['list', '--machine', '--of', 'claude-code'], { env, columns: 160 }).stdout).toMatch(
    /gone +What is in/,
  )
  expect(indelible(['list', '--machine'], { env: { HOME: join(home, 'nobody') } }).stderr).toMatch(
    /found no sessions of agents/,
  )
  // Without a title, the first 200 characters of the conversation; of a file that can't be read, the reason.
  write([{ ...lines[0], message: { role: 'user', content: 'long '.repeat(100) } }])
  writeFileSync(join(dirname(original), `${other}.jsonl`), '')
  const { lines: described } = indelible(['list', '--machine', '--of', 'claude-code', '--json'], { env })
  expect(described.slice(0, 2).map((line) => JSON.parse(line) as object)).toMatchObject([
    { id: other, unreadable: 'InvalidJson' },
    { id: session, title: 'long '.repeat(100).slice(0, 200), messages: 1 },
  ])
})

it('the list of sessions fits its terminal, and ends at --limit', () => {
  const { env, original } = madeHome()
  const again = join(dirname(original), 'older.jsonl')
  writeFileSync(again, text([{ ...lines[0], cwd: '/a-long-folder' }]))
  utimesSync(again, new Date('2025-01-01T12:34:56Z'), new Date('2025-01-01T12:34:56Z'))
  const list = (...args: readonly string[]) => indelible(['list', '--machine', ...args], { env, columns: 160 })
  const newer = `2026-01-01 00:00  claude-code  ${session}  gone`
  const older = `2025-01-01 12:34  claude-code  ${'older'.padEnd(session.length)}`
  const title = '  What is in the picture?'
  expect(list().lines).toEqual([`${newer}        ${title}`, `${older}  a-long-fold…${title}`, ''])
  expect(list().stderr).toBe('')
  expect(list('--limit', '1')).toMatchObject({
    lines: [newer + title, ''],
    stderr: '1 more: --limit 2\n',
  })
  expect(list('--limit', '0')).toMatchObject({ stdout: '', stderr: '2 more: --limit 2\n' })
  expect(list('--of', 'vim').status).toBe(2)
  expect(list('--of', 'pi')).toMatchObject({ stdout: '', stderr: 'found no sessions of agents on this machine\n' })
  const narrow = (terminal: number) => indelible(['list', '--machine', '--limit', '1'], { env, terminal }).lines[0]
  expect([narrow(59), narrow(60)]).toEqual([
    '2026-01-01  claude-code  11111111…  What is in the picture?',
    '2026-01-01 00:00  claude-code  11111111…  gone  What is in …',
  ])
})

it('a name that is the whole id of one session is that session, however many begin with it', () => {
  const { env, original, run } = madeHome()
  const inFolder = (folder: string, id: string): string => join(dirname(dirname(original)), folder, `${id}.jsonl`)
  const written = (folder: string, id: string): void => {
    mkdirSync(dirname(inFolder(folder, id)), { recursive: true })
    writeFileSync(inFolder(folder, id), text(lines))
  }
  for (const id of ['run', 'run2', 'run3', 'run4', 'run5', 'run6']) written('-gone', id)
  expect(run(['run', '--print']).stderr).toMatch(/run\.jsonl: written for/)
  expect(run(['ru', '--print']).stderr).toMatch(
    /^indelible: the sessions run\d?, run\d?, run\d?, run\d?, run\d? begin with "ru"; give more of the id\n$/,
  )
  for (let index = 0; index < 14; index++) written('-more', `more${index}`)
  const listed = indelible(['list', '--machine'], { env })
  expect([listed.lines.length, listed.stderr]).toEqual([20 + 1, '2 more: --limit 22\n'])
  written('-there', 'run6')
  expect(run(['run6', '--print']).stderr).toMatch(/run6\.jsonl: written for/)
})

it.each([
  [{}, false],
  [{ isSidechain: true }, true],
  [{ isSidechain: false }, false],
  [{ thread_source: 'subagent' }, true],
  [{ thread_source: 'user' }, false],
  [{ kind: 'subagent' }, true],
  [{ kind: 'main' }, false],
  [{ parent_id: 'p' }, true],
  [{ parentID: 'p' }, true],
  [{ parent_id: null, parentID: null }, false],
])('a session with the metadata %j is of a sub-agent: %s', (metadata, expected) => {
  expect(isOfSubAgent({ origin: { metadata } } as unknown as Transcript)).toBe(expected)
})

it('sub-agent sessions are not listed but continue by id, with a notice', () => {
  const { home, env, run } = madeHome()
  const time = '2026-11-24T03:20:17.036Z'
  const id = '01a20b91-898b-7f81-98b8-d1af15b9d330'
  const said = (line: object): object => ({ timestamp: time, type: 'response_item', payload: line })
  const asked = { type: 'agent_message', content: [{ type: 'input_text', text: 'As helper left, read it.' }] }
  const answer = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'beta' }] }
  const meta = { id, timestamp: time, cwd: home, thread_source: 'subagent', source: { subagent: {} } }
  const files: { readonly [path: string]: readonly object[] } = {
    [`.codex/sessions/2026/11/24/rollout-2026-11-24T03-20-17-${id}.jsonl`]: [
      { timestamp: time, type: 'session_meta', payload: meta },
      said(asked),
      said(answer),
    ],
    [`.gemini/tmp/work/chats/${session}/${id}.jsonl`]: [
      { sessionId: id, projectHash: 'h', startTime: time, lastUpdated: time, kind: 'subagent' },
      { id: '1', timestamp: time, type: 'user', content: [{ text: 'As helper right, read it.' }] },
    ],
    [`.claude/projects/-gone/${session}/subagents/agent-a1.jsonl`]: lines.map((line) => ({
      ...line,
      isSidechain: true,
      agentId: 'a1',
    })),
  }
  for (const [path, values] of Object.entries(files)) {
    mkdirSync(join(home, dirname(path)), { recursive: true })
    writeFileSync(join(home, path), text(values))
  }
  const { stdout, stderr } = indelible(['list', '--machine', '--json'], { env })
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { readonly id: string }).id),
  ).toEqual([session])
  expect(stderr).toBe('')
  for (const path of Object.keys(files))
    expect(run([join(home, path), '--in', 'pi', '--print']).stderr).toMatch(
      /is the session of a sub-agent: it continues without its parent/,
    )
  const [codexFile = ''] = Object.keys(files)
  expect(run([join(home, codexFile), '--in', 'pi', '--print']).stderr).toMatch(/from another agent of the program/)
})

it('a project with a long path gets its own Claude Code folder, which is found again', () => {
  const { home, env, files, run } = madeHome()
  const long = join(home, ...Array.from({ length: 5 }, (_, index) => `${index}`.repeat(60)))
  mkdirSync(long, { recursive: true })
  const before = files()
  expect(run([session, '--cwd', long, '--print']).status).toBe(0)
  const added = files().find((path) => !before.includes(path)) ?? ''
  expect(added.split('/')[2]).toMatch(/^.{200}-[0-9a-z]{1,6}$/)
  const { stdout } = indelible(['list', '--machine', '--limit', '1', '--json'], { env })
  expect(JSON.parse(stdout)).toMatchObject({ project: long, title: all[0] })
})

it('continue reports invalid input in one clear line and writes nothing', () => {
  const { home, env, original, write, files, run } = madeHome()
  writeFileSync(join(dirname(original), `${other}.jsonl`), '')
  const before = files()
  const fails = (status: number, line: RegExp, args: readonly string[], more = {}): void => {
    const ended = run(args, more)
    expect([ended.status, ended.stderr.trim().split('\n').at(-1)]).toEqual([status, expect.stringMatching(line)])
    expect(files()).toEqual(before)
  }
  const misuse = /^Try: indelible continue --help$/
  fails(2, misuse, [session, '--in', 'vim'])
  fails(2, misuse, [session, '--reasoning', 'all'])
  fails(2, misuse, [])
  fails(1, /^indelible: --cwd \S+: is not a folder; nothing was written$/, [session, '--cwd', original])
  const nowhere = join(home, 'nowhere')
  fails(1, /--cwd \S+nowhere: is not a folder; nothing was written$/, [session, '--cwd', nowhere])
  fails(127, /codex: found no program "codex" in PATH; nothing was written$/, [session, '--in', 'codex'], {
    PATH: nowhere,
  })
  fails(127, /opencode: found no program "opencode"/, [session, '--in', 'opencode', '--print'], { PATH: nowhere })
  fails(
    1,
    /codex has no folder \S+nowhere; start it once, or set CODEX_HOME; nothing was written$/,
    [session, '--in', 'codex'],
    {
      CODEX_HOME: nowhere,
    },
  )
  fails(1, /so --at takes 1 to 4, or a negative number; nothing was written$/, [session, '--at', '9'])
  fails(1, /has no message to continue from; nothing was written$/, [session, '--at', '0'])
  fails(1, /nobody/, ['nobody-knows-it'])
  fails(1, /^indelible: the sessions 1{8}\S+, 1{8}\S+ begin with "1111"; give more of the id$/, ['1111'])
  fails(1, /\.jsonl: the text is empty; expected a conversation$/, [other])
  fails(1, /there is no conversation 9; the file has 1, numbered from 0$/, [session, '--pick', '9'])
  writeFileSync(join(home, 'work/opencode.json'), '{}')
  fails(1, /opencode: no model is configured; --model PROVIDER\/MODEL names one/, [session, '--in', 'opencode'])
  // Half a file, and one with kinds of lines that a newer version has: what can be read continues.
  writeFileSync(original, text(lines).slice(0, -20))
  expect(run([session, '--print']).stderr).toMatch(/1 damaged line/)
  write([
    ...lines,
    { ...at('n1', 'u3'), type: 'hologram', message: { role: 'user', content: 'new' } },
    ...[{ ...at('u4', 'n1'), type: 'user', message: { role: 'user', content: 'ok' } }],
  ])
  expect(run([session, '--print']).stderr).toMatch(/1 damaged line/)
  write(lines, new Date())
  expect(run([session, '--print']).stderr).toMatch(
    /changed \d+ s ago; anything that its program writes from now on will be missing in/,
  )
  expect(existsSync(join(env.HOME, 'started'))).toBe(false)
})

/** As long as a file can be there: what a full disk does, too. */
const inFiles = (limit: number, args: readonly string[], options: object) =>
  spawnSync('/bin/sh', ['-c', `ulimit -f ${limit} && exec "$@"`, 'sh', process.execPath, main, ...args], {
    encoding: 'utf8',
    ...options,
  })

it('continue reports a full disk in one clear line and leaves no partial file', () => {
  const { home, env, files } = madeHome()
  writeFileSync(join(home, 'long.json'), JSON.stringify([{ role: 'user', content: 'x'.repeat(200_000) }]))
  const before = files()
  const args = ['continue', join(home, 'long.json'), '--in', 'codex', '--print']
  const { status, stderr } = inFiles(64, args, { env, cwd: home })
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/^indelible: .*\.codex\/sessions\/.*: can't be used \(EFBIG\)\n$/),
  ])
  expect(files()).toEqual(before)
})

const mounts = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', folder]).status === 0

it(
  'continue with a filling disk reports it in one clear line',
  leftOutIf(!mounts, 'nothing can be mounted here'),
  () => {
    const { home, env, files } = madeHome()
    writeFileSync(join(home, 'long.json'), JSON.stringify([{ role: 'user', content: 'x'.repeat(200_000) }]))
    const before = files()
    // What is left in the full file system is printed there: nobody else sees it.
    const script =
      'mount -t tmpfs -o size=64k tmpfs .codex && "$@"; code=$?; find .codex -type f | sed "s/^/left: /" >&2; exit $code'
    const args = [
      '-m',
      'sh',
      '-c',
      script,
      'sh',
      process.execPath,
      main,
      'continue',
      'long.json',
      '--in',
      'codex',
      '--print',
    ]
    const { status, stderr } = spawnSync('unshare', args, { encoding: 'utf8', env, cwd: home })
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^indelible: .*\.codex\/sessions\/.*: [^\n]*(?:ENOSPC|full|space)[^\n]*\n$/),
    ])
    expect(files()).toEqual(before)
  },
)

const noNobody = leftOutIf(process.getuid?.() !== 0, 'only root can be somebody without rights')

it('continue reports a folder without permissions in one clear line', noNobody, () => {
  const { home, env, original, files } = madeHome()
  const nobody = 65_534
  for (const path of ['', ...readdirSync(home, { recursive: true, encoding: 'utf8' })])
    chownSync(join(home, path), nobody, nobody)
  for (let path = home; path !== dirname(path); path = dirname(path))
    if (path.startsWith(folder)) chmodSync(path, 0o755)
  chmodSync(join(home, '.codex'), 0o500)
  const before = files()
  const { status, stderr } = spawnSync(process.execPath, [main, 'continue', session, '--in', 'codex', '--print'], {
    encoding: 'utf8',
    env,
    cwd: join(home, 'work'),
    uid: nobody,
    gid: nobody,
  })
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/^indelible: .*\.codex\/sessions\/.*: permission denied\n$/),
  ])
  expect(files()).toEqual(before)
  // The folder of another program that can't be read is a line beside what is listed.
  chmodSync(join(home, '.codex'), 0)
  const listed = spawnSync(process.execPath, [main, 'list', '--machine'], {
    encoding: 'utf8',
    env,
    uid: nobody,
    gid: nobody,
  })
  expect([listed.status, listed.stdout.split('\n').length, listed.stderr]).toEqual([
    0,
    2,
    expect.stringMatching(/^.*\.codex: permission denied\n$/),
  ])
  chmodSync(join(home, '.codex'), 0o700)
  chmodSync(original, 0)
  const other = spawnSync(process.execPath, [main, 'continue', session, '--in', 'codex', '--print'], {
    encoding: 'utf8',
    env,
    cwd: join(home, 'work'),
    uid: nobody,
    gid: nobody,
  })
  expect([other.status, other.stderr]).toEqual([1, expect.stringMatching(/^indelible: .*: permission denied\n$/)])
})
