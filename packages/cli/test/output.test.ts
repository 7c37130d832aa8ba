/** Nothing that a file, a name or a model says writes on the terminal of whoever runs a command. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { terminalOf } from '../src/terminal/output.ts'
import { widthOf } from '../src/terminal/screen.ts'
import { isFull } from '../../../test/rounds.ts'
import { folder, indelible, indelibleProcess, type CommandOptions } from './indelible.ts'

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Escape sequences with 7 and 8 bits, a bell, new lines of all kinds, and characters that turn or hide what follows. */
const hostile = '\u001b[5m\u0007\u009b5m\u0085\u2028\u2029\r\n\u202e\u2066\u200b\ufeff\u007f'
const unsafe = /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u
/** What of it can be in the id of a session. */
const hostileId = 'hostile\u202eid\u2028\u200b\u2066'

const place = join(folder, `a${hostile}folder`)
mkdirSync(place)
const inPlace = (name: string, content: string): string => {
  const path = join(place, `${name}${hostile}.json`)
  writeFileSync(path, content)
  return path
}
const conversation = [
  { role: 'system', content: `rules ${hostile}` },
  { role: 'user', content: `question ${hostile}`, name: `ada${hostile}` },
  {
    role: 'assistant',
    content: `answer ${hostile}`,
    tool_calls: [
      { id: `c${hostile}`, type: 'function', function: { name: `tool${hostile}`, arguments: `{"a":"${'b'}"}` } },
    ],
  },
  { role: 'tool', tool_call_id: `other${hostile}`, content: `result ${hostile}` },
]
const file = inPlace('chat', JSON.stringify(conversation))
const damaged = inPlace(
  'damaged',
  `{"type":"session","id":"s${hostile.replaceAll(/\s/g, '')}","timestamp":"t","cwd":"/"}\n{"type":"what${'\\u001b'}[5m","x":1}\n{"nothing\n`.replaceAll(
    /[\u0000-\u0009\u000b-\u001f]/g, // oxlint-disable-line no-control-regex -- JSON strings hold none
    '',
  ),
)
const notJson = inPlace('broken', `not json ${hostile}`)
const nowhere = join(place, `nothing${hostile}.json`)
const store = join(place, `store${hostile}.db`)
const gone = join(place, `gone${hostile}.db`)
const out = join(place, `out${hostile}.json`)
/** The folders of agents: one has a session, whose title is hostile. */
const home = join(folder, 'home')
for (const of of ['.claude/projects/-work', '.codex', '.pi/agent']) mkdirSync(join(home, of), { recursive: true })
writeFileSync(
  join(home, '.claude/projects/-work/0b0f5e8a-6c1d-4f2e-9a3b-112233445566.jsonl'),
  `${JSON.stringify({ type: 'user', uuid: 'a', parentUuid: null, cwd: `/${hostile}`, message: { role: 'user', content: hostile } })}\n`,
)
const proof = (): string => inPlace('proof', indelible(['prove', hostileId, '1', '--store', store]).stdout)

