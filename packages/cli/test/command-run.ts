/** A command line run in this thread, with streams, environment and folder of its own. */
import { Readable, Writable } from 'node:stream'

export interface CommandLine {
  readonly args: readonly string[]
  readonly input?: string | Uint8Array
  readonly env?: { readonly [name: string]: string | undefined } | undefined
  readonly cwd?: string
  /** Whether standard output shows colours. */
  readonly colour?: boolean
  /** The columns of a terminal that shows both outputs. Default: pipes. */
  readonly terminal?: number | undefined
  /** Whether `input` is typed at a terminal. */
  readonly typed?: boolean
  /** The time for progress. Default: it stands still, so that how long a test takes is not in what it sees. */
  readonly now?: () => number
}

export interface RunResult {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

interface TextSink {
  readonly stream: Writable
  readonly text: () => string
  /** How many writes that somebody waits for are not done. */
  readonly pending: () => number
}

/** What is written is there at once, but a write is done only some turns later, as in a pipe. */
const sink = (): TextSink => {
  const pieces: Buffer[] = []
  let pending = 0
  const stream = new Writable({
    write: (piece: Buffer, _encoding, done) => {
      pieces.push(piece)
      done()
    },
  })
  const write = stream.write.bind(stream) as (text: string, done?: () => void) => boolean
  const after = (turns: number, done: () => void): void =>
    void setImmediate(() => (turns === 0 ? done() : after(turns - 1, done)))
  stream.write = (text: string, done?: unknown): boolean => {
    if (typeof done !== 'function') return write(text)
    pending += 1
    return write(text, () =>
      after(4, () => {
        pending -= 1
        done()
      }),
    )
  }
  return { stream, text: () => Buffer.concat(pieces).toString('utf8'), pending: () => pending }
}

export const runCommand = async (line: CommandLine): Promise<RunResult> => {
  const { args, input = '', env = {}, cwd = '.', colour = false, terminal, typed = false, now = () => 0 } = line
  const [stdout, stderr] = [sink(), sink()]
  const shown = terminal === undefined ? {} : { isTTY: true, columns: terminal, rows: 1000 }
  const status = await import('../src/command-line.ts')
    .then(({ runCommandLine }) =>
      runCommandLine(args, {
        stdin: Object.assign(Readable.from([Buffer.from(input)]), { isTTY: typed }),
        stdout: Object.assign(stdout.stream, { hasColors: () => colour }, shown),
        stderr: Object.assign(stderr.stream, shown),
        env,
        cwd,
        onInterrupt: () => () => undefined,
        now,
      }),
    )
    .catch((error: unknown) => {
      stderr.stream.write(error instanceof Error ? (error.stack ?? error.message) : String(error))
      return 1 // as a process that ends with an error
    })
  // Its output could be cut off, and a failure to write it would not be its own.
  if (stdout.pending() > 0)
    return { status: 1, stdout: '', stderr: `indelible ${args.join(' ')} ended before its output was written` }
  return { status, stdout: stdout.text(), stderr: stderr.text() }
}
