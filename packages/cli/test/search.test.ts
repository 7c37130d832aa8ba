/** `indelible search` and `indelible index`. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { folder, indelible, writeTestFile } from './indelible.ts'

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const store = join(folder, 'store.db')
const said = (...contents: readonly string[]): string =>
  JSON.stringify(contents.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content })))
const search = (...args: readonly string[]) => indelible(['search', ...args, '--store', store])
const places = (...args: readonly string[]): readonly string[] =>
  search(...args, '--sort', 'time').lines.flatMap((line) => /^(\S+:\d+) {2}/.exec(line)?.[1] ?? [])

it('an excerpt in a wide terminal ends with its mark only where its message continues', () => {
  const wide = join(folder, 'wide.db')
  const after = ' after'.repeat(29) // with the word, 180 characters
  for (const [id, content] of [
    ['cut', `needle${after}s`],
    ['whole', `needle${after}`],
  ] as const)
    indelible(['import', writeTestFile(`${id}.json`, said(content)), '--id', id, '--store', wide])
  const { stdout } = indelible(['search', 'needle', '--sort', 'time', '--store', wide], { columns: 400 })
  expect(stdout).toBe(`whole:0  user  needle${after}\ncut:0  user  needle${after}…\n`)
})

it('search finds messages in all sessions with and without an index', () => {
  const long = `${'before '.repeat(60)}the needle${' after'.repeat(60)}`
  indelible([
    'import',
    writeTestFile('a.json', said('a needle\nin the hay', 'no rate limit', '東京都')),
    '--id',
    'a',
    '--store',
    store,
  ])
  indelible(['import', writeTestFile('b.json', said(long, 'the limit rate')), '--id', 'b', '--store', store])
  indelible([
    'import',
    writeTestFile('c.json', said('a needle elsewhere')),
    '--id',
    'c',
    '--scope',
    'other',
    '--store',
    store,
  ])
  for (const indexed of [false, true]) {
    if (indexed) expect(indelible(['index', '--store', store]).stdout).toBe('6 rows indexed\n')
    expect(search('needle', 'hay').stdout).toBe('a:0  user  a needle in the hay\n')
    expect(places('needle')).toEqual(['b:0', 'a:0'])
    expect(search('needle').lines[0]).toMatch(/^a:0 {2}user {2}a needle in the hay$/)
    expect(search('needle').lines[1]).toMatch(/^b:0 {2}user {2}…before .* the needle after .*…$/)
    expect(places('"rate limit"')).toEqual(['a:1'])
    expect(places('rate limit -no')).toEqual(['b:1'])
    expect(places('京')).toEqual(['a:2'])
    expect(places('needle', '--session', 'a')).toEqual(['a:0'])
    expect(places('limit', '--role', 'user')).toEqual([])
    expect(places('needle', '--since', '1h')).toEqual(['b:0', 'a:0'])
    expect(places('needle', '--until', '2020-01-01')).toEqual([])
    expect(places('needle', '--scope', 'other')).toEqual(['c:0'])
    expect(search('needle', '--all-scopes').stdout).toMatch(/^default {2}a:0.*\nother {2}c:0.*\ndefault {2}b:0/)
    expect(search('needle', '--all-scopes', '--sort', 'time').stdout).toMatch(/^other {2}c:0.*\ndefault {2}b:0.*\ndefault {2}a:0/) // oxfmt-ignore
    expect(search('needle', '--all-scopes', '--limit', '2').lines).toHaveLength(3)
    const limited = search('needle', '--limit', '1')
    expect([limited.lines.length, limited.stderr]).toEqual([2, expect.stringContaining('--limit 10')])
    const json = search('hay', '--json').lines.filter((line) => line !== '')
    expect(json.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { session: 'a', position: 0, role: 'user', excerpt: { marks: [[16, 19]] } },
    ])
  }
  expect(indelible(['index', '--store', store]).stdout).toBe('the index has all rows\n')
  expect(indelible(['index', '--rebuild', '--store', store]).stdout).toBe('6 rows indexed\n')
  expect(indelible(['index', '--drop', '--store', store]).stdout).toBe('the index was removed\n')
  expect(search('needle', '--index').stderr).toContain('"search --index" is now "indelible index"')
})

it('search answers a question: sessions, each with its best messages', () => {
  const asked = join(folder, 'asked.db')
  const turn = said('Which database should we use?', 'We decided on SQLite.', 'And the tests?', 'Fast.')
  indelible(['import', writeTestFile('db.json', turn), '--id', 'db', '--store', asked])
  indelible([
    'import',
    writeTestFile('x.json', said('A database?', 'Later.')),
    '--id',
    'x',
    '--scope',
    'other',
    '--store',
    asked,
  ])
  const ask = (...args: readonly string[]) => indelible(['search', ...args, '--store', asked])
  for (const indexed of [false, true]) {
    if (indexed) indelible(['index', '--store', asked])
    const { lines, status } = ask('when did we decide on a database?')
    expect(lines[0]).toMatch(/^db {2}\d{4}-\d\d-\d\d$/)
    expect(lines.slice(1, 3).toSorted()).toEqual(['  0     user  Which database should we use?', '  1     assistant  We decided on SQLite.']) // oxfmt-ignore
    expect(status).toBe(0)
    expect(ask('when did we decide?', '--role', 'user').stderr).toContain(
      'no session in this scope has any of these words',
    )
    expect(ask('deciding', '--question').lines[0]).toMatch(/^db /)
    expect(ask('deciding').stderr).toContain('no message')
    expect(ask('a database?', '--all-scopes').stdout).toMatch(/^(?:default|other) {2}\S+ {2}\d{4}/)
    expect(ask('a database?', '--all-scopes', '--limit', '1').stderr).toContain('--limit 10')
    expect(ask('the database?', '--session', 'db').lines[0]).toMatch(/^db /)
    const [json] = ask('decide?', '--json').lines
    expect(JSON.parse(json ?? '')).toMatchObject({ session: 'db', passages: [{ position: 1 }], more: 0 })
  }
  expect(ask('x?', '--question', '--sort', 'time').stderr).toContain('--sort orders messages')
  expect(ask('database?', '--sort', 'time').lines[0]).toMatch(/^db:0 /)
})

it('search --all finds retracted messages', () => {
  indelible(['append', 'a', 'a retracted word', '--store', store])
  indelible(['rewind', 'a', '--to', '3', '--store', store])
  expect(search('retracted')).toMatchObject({ status: 0, stdout: '' })
  expect(search('retracted').stderr).toContain('no message')
  expect(search('retracted', '--all').stdout).toBe('a:3  user retracted  a retracted word\n')
})

it('search highlights words on a terminal and fits them into a line', () => {
  const shown = indelible(['search', 'needle', '--sort', 'time', '--store', store], { colour: true, columns: 60 }).lines
  expect(shown[0]).toContain('\u001b[1m\u001b[33mneedle\u001b[39m\u001b[22m')
  const plain = shown[0]?.replaceAll(/\u001b\[\d+m/g, '') ?? '' // oxlint-disable-line no-control-regex
  expect(plain.length).toBeLessThanOrEqual(60)
  expect(plain).toMatch(/^b:0 {2}user {2}….*needle.*…$/)
})

it.each([
  [['search'], /needs WORDS/],
  [['search', 'x', '--in', 'y'], /one of messages, tools, all/],
  [['search', 'x', '--role', 'y'], /--role takes one of system/],
  [['search', 'x', '--since', 'y'], /takes a time/],
  [['search', 'x', '--since', '5'], /--since takes a time, such as/],
  [['search', 'x', '--sort', 'y'], /--sort takes one of relevance, time, not "y"/],
  [['search', 'x', '--limit', '0'], /--limit/],
  [['search', '-return'], /no option -r; put words that begin with a dash after --/],
  [['index', 'x'], /no arguments/],
  [['index', '--drop', '--rebuild'], /exclude/],
] as const)('search refuses %j', (args, message) => {
  const ended = indelible([...args, '--store', store])
  expect([ended.status, ended.stderr]).toEqual([2, expect.stringMatching(message)])
})

it('search reports what a query lacks', () => {
  expect(search('"')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/has no word to search for/) as string,
  })
})

it('search accepts words with a leading dash after --', () => {
  expect(indelible(['search', '--store', store, '--', '-hay', 'needle']).stdout).toMatch(/^b:0 .*\n$/)
  expect(indelible(['search', '--store', store, '--', '-hay'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('-word only excludes messages') as string,
  })
})

it('search lists encrypted sessions that it skipped and those missing from an index', () => {
  const [mixed, keys] = [join(folder, 'mixed.db'), join(folder, 'mixed.keys')]
  const run = (...args: readonly string[]) => indelible([...args, '--store', mixed])
  indelible(['encryption', 'new', keys])
  for (const id of ['kept', 'gone'])
    run('import', writeTestFile(`${id}.json`, said(`a secret needle in ${id}`)), '--id', id, '--key-file', keys)
  expect(run('index')).toMatchObject({
    status: 0,
    stdout: 'the index has all rows that are not encrypted\n',
    stderr: 'not indexed: 2 encrypted sessions: gone, kept; a search with --key-file reads them\n',
  })
  expect(indelible(['index', '--store', mixed], { env: { INDELIBLE_KEY_FILE: keys } }).status).toBe(0)
  const gone = `${keys}.gone`
  expect(indelible(['list', '--store', mixed], { env: { INDELIBLE_KEY_FILE: gone } })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`INDELIBLE_KEY_FILE ${gone}: does not exist`) as string,
  })
  run('import', writeTestFile('clear.json', said('a clear needle')), '--id', 'clear')
  for (const indexed of [true, false]) {
    if (!indexed) run('index', '--drop')
    expect(run('search', 'needle')).toMatchObject({
      status: 0,
      stdout: 'clear:0  user  a clear needle\n',
      stderr: '2 encrypted sessions were not searched: gone, kept; give --key-file FILE\n',
    })
  }
  run('encryption', 'destroy', 'gone', '--yes', '--key-file', keys)
  const found = run('search', 'needle', '--key-file', keys)
  expect(found.stdout).toBe('clear:0  user  a clear needle\nkept:0  user  a secret needle in kept\n')
  expect(found.stderr).toBe(
    `1 encrypted session was not searched: gone; ${keys} has no key for it, or it was destroyed\n`,
  )
  const lines = run('search', 'secret', '--json').lines.filter((line) => line !== '')
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { session: 'gone', notSearched: 'encrypted' },
    { session: 'kept', notSearched: 'encrypted' },
  ])
})