/** For each command, lines that make it print what is hostile: in names, in content, in errors. */
const lines: { readonly [command: string]: () => readonly (readonly string[])[] } = {
  show: () => [
    [file],
    [damaged],
    [nowhere],
    [notJson],
    [hostileId, '--store', store],
    [hostileId, '--store', gone],
    [file, '2'],
    [file, '1', '--full'],
    [hostileId, '3', '--store', store],
    [hostileId, hostile, '--store', store],
    [file, '--json'],
    [file, '--kind', hostile],
    [file, hostile],
    ['--check', file],
    ['--check', damaged],
    ['--check', nowhere],
    ['--check', notJson],
    ['--check', file, '--json'],
    ['--check', damaged, '--json'],
    [hostile, '--follow', '--store', store],
    [hostileId, '--follow', '--store', gone],
    [hostileId, '--follow', '--from', hostile, '--store', store],
  ],
  import: () => [
    [file, '--store', store],
    [file, '--store', store, '--json'],
    [damaged, '--store', store],
    [nowhere, '--store', store],
    [file, '--id', hostileId, '--store', store],
    [file, '--id', hostile, '--store', store],
    [file, '--store', join(gone, 'no folder')],
  ],
  list: () => [
    ['--store', store],
    ['--store', store, '--json'],
    ['--store', gone],
    [hostile, '--store', store],
    ['--tree', '--store', store],
    ['--tree', hostileId, '--store', store],
    ['--tree', hostileId, '--store', store, '--json'],
    ['--tree', hostile, '--store', store],
    ['--scopes', '--store', store],
    ['--scopes', '--store', store, '--json'],
    ['--scopes', '--store', gone],
    ['--scopes', hostile, '--store', store],
    ['--machine'],
    ['--machine', '--json'],
    ['--machine', '--of', hostile],
    ['--machine', hostile],
  ],
  note: () => [
    [hostileId, hostile, '--store', store],
    [hostile, hostile, '--store', store],
  ],
  pin: () => [
    [hostileId, '0', '--store', store],
    [hostileId, hostile, '--store', store],
    [hostileId, '9999', '--store', store],
  ],
  retag: () => [
    [hostileId, '0', 'plan', '--store', store],
    [hostileId, '0', hostile, '--store', store],
  ],
  rename: () => [
    [hostileId, hostile, '--store', store],
    [hostile, hostile, '--store', store],
  ],
  diff: () => [
    [file, damaged],
    [file, nowhere],
    [hostileId, file, '--json'],
    [hostileId, hostileId, '--store', store],
    [hostile],
  ],
  spend: () => [
    [file],
    [file, '--by', 'content'],
    [damaged],
    ['--store', store],
    ['--by', hostile],
    [hostile, '--store', store],
  ],
  search: () => [
    ['question', '--store', store],
    ['question', '--store', store, '--json'],
    ['question?', '--store', store],
    ['question?', '--store', store, '--json', '--all-scopes'],
    [hostile, '--question', '--store', store],
    [hostile, 'answer', '--store', store, '--all-scopes'],
    [hostile, '--store', store],
    ['question', '--store', gone],
    ['question', '--in', hostile, '--store', store],
    ['question', '--since', hostile, '--store', store],
    ['question', '--session', hostile, '--store', store],
  ],
  index: () => [
    ['--store', store],
    ['--store', gone],
    [hostile, '--store', store],
    ['--drop', '--store', store],
  ],
  append: () => [
    [hostileId, hostile, '--store', store],
    [hostile, 'x', '--store', store],
    [hostileId, 'x', '--role', hostile, '--store', store],
    [hostileId, 'x', '--page', hostile, '--store', store],
  ],
  rewind: () => [
    [hostileId, '--to', '-1', '--store', store],
    [hostile, '--to', '0', '--store', store],
    [hostileId, '--to', hostile, '--store', store],
  ],
  keep: () => [
    ['--store', join(place, 'kept.db')],
    ['--store', join(place, 'kept.db'), '--only', hostile],
    ['--store', join(place, 'kept.db'), '--exclude', hostile],
    ['--store', join(place, 'kept.db'), '--again', hostileId, '--json'],
    [hostile],
  ],
  restore: () => [
    [hostileId, '--store', store],
    [hostile, '--to', hostile, '--store', store],
  ],
  fork: () => [
    [hostileId, '--at', '1', '--id', `fork${hostileId}`, '--store', store],
    [hostile, '--store', store],
    [hostileId, '--id', hostile, '--store', store],
  ],
  copy: () => [
    ['--from', store, '--to', join(place, `copy${hostile}.db`)],
    [hostile, hostileId, '--from', store, '--to', join(place, `copy${hostile}.db`)],
    ['--from', gone, '--to', store],
  ],
  export: () => [
    [hostileId, '--to', 'anthropic', '--store', store],
    [hostileId, '--to', 'indelible', '--store', store],
    [hostile, '--to', 'indelible', '--store', store],
    [hostileId, '--to', hostile, '--store', store],
    ...['openai-chat', 'openai-responses', 'anthropic', 'ai-sdk', 'ai-sdk-ui', 'indelible'].flatMap((to) => [
      [file, '--to', to],
      [file, '--to', to, '--json'],
    ]),
    [damaged, '--to', 'anthropic'],
    [nowhere, '--to', 'anthropic'],
    [file, '--to', hostile],
    [file, '--to', 'anthropic', '--out', out],
    [file, '--to', 'anthropic', '--out', out],
    [file, '--to', 'anthropic', '--out', file],
  ],
  verify: () => [
    [hostileId, '--store', store],
    ['--all', '--store', store],
    [hostile, '--store', store],
    [hostileId, '--store', store, '--head', hostile],
  ],
  repair: () => [
    ['--store', store],
    ['--store', gone],
    [hostile, '--store', store],
  ],
  compact: () => [
    ['--store', store],
    ['--store', gone],
    [hostile, '--store', store],
  ],
  backup: () => [
    [join(place, `backup${hostile}.db`), '--store', store],
    [join(place, `backup${hostile}.db`), '--store', gone],
    [hostile, hostile],
  ],
  prove: () => [
    [hostileId, '1', '--store', store],
    [hostile, '1', '--store', store],
    [hostileId, hostile, '--store', store],
    [hostileId, '--store', store],
    ['--check', proof()],
    ['--check', file],
    ['--check', notJson],
    ['--check', nowhere],
  ],
  ledger: () => [
    ['update', '--store', store],
    ['update', '--json', '--store', store],
    ['show', '--store', store],
    ['show', '--json', '--store', store],
    ['verify', '--store', store],
    ['verify', '--store', store, '--trust', notJson],
    ['sign', '--key', notJson, '--origin', hostile, '--store', store],
    ['witness', hostile, '--store', store],
    ['show', '--store', gone],
    [hostile],
  ],
  encryption: () => [
    ['new', join(place, `${hostile}none`, 'a.keys')],
    ['destroy', hostileId, '--yes', '--store', store],
    ['destroy', hostileId, '--yes', '--store', store, '--key-file', notJson],
    ['rotate', '--store', store, '--key-file', join(place, hostile)],
    ['new', join(place, 'hostile.keys'), '--keys-in', hostile],
    [hostile],
  ],
  key: () => [
    ['new', hostile, '--out', join(place, 'a.key')],
    ['new', 'name', '--out', join(place, `${hostile}none`, 'a.key')],
    [hostile],
  ],
  record: () => [
    ['--store', store, '--', join(place, `none${hostile}`)],
    ['--upstream', hostile, '--', 'x'],
    ['--listen', hostile],
    [hostile, '--store', join(place, `${hostile}no`, 'folder.db')],
  ],
  context: () => [
    [file],
    [file, '--explain'],
    [hostileId, '--store', store, '--budget', '50'],
    [file, '--json'],
    [file, '--explain', '--json'],
    [nowhere],
    [file, '--policy', hostile],
    ['--compare', file],
    ['--compare', hostileId, '--store', store],
    ['--compare', file, '--json'],
    ['--compare', nowhere],
    ['--compare', file, '--policy', hostile],
    ['--compare', file, '--budget', hostile],
  ],
  completion: () => [['bash'], ['zsh'], ['fish'], [hostile]],
  continue: () => [
    [file, '--in', 'codex', '--print'],
    [hostileId, '--in', 'pi', '--print', '--store', store],
    ['0b0f5e8a', '--in', 'codex', '--print'],
    [hostile, '--in', 'codex'],
    [file, '--in', hostile],
    [file, '--in', 'codex', '--cwd', hostile],
  ],
  rerun: () => [
    [hostile, '--store', store, '--', 'true'],
    [hostileId, '--store', store, '--', 'true'],
    [hostileId, '--trust-session', '--store', store, '--', 'true'],
    [hostileId, '--trust-session', '--yes', '--store', store, '--', hostile],
    [hostileId, '--trust-session', '--yes', '--from', '1', '--store', store, '--', 'true'],
    [hostileId, '--ignore', hostile, '--store', store, '--', 'true'],
    [hostileId, '--from', '1', '--upstream', hostile, '--store', store, '--', 'true'],
  ],
  view: () => [
    ['--no-open', hostile, '--store', store],
    ['--no-open', '--store', gone],
    ['--no-open', '--host', hostile, '--store', store],
    ['--port', hostile],
  ],
  erase: () => [
    [hostileId, '0', '--yes', '--reason', hostile, '--by', hostile, '--store', store],
    [hostileId, hostile, '--yes', '--store', store],
  ],
  hold: () => [
    [hostile, '--store', store],
    ['--release', hostileId, '--reason', hostile, '--store', store],
  ],
  mcp: () => [
    ['--store', store, '--all-projects', '--since', hostile],
    ['--install', 'pi', '--yes', '--store', join(gone, hostile)],
    ['--install', hostile, '--yes'],
    ['--uninstall', 'pi', '--yes'],
  ],
  remove: () => [
    [hostile, '--yes', '--store', store],
    [hostileId, '--store', store],
    [`fork${hostileId}`, '--yes', '--store', store],
    ['--unfinished', '--yes', '--store', gone],
  ],
}

