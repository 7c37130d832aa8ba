/** What may never end is refused with a sentence, and a pipe of the shell is read. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { platform } from 'node:os'
import { expect, it } from 'vitest'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { folder, main, indelible, writeTestFile } from './indelible.ts'

const options = leftOutIf(platform() === 'win32', 'Windows has no named pipes in folders')
const limit = 120_000 // only ends what hangs

it('a named pipe, a socket or a device is no file', options, () => {
  const pipe = join(folder, 'pipe')
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0)
  const store = join(folder, 'store.db')
  const chat = writeTestFile('chat.json', '[{"role":"user","content":"hello there"}]')
  expect(indelible(['import', chat, '--store', store]).status).toBe(0)
  for (const [line, said] of [
    [['show', pipe], `${pipe}: is a named pipe`],
    [['import', pipe, '--store', store], `${pipe}: is a named pipe`],
    [['show', '/dev/zero'], '/dev/zero: is a device'],
    [['list', '--store', store, '--key-file', pipe], `--key-file ${pipe}: is a named pipe`],
    [['list', '--store', pipe], 'a named pipe; nothing was changed'],
  ] as const) {
    const { status, stderr } = spawnSync(process.execPath, [main, ...line], { encoding: 'utf8', timeout: limit })
    expect([line, status]).toEqual([line, expect.any(Number)])
    expect(status).not.toBe(0)
    expect(stderr).toContain(said)
  }
})

it('a pipe that the shell opens is read, also for a key', options, () => {
  const file = writeTestFile('chat.json', '[{"role":"user","content":"hello there"}]')
  const key = join(folder, 'key')
  expect(indelible(['encryption', 'new', key]).status).toBe(0)
  const command = [process.execPath, main].map((word) => `'${word}'`).join(' ')
  const bash = (line: string) => spawnSync('bash', ['-c', line], { encoding: 'utf8', timeout: limit })
  expect(bash(`${command} show <(cat '${file}')`).stdout).toContain('hello there')
  expect(bash(`cat '${file}' | ${command} show /dev/stdin`).stdout).toContain('hello there')
  const store = join(folder, 'encrypted.db')
  const keys = `sed 's|keys-in: |&${folder}/|' '${key}'` // a relative place begins at the folder of the file
  expect(bash(`${command} import '${file}' --store '${store}' --key-file <(${keys})`).status).toBe(0)
  writeFileSync(file, '[]')
  expect(bash(`${command} show chat --store '${store}' --key-file <(${keys})`).stdout).toContain('hello there')
})
