/** What only processes of their own show: streams that close, signals, terminals that can't do much. */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commands } from '../src/commands.ts'
import { root } from '../../../scripts/run.ts'
import { folder, indelible, main, writeTestFile } from './indelible.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'

const store = join(folder, 'processes.db')
const long = writeTestFile(
  'long.jsonl',
  Array.from({ length: 2000 }, (_, index) =>
    JSON.stringify({ role: index % 2 === 0 ? 'user' : 'assistant', content: `${index} ${'said '.repeat(60)}` }),
  ).join('\n'),
)
beforeAll(() => void indelible(['import', long, '--id', 'long', '--store', store]))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const startCommand = (args: readonly string[], stdio: StdioOptions): ChildProcess =>
  spawn(process.execPath, [main, ...args], {
    stdio,
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled'), NO_COLOR: '1' },
  })
const exitOf = (child: ChildProcess): Promise<number | NodeJS.Signals | null> =>
  new Promise((end) => child.on('close', (code, signal) => end(signal ?? code)))

describe("the command's process", () => {
  it.each([
    ['show', 'long', '--store', store],
    ['export', 'long', '--to', 'indelible', '--store', store],
  ])('ends silently when its output pipe closes: %s', async (...args) => {
    const child = startCommand(args, ['ignore', 'pipe', 'pipe'])
    let output = ''
    child.stderr?.on('data', (piece: Buffer) => (output += piece.toString()))
    child.stdout?.once('data', () => child.stdout?.destroy())
    expect([await exitOf(child), output]).toEqual([0, ''])
  })
  it.each([
    ['show', 'long', '--store', store],
    ['export', 'long', '--to', 'indelible', '--store', store],
    ['--version'],
  ])(
    'reports in one line that its output cannot be written: %s',
    leftOutIf(!existsSync('/dev/full'), 'there is no /dev/full'),
    async (...args) => {
      const full = openSync('/dev/full', 'w')
      const child = startCommand(args, ['ignore', full, 'pipe'])
      closeSync(full)
      let output = ''
      child.stderr?.on('data', (piece: Buffer) => (output += piece.toString()))
      expect([await exitOf(child), output]).toEqual([1, "indelible: can't write the output: no space left on device\n"])
    },
  )
  it('finishes its work when nobody reads its notices', async () => {
    const out = join(folder, 'told.txt')
    const file = openSync(out, 'w')
    const child = startCommand(['export', writeTestFile('cut.jsonl', `${readFileSync(long, 'utf8')}\n{"cut`), '--to', 'anthropic'], ['ignore', file, 'pipe']) // oxfmt-ignore
    child.stderr?.destroy()
    expect(await exitOf(child)).toBe(1) // because of the damage
    closeSync(file)
    expect(JSON.parse(readFileSync(out, 'utf8'))).toHaveProperty('messages.1999')
  })
  it.each([
    ['the threads of replay', ['context', '--compare', long, '--budget', '2k,4k,8k,16k'], 'long.jsonl'],
    ['import', ['import', long, long, long, long, '--store', join(folder, 'broken.db')], 'long'],
  ])('ends at once on Ctrl-C and keeps stored data intact: %s', async (_, args, first) => {
    const child = startCommand(args, ['ignore', 'pipe', 'ignore'])
    const output = await new Promise<string>((heard) => child.stdout?.once('data', (piece: Buffer) => heard(String(piece)))) // oxfmt-ignore
    expect(output).toContain(first)
    child.kill('SIGINT')
    expect(await exitOf(child)).toBe('SIGINT') // a shell says 130
    if (args[0] === 'import')
      expect(indelible(['verify', '--all', '--deep', '--store', join(folder, 'broken.db')])).toMatchObject({
        status: 0,
      })
  })
  it('of view reports a port in use, with advice', async () => {
    const server = createServer()
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const { port } = server.address() as AddressInfo
    const child = startCommand(
      ['view', '--no-open', '--port', String(port), '--store', store],
      ['ignore', 'ignore', 'pipe'],
    )
    let output = ''
    child.stderr?.on('data', (piece: Buffer) => (output += piece.toString()))
    expect(await exitOf(child)).toBe(1)
    server.close()
    expect(output).toBe(
      `indelible: port ${port} of 127.0.0.1 is in use, perhaps by another view; choose another with --port, or omit --port for any free one\n`,
    )
  })
})

describe('every command', () => {
  it.each(commands.map(({ name }) => name))('%s has help within 40 columns except for literal commands', (name) => {
    const { usage, about, examples = [] } = commands.find((command) => command.name === name) as (typeof commands)[0]
    const kept = [...usage, ...examples, ...about.split('\n').filter((line) => line.startsWith(' '))].map((line) => line.trim()) // oxfmt-ignore
    for (const line of indelible([name, '--help'], { columns: 40 }).lines)
      if (line.includes(' ') && !kept.some((one) => line.endsWith(one)))
        expect([line, line.length <= 40 || !line.trim().includes(' ')]).toEqual([line, true])
  })
  it.each([{ NO_COLOR: '1' }, { FORCE_COLOR: '3' }, { TERM: 'dumb' }])(
    'writes no escape sequence into a pipe: %o',
    (env) => {
      for (const { name } of commands) {
        const { stdout, stderr } = indelible([name, '--help'], { env })
        expect([name, `${stdout}${stderr}`.includes('\u001b')]).toEqual([name, false])
      }
    },
  )
})