/** Where a command prints: none of it is written raw. */
const screens: { readonly [name: string]: CommandOptions } = {
  pipe: {},
  narrow: { terminal: 40, colour: true },
  dumb: { terminal: 80, env: { TERM: 'dumb' } },
  wide: { terminal: 200 },
}
/**
 * What is one word, is JSON, or is a command to be copied, is not broken: a break would change it. An answer is printed as it
 * streams, and the terminal breaks its lines.
 */
const isWhole = (line: string): boolean => /^ *\S+$|^ *[[{"]|^ {2,}indelible |^cd |^You said: /.test(line)
const tooWide = (text: string, columns: number): readonly string[] =>
  text.split('\n').filter((line) => widthOf(line) > columns && !isWhole(line))

const unsafeIn = (text: string): string | undefined => unsafe.exec(text.replaceAll('\n', ''))?.[0]

describe('hostile names and content', () => {
  it('are tried with every command', () => {
    const listed = indelible(['--help']).lines.flatMap((line) => /^ {2}([a-z-]+) .*\S$/.exec(line)?.[1] ?? [])
    expect(Object.keys(lines).toSorted()).toEqual(listed.toSorted())
  })
  it.each(Object.keys(lines))('are not printed raw by %s, and no line is wider than its terminal', (command) => {
    if (command !== 'import') indelible(['import', file, '--id', hostileId, '--store', store])
    for (const [index, args] of [['--help'], ...(lines[command]?.() ?? [])].entries())
      for (const [name, screen] of Object.entries(screens)) {
        // All of them see a pipe and the narrow terminal, and one of the others.
        if (!isFull && name === (index % 2 === 0 ? 'dumb' : 'wide')) continue
        const { stdout, stderr } = indelible([command, ...args], {
          input: `hello ${hostile}\n`,
          ...screen,
          env: { HOME: home, ...screen.env },
        })
        const plain = screen.colour ? stdout.replaceAll(/\u001b\[(?:[12]|22|3[1-6]|39)m/g, '') : stdout // oxlint-disable-line no-control-regex
        const { terminal = Infinity } = screen
        const wide = command === 'completion' ? [] : tooWide(plain + stderr, terminal)
        expect([args, name, unsafeIn(plain), unsafeIn(stderr), wide]).toEqual([args, name, undefined, undefined, []])
        expect([args, stdout + stderr]).not.toEqual([args, ''])
      }
  })
  it('are escaped in JSON, with the same value', () => {
    const shown = indelible(['show', file, '--json']).lines.flatMap((line) =>
      line === '' ? [] : [JSON.parse(line) as { readonly message: { readonly content: readonly unknown[] } }],
    )
    expect(shown[1]?.message.content[0]).toEqual({ type: 'text', text: `question ${hostile}` })
    const { stdout } = indelible(['export', file, '--to', 'openai-chat'])
    expect(JSON.parse(stdout)).toContainEqual({ role: 'user', content: `question ${hostile}`, name: `ada${hostile}` })
    const again = indelible(['import', '-', '--id', 'again', '--store', store], {
      input: indelible(['export', hostileId, '--to', 'indelible', '--store', store]).stdout,
    })
    expect(again.stdout.split('head ')[1]).toBe(indelible(['prove', hostileId, '--store', store]).stdout)
  })
  it('give the same output and exit code in a separate process', () => {
    const [thread, real] = [indelible, indelibleProcess].map((run) => run(['show', file]))
    expect(real).toEqual(thread)
    const [wrong, really] = [indelible, indelibleProcess].map((run) => run(['show', nowhere]))
    expect(really).toEqual(wrong)
    expect(really?.status).toBe(1)
  })
})

describe('an output line', () => {
  const run = (args: readonly string[], terminal?: number) =>
    indelible(args, { input: 'hello\n', env: { HOME: home }, ...(terminal !== undefined && { terminal }) })
  it('of no command, an option or help is the help that belongs to it', () => {
    const first = (args: readonly string[]): unknown => {
      const { status, stdout, stderr } = run(args, 80)
      return [status, stdout.split('\n').find((line) => line !== ''), stderr.split('\n').find((line) => line !== '')]
    }
    const [all, verify] = [['--help'], ['verify', '--help']].map((args) => first(args))
    expect(first([])).toEqual([2, undefined, 'Usage: indelible COMMAND [options]'])
    expect([first(['-h']), first(['help'])]).toEqual([all, all])
    expect(first(['help', 'nothing'])).toEqual([2, undefined, 'indelible: there is no command "nothing"'])
    expect(first(['help', 'verify'])).toEqual(verify)
    expect([all, verify]).toEqual([
      [0, expect.stringContaining('indelible') as unknown, undefined],
      [0, expect.stringContaining('verify') as unknown, undefined],
    ])
  })
  it('of any help is no wider, too', () => {
    for (const args of [[], ['--help'], ['--version'], ['nothing']])
      for (const columns of [40, 80, 200]) {
        const { stdout, stderr } = run(args, columns)
        expect([args, columns, tooWide(stdout + stderr, columns)]).toEqual([args, columns, []])
      }
  })
  it('in a pipe has the full id, and each error is one line', () => {
    const store = join(place, 'piped.db') // no text of it was erased
    const id = '0f3c8a1d-1111-4222-8333-444455556666'
    indelible(['import', file, '--id', id, '--store', store])
    expect(run(['list', '--store', store]).stdout).toContain(id)
    expect(run(['search', 'question', '--store', store]).stdout).toContain(`${id}:1`)
    expect(run(['search', 'question', '--store', store], 80).stdout).toContain(' 0f3c8a1d…:1'.trim())
    expect(run(['show', 'no such session', '--store', store], 40).stderr.trim()).toContain('\n')
    expect(run(['show', 'no such session', '--store', store]).stderr.trim()).not.toContain('\n')
  })
})

describe('the only output channel', () => {
  afterEach(() => void vi.useRealTimers())
  it('escapes bar labels and questions, so that text cannot set colors', async () => {
    const said = { out: '', err: '' }
    const sink = (name: 'out' | 'err') => ({
      isTTY: true,
      columns: 80,
      hasColors: () => true,
      write: (text: string, done?: () => void) => {
        said[name] += text
        done?.()
      },
    })
    const terminal = terminalOf({
      stdin: Readable.from([]),
      stdout: sink('out'),
      stderr: sink('err'),
      env: {},
      cwd: '.',
      onInterrupt: () => () => undefined,
    })
    vi.useFakeTimers({ toFake: ['Date'] })
    const bar = terminal.progress(`reading ${hostile}`, 100)
    vi.advanceTimersByTime(450)
    bar.at(50)
    expect(said.err).toMatch(/^\rreading 5m {2}/)
    expect(said.err.replace('\r', '').replace('\u001b[K', '')).not.toMatch(unsafe)
    await terminal.print([terminal.paint('bold', `b${hostile}`), `c\u001b[1m`])
    expect(said.out).toBe('\u001b[1mb[5m5m\u001b[22m\nc[1m\n')
  })
  it('draws no bar on a terminal that cannot move the cursor back', () => {
    let drawn = ''
    const stderr = { isTTY: true, columns: 80, write: (text: string) => void (drawn += text) }
    const stdout = { write: (_: string, done?: () => void) => done?.() }
    const around = { stdin: Readable.from([]), stdout, stderr, cwd: '.', onInterrupt: () => () => undefined }
    vi.useFakeTimers({ toFake: ['Date'] })
    for (const TERM of ['dumb', 'xterm']) {
      const bar = terminalOf({ ...around, env: { TERM } }).progress('reading', 100)
      vi.advanceTimersByTime(450)
      bar.at(50)
      expect([TERM, drawn === '']).toEqual([TERM, TERM === 'dumb'])
      vi.advanceTimersByTime(5000)
      drawn = ''
      bar.at(60)
      expect([TERM, drawn.includes('\r')]).toEqual([TERM, TERM !== 'dumb'])
    }
  })
  it('is not bypassed: no other file of the command uses a stream or writes escape sequences', () => {
    const threads = ['recording.ts', 'record-thread.ts']
    const own = new Set(['main.ts', 'output.ts', 'program.ts', 'process-tree.ts', 'pi-extension.ts', ...threads]) // `program` runs what has the terminal for itself, and `process-tree` ends it; `pi-extension` writes a program of pi
    const files = readdirSync(join(root, 'packages/cli/src'), { recursive: true, encoding: 'utf8' })
    const found = files.flatMap((path) => {
      const name = basename(path)
      if (own.has(name) || !name.endsWith('.ts') || path.startsWith('view')) return []
      const code = readFileSync(join(root, 'packages/cli/src', path), 'utf8').replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, '')
      return [
        ...(/\bprocess\s*[.[?!]|[=(,{]\s*process\b|\bglobalThis\b|\bconsole\b|\bfs\b.*\bwriteSync/.exec(code) ?? []),
        ...(/import (?!type|\{ versions \} from 'node:process').* from '(?:node:)?(?:process|readline|readline\/promises|tty|console|child_process|worker_threads)'/.exec(
          code,
        ) ?? []),
        ...(name === 'progress.ts' || name === 'write-out.ts' ? [] : (/\.write\(/.exec(code) ?? [])),
        ...(name === 'progress.ts' || name === 'screen.ts'
          ? []
          : (/\\(?:u001b|x1b|u\{1b\}|033|u009b)|styleText/i.exec(code) ?? [])),
      ].map((what) => `${name}: ${what}`)
    })
    expect(found).toEqual([])
  })
})
