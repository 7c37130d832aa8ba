/** The command as a person runs it: its output, its exit code. In a thread, or as a process where that is the point. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads'
import { root } from '../../../scripts/run.ts'
import { forEachFile } from '../../../test/for-each-file.ts'
import type { CommandLine, RunResult } from './command-run.ts'
import { command as main, program } from '../../../test/programs.ts'

export { main }

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
  const { port, ready } = start(args, options)
  if (Atomics.wait(ready, 0, 0, 300_000) === 'timed-out') throw new Error(`indelible ${args.join(' ')} did not end`)
  const ended = receiveMessageOnPort(port)?.message as RunResult | undefined
  if (ended === undefined) throw new Error(`indelible ${args.join(' ')} gave no answer`)
  return { ...ended, lines: ended.stdout.split('\n') }
}

/** The same, while this thread answers the command's requests. One at a time: a command line has the thread's environment. */
export const indelibleAside = async (args: readonly string[], options: CommandOptions = {}): Promise<CommandEnded> => {
  const { port } = start(args, options)
  const [ended] = (await once(port, 'message')) as unknown as readonly [RunResult]
  return { ...ended, lines: ended.stdout.split('\n') }
}

const start = (args: readonly string[], options: CommandOptions): { port: MessagePort; ready: Int32Array } => {
  const line: CommandLine = {
    args,
    input: options.input ?? '',
    env: environment(options),
    cwd: options.cwd ?? '.',
    colour: options.colour ?? false,
    terminal: options.terminal,
  }
  const { port1: port, port2 } = new MessageChannel()
  const ready = new Int32Array(new SharedArrayBuffer(4))
  thread().postMessage({ line, port: port2, ready }, [port2])
  return { port, ready }
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

/** The home of a user without agents. */
const emptyHome = mkdtempSync(join(tmpdir(), 'indelible-home-'))
const compiled = join(root, '.cache/compiled')

export const environment = ({ columns, env }: CommandOptions = {}): NonNullable<CommandLine['env']> => ({
  PATH: process.env['PATH'],
  HOME: emptyHome, // the agents of who runs the tests are not there
  COLUMNS: String(columns ?? 100),
  NODE_COMPILE_CACHE: compiled,
  ...env,
})

let started: Worker | undefined
/** Whether it ended: this thread may wait for it and not hear of that. */
const ended = new Int32Array(new SharedArrayBuffer(4))

/** Lives as long as the tests that call it. */
const thread = (): Worker => {
  if (started !== undefined && Atomics.exchange(ended, 0, 0) === 0) return started
  started = new Worker(program('packages/cli/test/command-thread.ts'), {
    execArgv: [],
    workerData: ended,
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
  })
  started.unref()
  return started
}
