/** `indelible view`, as the processes of a machine see it. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { runCommandLine } from '../src/command-line.ts'
import { indelible, main } from './indelible.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-view-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('view passes its address to the browser in a private file, removed at the end', async () => {
  const store = join(folder, 'a.db')
  indelible(['import', join(root, 'examples/coding-agent.json'), '--store', store])
  // What a system has to open a browser, which tells its arguments, the file's mode, and what stands in it.
  for (const name of ['xdg-open', 'open']) {
    const opener = join(folder, name)
    writeFileSync(
      opener,
      `#!/bin/sh\n{ printf '%s\\n' "$*"; ls -l "$1"; cat "$1"; } > '${folder}/said.tmp'\nmv '${folder}/said.tmp' '${folder}/said'\n`,
    )
    chmodSync(opener, 0o755)
  }
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH']}` }
  const child = spawn(process.execPath, [main, 'view', '--store', store], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.on('data', (chunk) => (printed += String(chunk)))
  await expect.poll(() => existsSync(join(folder, 'said'))).toBe(true)
  await expect.poll(() => /^http\S+$/m.exec(printed)?.[0]).toBeDefined()
  const address = /^http\S+$/m.exec(printed)?.[0] ?? ''
  const [args = '', mode, page] = readFileSync(join(folder, 'said'), 'utf8').split('\n')
  expect(args).toMatch(/view\.html$/)
  expect(args).not.toContain('token')
  expect(mode).toMatch(/^-rw------- /)
  expect(page).toContain(`url=${address.replaceAll('&', '&amp;')}"`)
  await new Promise((resolve) => {
    child.on('exit', resolve)
    child.kill('SIGTERM')
  })
  expect(existsSync(args)).toBe(false)
})

it('view ends on a signal while printing its address, and opens nothing then', async () => {
  const store = join(folder, 'b.db')
  indelible(['import', join(root, 'examples/coding-agent.json'), '--store', store])
  const opened = join(folder, 'opened')
  for (const name of ['xdg-open', 'open']) {
    writeFileSync(join(folder, name), `#!/bin/sh\ntouch '${opened}'\n`)
    chmodSync(join(folder, name), 0o755)
  }
  const listeners = new Set<() => void>()
  let heard: number | undefined
  const stdout = {
    write: (_: string, done?: () => void) => {
      heard ??= listeners.size
      for (const listener of listeners) listener()
      done?.()
    },
  }
  const path = process.env['PATH']
  process.env['PATH'] = `${folder}${delimiter}${path}`
  const status = await runCommandLine(['view', '--store', store], {
    stdin: Readable.from([]),
    stdout,
    stderr: { write: () => {} },
    env: process.env,
    cwd: '.',
    onInterrupt: (listener) => {
      listeners.add(listener)
      if (heard !== undefined) setImmediate(listener) // too late to be heard: the test is to end
      return () => void listeners.delete(listener)
    },
  }).finally(() => (process.env['PATH'] = path))
  expect({ status, heard, left: listeners.size, opened: existsSync(opened) }).toEqual({
    status: 0,
    heard: 1,
    left: 0,
    opened: false,
  })
})

it.each([
  ['view', ['--no-open'], /^http\S+$/m],
  ['show', ['s', '--follow'], / user /],
] as const)('%s ends when npm started it and the shell in between dies', async (command, rest, first) => {
  const store = join(folder, `${command}.db`)
  indelible(['import', join(root, 'examples/coding-agent.json'), '--id', 's', '--store', store])
  // A shell that does not become the program, and dies of its signal alone, as under `npx`.
  const args = ['-c', '"$@" 2>&1 & wait', 'sh', process.execPath, main, command, ...rest, '--store', store]
  const env = { ...process.env, npm_command: 'exec', CODEX_HOME: folder }
  const shell = spawn('/bin/sh', args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  shell.stdout.on('data', (chunk) => (printed += String(chunk)))
  const closed = new Promise((resolve) => shell.stdout.on('close', resolve)) // when nobody can print any more
  await expect.poll(() => printed, { timeout: 60_000 }).toMatch(first)
  shell.kill('SIGTERM')
  await closed
})

it('an exported page says on standard error whether its messages are encrypted', () => {
  const [store, keys] = [join(folder, 'keyed.db'), join(folder, 'keys')]
  const example = join(root, 'examples/coding-agent.json')
  indelible(['encryption', 'new', keys])
  indelible(['import', example, '--id', 'secret', '--store', store, '--key-file', keys])
  indelible(['import', example, '--id', 'plain', '--store', store])
  const told = (id: string, ...more: readonly string[]): string => {
    const args = ['export', id, '--to', 'html', '--out', join(folder, 'page.html'), '--force', '--store', store]
    const { status, stderr } = indelible([...args, ...more])
    return `${status} ${stderr}`
  }
  expect(told('plain')).toMatch(/^0 plain: written to .* as html\n$/)
  expect(told('secret', '--key-file', keys)).toMatch(/^0 secret: written to .* as html\n$/)
  expect(told('secret')).toMatch(
    /^0 secret: the page contains the messages in encrypted form: .*\nsecret: written to .* as html\n$/,
  )
})
