/**
 * `npm start`: the main job, on an example conversation or, with `npm start -- FILE`, on another one: imports it into a
 * store, appends a message, verifies it, and shows that a change of the file is detected.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import './closed-pipe.ts'
import { isBuilt, root, run } from './run.ts'

const [file = `${root}examples/coding-agent.json`, ...others] = process.argv.slice(2)
if (others.length > 0 || file.startsWith('-')) {
  process.stderr.write('npm start takes one FILE at most: npm start -- FILE\n')
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'indelible-'))

const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** Run a command as a person would type it, and show it. Returns its output. Exits if the exit code is not the expected one. */
const indelible = (args: readonly string[], expected = 0): string => {
  say(`\n$ indelible ${args.map((arg) => (/^[\w./:=-]+$/.test(arg) ? arg : JSON.stringify(arg))).join(' ')}`)
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'bin/indelible.js'), ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, COLUMNS: String(process.stdout.columns || 100) },
  })
  process.stdout.write(stdout + stderr)
  if (status === expected) return stdout
  say(`\nexit code ${status}, where ${expected} was expected`)
  process.exit(1)
}

if (isBuilt()) say('The package is already built, so npx finds the command.')
else {
  say('Building the package, so that npx finds the command (npm run build):')
  if (!run(process.execPath, [`${root}scripts/build.ts`])) process.exit(1)
}

say('\nA recorded conversation becomes a session, in a database file of its own:')
const [first = ''] = indelible([
  'import',
  '--pick',
  '0',
  '--store',
  'sessions.db',
  '--id',
  'example',
  resolve(file),
]).split('\n')
if (first === '') process.exit(1)

say(
  '\nA message is appended to this session; the file it came from stays as it is. When the command ends, it is on disk:',
)
indelible(['append', 'example', 'Add a test for leap years, too.', '--store', 'sessions.db'])
indelible(['show', 'example', '--from', '-4', '--store', 'sessions.db'])

say('\nIts head is a digest of every byte. Keep it somewhere else, and compare the record with it later:')
const head = indelible(['prove', 'example', '--store', 'sessions.db']).trim()
indelible(['verify', 'example', '--head', head, '--store', 'sessions.db'])

copyFileSync(join(folder, 'sessions.db'), join(folder, 'changed.db'))
const row = changeRow(join(folder, 'changed.db'))
say(`\nSomebody opens a copy of the file, without this library, and changes a word in row ${row}:`)
indelible(['verify', 'example', '--head', head, '--store', 'changed.db'], 1)

say(`
The change was detected, as expected. To try it on a conversation of your own (OpenAI, Anthropic, AI SDK, Claude Code, Codex, pi, …):

  npm start -- FILE
  npx indelible import FILE
  npx indelible list

The files are in ${folder}`)

/** Change one letter of a row in the middle, as anybody with the file could. */
function changeRow(path: string): number {
  const db = new DatabaseSync(path)
  const { position, body } = db
    .prepare(
      'select id & 4294967295 as position, body from row order by id limit 1 offset (select count(*) / 2 from row)',
    )
    .get() as { readonly position: number; readonly body: string }
  const at = body.search(/[a-z](?=[^"]*"\}\])/)
  const letter = body[at] === 'x' ? 'y' : 'x'
  db.prepare('update row set body = ? where id & 4294967295 = ?').run(
    body.slice(0, at) + letter + body.slice(at + 1),
    position,
  )
  db.close()
  return position
}
