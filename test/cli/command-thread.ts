/**
 * A thread that runs command lines, one after the other, for tests that want what a process would give and not the
 * process. It runs the function that the program runs, with streams, environment and folder of its own.
 */
import { enableCompileCache } from 'node:module'
import { Readable, Writable } from 'node:stream'
import { parentPort, type MessagePort } from 'node:worker_threads'

export interface CommandLine {
  readonly args: readonly string[]
  readonly input: string | Uint8Array
  readonly env: { readonly [name: string]: string | undefined }
  readonly cwd: string
  /** Whether standard output shows colours. */
  readonly colour: boolean
}

export interface Ended {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

const sink = (): { readonly stream: Writable; readonly text: () => string } => {
  const pieces: Buffer[] = []
  const stream = new Writable({
    write: (piece: Buffer, _encoding, done) => {
      pieces.push(piece)
      done()
    },
  })
  return { stream, text: () => Buffer.concat(pieces).toString('utf8') }
}

const run = async ({ args, input, env, cwd, colour }: CommandLine): Promise<Ended> => {
  // What drivers and clients look up themselves.
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value
  const [stdout, stderr] = [sink(), sink()]
  const status = await import('../../src/cli/command-line.ts')
    .then(({ runCommandLine }) =>
      runCommandLine(args, {
        stdin: Readable.from([Buffer.from(input)]),
        stdout: Object.assign(stdout.stream, { hasColors: () => colour }),
        stderr: stderr.stream,
        env,
        cwd,
        onInterrupt: () => () => undefined,
      }),
    )
    .catch((error: unknown) => {
      stderr.stream.write(error instanceof Error ? (error.stack ?? error.message) : String(error))
      return 1 // as a process that ends with an error
    })
  return { status, stdout: stdout.text(), stderr: stderr.text() }
}

enableCompileCache(process.env['NODE_COMPILE_CACHE'])
parentPort?.on(
  'message',
  async ({ line, port, ready }: { line: CommandLine; port: MessagePort; ready: Int32Array }) => {
    port.postMessage(await run(line))
    port.close()
    Atomics.store(ready, 0, 1)
    Atomics.notify(ready, 0)
  },
)
