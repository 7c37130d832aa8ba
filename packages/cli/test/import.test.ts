/** `indelible import` of several files, and what lists say of sessions afterwards. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { folder, indelible, writeTestFile } from './indelible.ts'

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const chat = (name: string): string =>
  writeTestFile(`${name}.json`, JSON.stringify([{ role: 'user', content: `${name} asks` }, { role: 'assistant', content: 'so' }])) // oxfmt-ignore
const jsonLines = (args: readonly string[]): readonly unknown[] =>
  indelible(args)
    .lines.filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)

it('import continues after an unreadable file and names each', () => {
  const store = join(folder, 'several.db')
  const [bad, none] = [writeTestFile('bad.json', '{bad'), join(folder, 'none.json')]
  const given = [bad, chat('a'), none, chat('b')]
  const first = indelible(['import', ...given, '--store', store])
  expect(first.status).toBe(1)
  expect(first.stdout).toMatch(/^a: 2 messages .*\nb: 2 messages .*\n$/)
  expect(first.stderr.split('\n')).toEqual([
    expect.stringMatching(/bad\.json: line 1, column 2: not JSON/),
    `${none}: does not exist`,
    'indelible: 2 of 4 files were not imported, or only partly',
    '',
  ])
  const [taken] = [
    writeTestFile('taken.jsonl', indelible(['export', 'a', '--to', 'indelible', '--store', store]).stdout),
  ]
  const again = indelible(['import', taken, chat('c'), '--store', store])
  expect([again.status, again.stdout]).toEqual([1, expect.stringMatching(/^c: 2 messages/)])
  expect(again.stderr).toContain(`${taken}: this store already has a session "a"`)
})

it.each([
  ['the last', (good: string) => `${good}\n${good.slice(0, 40)}`, 2],
  ['the first', (good: string) => `${good.slice(0, 40)}\n${good}\n`, 1],
  ['one between conversations', (good: string) => `${good}\n${good.slice(0, 40)}\n${good}\n`, 2],
] as const)(
  'import reads the intact lines of a file, reports the truncated one (%s) and exits with 1',
  (which, of, line) => {
    const good = JSON.stringify({ messages: [{ role: 'user', content: 'Hello?' }, { role: 'assistant', content: 'Yes.' }] }) // oxfmt-ignore
    const file = writeTestFile(`cut ${which}.jsonl`, of(good))
    const imported = indelible(['import', file, '--store', join(folder, `${which}.db`)])
    expect(imported.stdout.match(/^cut .*: 2 messages of/gm)).toHaveLength(which.includes('between') ? 2 : 1)
    const output = `cut ${which}.jsonl: 1 damaged line (line ${line}); "indelible show --check" says why\n`
    expect(imported).toMatchObject({ status: 1, stderr: output })
    for (const args of [['show'], ['spend'], ['context'], ['context', '--compare', '--budget', '8k', '--policy', 'window']])
    expect([args, indelible([...args, file])]).toMatchObject([args, { status: 1, stderr: expect.stringContaining(output) as string }]) // oxfmt-ignore
    expect(indelible(['export', file, '--to', 'anthropic'])).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('Hello?') as string,
      stderr: expect.stringContaining(`  line     ${line}  is`) as string,
    })
  },
)

it('import creates no store if no file is readable', () => {
  const store = join(folder, 'never.db')
  expect(indelible(['import', join(folder, 'x.json'), join(folder, 'y.json'), '--store', store]).status).toBe(1)
  expect(indelible(['import', chat('a'), chat('b'), '--id', 'one', '--store', store])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--id names one session, and there are several files') as string,
  })
  expect(existsSync(store)).toBe(false)
})

it('list marks held, encrypted and erased sessions', () => {
  const [store, keys] = [join(folder, 'marks.db'), join(folder, 'marks.keys')]
  const run = (...args: readonly string[]) => indelible([...args, '--store', store])
  indelible(['encryption', 'new', keys])
  for (const id of ['plain', 'kept', 'cut']) run('import', chat(id), '--id', id)
  run('import', chat('secret'), '--id', 'secret', '--key-file', keys)
  run('erase', 'cut', '0-1', '--yes')
  run('hold', 'kept')
  run('fork', 'kept', '--id', 'fork')
  const table = run('list', '--sort', 'id').lines.map((line) => line.slice(28).trimEnd().replace(/ {2,}/, ' | '))
  expect(table.slice(1, -1)).toEqual([
    'cut | [2 erased]',
    'fork | forked from kept at 2',
    'kept | [held] kept asks',
    'plain | plain asks',
    'secret | [encrypted]',
  ])
  expect(jsonLines(['list', '--sort', 'id', '--json', '--store', store])).toMatchObject([
    { id: 'cut', erased: 2 },
    { id: 'fork' },
    { id: 'kept', held: true },
    { id: 'plain' },
    { id: 'secret', encrypted: true },
  ])
  const ids = (where: string) => jsonLines(['list', '--where', where, '--json', '--sort', 'id', '--store', store]).map((each) => (each as { readonly id: string }).id) // oxfmt-ignore
  expect(ids('held=true')).toEqual(['kept'])
  expect(ids('encrypted=false')).toEqual(['cut', 'fork', 'kept', 'plain'])
  expect(ids('erased>0')).toEqual(['cut'])
  expect(ids('constructor~a')).toEqual([])
  expect(run('list', '--tree').lines[0]).toMatch(/^kept {2}\[held\] 2 messages/)
  expect(jsonLines(['list', '--tree', '--json', '--store', store])).toMatchObject([
    { id: 'kept', held: true },
    { id: 'fork' },
  ])
})

it.each([
  ['key file', ['list', '--key-file'], '--key-file'],
  ['trust file', ['ledger', 'verify', '--trust'], '--trust'],
  ['private key', ['ledger', 'sign', '--origin', 'a', '--key'], '--key'],
])('an error names the option and path of a %s that is missing or invalid', (_name, args, option) => {
  const store = join(folder, 'files.db')
  indelible(['import', chat('a'), '--store', store])
  expect(indelible([...args, 'no/such.file', '--store', store])).toMatchObject({
    status: 1,
    stderr: `indelible: ${option} no/such.file: does not exist\n`,
  })
  expect(indelible([...args, folder, '--store', store]).stderr).toBe(
    `indelible: ${option} ${folder}: is a folder; expected a file\n`,
  )
  expect(indelible([...args, chat('a'), '--store', store]).stderr).toContain(`indelible: ${option} ${chat('a')}: `)
})

it("an error says that an output file's folder is missing", () => {
  const store = join(folder, 'files.db')
  for (const args of [
    ['encryption', 'new', 'no/such.keys'],
    ['key', 'new', 'a', '--out', 'no/such.keys'],
    ['export', 'a', '--to', 'indelible', '--out', 'no/such.keys', '--store', store],
    ['backup', 'no/such.keys', '--store', store],
  ])
    expect(indelible(args).stderr).toBe('indelible: no/such.keys: its folder does not exist\n')
})

it('import reports changed values in the words of check', () => {
  const file = writeTestFile('half.json', '[{"role":"user","content":"a\\ud800b"},{"role":"assistant","content":"ok"}]')
  const changed = indelible(['show', '--check', file]).lines.slice(2, 5)
  expect(changed[0]).toBe('changed while reading: 1 value')
  expect(indelible(['import', file, '--store', join(folder, 'half.db')])).toMatchObject({
    status: 0,
    stderr: `half: ${changed.join('\n')}\n`,
  })
})

it.each([
  [['append', 'a', ''], 'append: TEXT is empty'],
  [['copy', '--store', 'x.db'], 'there is no option --store; copy takes --from STORE and --to STORE'],
  [
    ['import', 'x.json', '--id', '-x'],
    '--id takes a value: --id NAME; one that begins with a dash is given as --id=-x',
  ],
])('import refuses %j and names valid input', (args, text) => {
  expect(indelible(args)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(text) as string })
})

it('commands look for a session whose id looks like a path', () => {
  const env = { INDELIBLE_STORE: join(folder, 'path.db') }
  expect(indelible(['import', chat('p'), '--id', 'a/b?c#d%20'], { env }).status).toBe(0)
  expect(indelible(['show', 'a/b?c#d%20'], { env })).toMatchObject({ status: 0, stdout: expect.stringContaining('p asks') as string }) // oxfmt-ignore
  expect(indelible(['show', 'a/c'], { env }).stderr).toMatch(
    /a\/c: does not exist as a file, and this store has no session "a\/c"/,
  )
})

it('a file without any readable message is not stored', () => {
  const store = join(folder, 'damaged-only.db')
  const header = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work"}'
  const file = writeTestFile('only-damaged.jsonl', `${header}\n{"type":"message","id":"a","message":{"role":"us`)
  const { status, stderr } = indelible(['import', file, '--store', store])
  expect([status, stderr]).toEqual([1, expect.stringContaining('none of its messages can be read; nothing was stored')])
  expect(indelible(['list', '--store', store]).stdout).not.toContain('only-damaged')
})
