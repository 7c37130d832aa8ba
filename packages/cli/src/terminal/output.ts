/**
 * The only access to the standard streams: everything that the command prints goes through here,
 * and answers from people come in here. No other file of the command touches a stream.
 *
 * Text from a file, a session or a model is never trusted: characters that move the cursor, change direction
 * or break a line are removed from lines for people, and escaped in JSON. Colors are the only escape sequences
 * written. A text can't forge one, because `paint` marks colors with a word that is random in each run.
 */
import { resolve } from 'node:path'
import type { Interface, ReadLineOptions } from 'node:readline'
import { inspect } from 'node:util'
import { Interrupted, type Style, type Terminal } from './command.ts'
import { createProgress, type Drawing, type Progress } from './progress.ts'
import { escapeUnprintable, wrapHanging, oneLine, printable } from './screen.ts'

/** A stream that text is written to. */
interface Sink extends Drawing {
  readonly write: (text: string, done?: (error?: Error | null) => void) => unknown
  readonly hasColors?: () => boolean
  /** The height of a terminal in lines. */
  readonly rows?: number
}

/** The surroundings of a command: a process, or a test. */
export interface Surroundings {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stdout: Sink
  readonly stderr: Sink
  readonly env: { readonly [name: string]: string | undefined }
  /** The folder that relative paths start from; `.` is the process's own. */
  readonly cwd: string
  /** Call the listener on Ctrl-C, until the returned function is called. */
  readonly onInterrupt: (listener: () => void) => () => void
  /** The time for progress, in milliseconds. Default: the clock. */
  readonly now?: () => number
}

export const terminalOf = (around: Surroundings): Terminal => {
  const { stdin, stdout, stderr, env, cwd, onInterrupt, now = () => Date.now() } = around
  const widthOfSink = (sink: Sink): number => atLeast(30, sink.columns || Number(env['COLUMNS'])) ?? 100
  const columns = widthOfSink(stdout)
  const colour = stdout.hasColors?.() === true && !env['NO_COLOR']
  let mark: string | undefined

  const paint = (style: Style, text: string): string => {
    const codes = colour && style !== 'none' ? inspect.colors[style] : undefined
    if (codes === undefined) return text
    mark ??= crypto.randomUUID()
    return `${mark}${codes[0]};${text}${mark}${codes[1]};`
  }
  /** The final text: `clean` sanitizes each piece, and the marks of `paint` become colors. */
  const renderText = (text: string, clean: (text: string) => string): string => {
    if (mark === undefined) return clean(text) // nothing was painted yet
    return text
      .split(mark)
      .map((piece, index) => {
        if (index === 0) return clean(piece)
        const end = piece.indexOf(';')
        return `\u001b[${piece.slice(0, end)}m${clean(piece.slice(end + 1))}`
      })
      .join('')
  }
  const writeOut = (text: string): Promise<void> => {
    makeRoom()
    return new Promise((done, failed) => void stdout.write(text, (error) => (error ? failed(error) : done())))
  }
  const lines = async (texts: Iterable<string>, clean: (text: string) => string, most?: number): Promise<void> => {
    let pending = ''
    for (const text of texts) {
      const line = renderText(text, clean)
      pending += `${most === undefined ? line : wrapHanging(line, most).join('\n')}\n`
      if (pending.length < 1 << 16) continue
      await writeOut(pending)
      pending = ''
    }
    if (pending !== '') await writeOut(pending)
  }

  // A dumb terminal can't redraw a line.
  const drawing: Drawing = env['TERM'] === 'dumb' ? { write: (text) => stderr.write(text) } : stderr
  const drawn = new Set<Progress>()
  const progress = (label: string, total: number | undefined, unit?: string): Progress => {
    const bar = createProgress(oneLine(label), total, drawing, now, unit)
    drawn.add(bar)
    return {
      ...bar,
      end: () => {
        drawn.delete(bar)
        bar.end()
      },
    }
  }
  /** Pause progress bars, because lines and bars share a screen. */
  const makeRoom = (): void => {
    for (const bar of drawn) bar.pause()
  }

  const tell = (texts: Iterable<string>): void => {
    const most = stderr.isTTY === true ? widthOfSink(stderr) : Infinity
    for (const text of texts) {
      makeRoom()
      stderr.write(`${wrapHanging(renderText(text, printable), most).join('\n')}\n`)
    }
  }
  const damaged = new Set<string>()

  return {
    columns,
    env,
    shows: stdout.isTTY === true,
    watched: stdout.isTTY === true || stderr.isTTY === true,
    input: stdin,
    asks: stdin.isTTY === true,
    paint,
    path: (path) => (cwd === '.' ? path : resolve(cwd, path)),
    print: (texts) => lines(texts, printable, stdout.isTTY === true ? columns : undefined),
    printWhole: (texts) => lines(texts, printable),
    page: async (texts) => {
      const all = [...texts]
      const text = all.map((line) => `${renderText(line, printable)}\n`).join('')
      const isLong =
        all.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / (stdout.columns || 80))), 0) >=
        (stdout.rows || 24)
      if (stdout.isTTY === true && isLong) {
        const { showInPager } = await import('./program.ts')
        if (await showInPager(text, env)) return
      }
      await lines(all, printable)
    },
    printJson: (values) =>
      lines(
        Array.from(values, (value) => JSON.stringify(value)),
        escapeUnprintable,
      ),
    printJsonLines: (texts) => lines(texts, escapeUnprintable),
    tell,
    tellDamage: (texts) => {
      for (const text of texts) {
        if (!damaged.has(text)) tell([text])
        damaged.add(text)
      }
    },
    hasDamage: () => damaged.size > 0,
    tellJson: (value) => void stderr.write(`${escapeUnprintable(JSON.stringify(value))}\n`),
    progress,
    waiting: async (label, work) => {
      const began = now()
      const bar = progress(label, undefined, 's')
      const timer = setInterval(() => bar.at(Math.floor((now() - began) / 1000)), 200)
      try {
        return await work()
      } finally {
        clearInterval(timer)
        bar.end()
      }
    },
    lines: () => createInterface({ input: stdin, output: stdout as unknown as NodeJS.WritableStream }), // a stream: standard input is a terminal
    answerTo: (question) =>
      new Promise((answer, failed) => {
        const reader = createInterface({ input: stdin, output: stderr as unknown as NodeJS.WritableStream })
        reader.on('close', () => answer(undefined))
        reader.on('SIGINT', () => {
          failed(new Interrupted())
          reader.close()
        })
        reader.question(printable(question), (text) => {
          answer(text)
          reader.close()
        })
      }),
    onInterrupt,
  }
}

/** Loaded on demand: few commands ask questions. */
const createInterface = (options: ReadLineOptions): Interface =>
  process.getBuiltinModule('node:readline').createInterface(options)

/** A valid terminal width; 0 means unknown. */
const atLeast = (least: number, columns: number): number | undefined =>
  columns > 0 ? Math.max(least, columns) : undefined
