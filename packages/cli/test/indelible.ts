/** The command as a person runs it: its output, its exit code. In a thread, or as a process where that is the point. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { root } from '../../../scripts/run.ts'
import { forEachFile } from '../../../test/for-each-file.ts'
import type { CommandLine, RunResult } from './command-run.ts'
import { program } from '../../../test/programs.ts'

export const main: string = program('packages/cli/src/main.ts')

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'indelible-cli-'))

/** A folder for the files of one test file. */
export let folder: string = newFolder()
forEachFile.add(() => (folder = newFolder()))

export const writeTestFile = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

export interface CommandOptions {
  readonly columns?: number
  readonly input?: string | Uint8Array
  readonly env?: { readonly [name: string]: string | undefined }
  /** Default: that of the tests. */
  readonly cwd?: string
  /** Default: without colours. */
  readonly colour?: boolean
  /** The columns of a terminal that it is shown on. Default: pipes. */
  readonly terminal?: number
}

export interface CommandEnded {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
  readonly lines: readonly string[]
}

/** Run a command line, and wait until it ends. */
export const indelible = (args: readonly string[], options: CommandOptions = {}): CommandEnded => {
  const line: CommandLine = {
    args,
    input: options.input ?? '',
    env: environment(options),
    cwd: options.cwd ?? '.',
    colour: options.colour ?? false,
    terminal: options.terminal,
  }
  const { port1, port2 } = new MessageChannel()
  const ready = new Int32Array(new SharedArrayBuffer(4))
  thread().postMessage({ line, port: port2, ready }, [port2])
  if (Atomics.wait(ready, 0, 0, 300_000) === 'timed-out') throw new Error(`indelible ${args.join(' ')} did not end`)
  const ended = receiveMessageOnPort(port1)?.message as RunResult | undefined
  if (ended === undefined) throw new Error(`indelible ${args.join(' ')} gave no answer`)
  return { ...ended, lines: ended.stdout.split('\n') }
}

/** The same as a process: what standard streams, exit codes and start-up do. */
export const indelibleProcess = (args: readonly string[], options: CommandOptions = {}): CommandEnded => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    encoding: 'utf8',
    input: options.input ?? '',
    maxBuffer: 1 << 28,
    env: environment(options),
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  })
  return { status, stdout, stderr, lines: stdout.split('\n') }
}

const compiled = join(root, '.cache/compiled')

const environment = ({ columns, env }: CommandOptions): CommandLine['env'] => ({
  PATH: process.env['PATH'],
  COLUMNS: String(columns ?? 100),
  NODE_COMPILE_CACHE: compiled,
  ...env,
})

let started: Worker | undefined

/** Lives as long as the tests that call it. */
const thread = (): Worker => {
  if (started !== undefined) return started
  started = new Worker(program('packages/cli/test/command-thread.ts'), {
    execArgv: [],
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
  })
  started.unref()
  return started
}
