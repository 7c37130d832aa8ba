/** Runs another program on this terminal, and handles termination signals. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, platform, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { Unreadable, type Terminal } from './command.ts'
import { endTree } from './process-tree.ts'

/**
 * Call the listener on SIGTERM and SIGHUP, until the returned function is called. npm (`npx indelible`) sends a SIGTERM
 * to the shell in between only, which dies of it: there the death of our parent is a SIGTERM, too.
 */
const onTerminate = (listener: (signal: 'SIGTERM' | 'SIGHUP') => void): (() => void) => {
  process.on('SIGTERM', listener)
  process.on('SIGHUP', listener)
  const { ppid, env } = process
  const watch = setInterval(() => {
    if (process.ppid === ppid) return
    clearInterval(watch)
    listener('SIGTERM')
  }, 500).unref()
  if (env['npm_command'] === undefined) clearInterval(watch)
  return () => {
    clearInterval(watch)
    process.off('SIGTERM', listener)
    process.off('SIGHUP', listener)
  }
}

/** Call the listener on Ctrl-C and when the process is terminated, until the returned function is called. */
export const onStop = ({ onInterrupt }: Pick<Terminal, 'onInterrupt'>, listener: () => void): (() => void) => {
  const ends = [onInterrupt(listener), onTerminate(() => listener())]
  return () => {
    for (const end of ends) end()
  }
}

/**
 * Run a program with our standard streams, and resolve to its exit code. A terminal sends Ctrl-C to
 * both processes, and the program decides what it means. Other signals are forwarded.
 *
 * @param end ends the program, and all that it has started: with SIGTERM, and with SIGKILL if that does not help
 * @throws Unreadable with exit code 127 if there is no such program, and 126 if it can't be run
 */
export const runProgram = (
  command: string,
  args: readonly string[],
  env: { readonly [name: string]: string | undefined },
  { onInterrupt }: Pick<Terminal, 'onInterrupt'>,
  cwd?: string,
  end?: AbortSignal,
): Promise<number> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', env, ...(cwd !== undefined && { cwd }) })
    const ends = [onInterrupt(() => {}), onTerminate((signal) => void child.kill(signal))]
    let ended: Promise<void> | undefined
    end?.addEventListener('abort', () => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) ended = endTree(child.pid)
    })
    const over = (): void => {
      for (const end of ends) end()
    }
    child.on('error', ({ code, errno, message }: NodeJS.ErrnoException) => {
      over()
      const isMissing = code === 'ENOENT'
      const reason = isMissing
        ? 'there is no such program'
        : errno === undefined
          ? message
          : getSystemErrorMessage(errno)
      reject(new Unreadable(`${command} can't be run: ${reason}`, isMissing ? 127 : 126))
    })
    child.on('exit', (code, signal) => {
      const done = (): void => {
        over()
        resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
      }
      if (ended === undefined) done()
      else void ended.finally(done)
    })
  })

/** Run a program without a terminal, and return its standard output and standard error. */
export const programOutput = (
  command: string,
  args: readonly string[],
  env: Terminal['env'],
  cwd: string,
): Promise<string> =>
  new Promise((resolve) => {
    execFile(command, args, { cwd, env, encoding: 'utf8' }, (_error, out, err) => resolve(`${out}${err}`))
  })

/** Run a program to its end, and return what it printed, with its exit code; with an error if it can't be run. */
export const programResult = (
  command: string,
  args: readonly string[],
  env: Terminal['env'],
  input = '',
): { readonly status: number | null; readonly stdout: string; readonly stderr: string; readonly error?: Error } =>
  spawnSync(command, args, { env, encoding: 'utf8', input, timeout: 10_000 })

/** The words that start this command in another process: Node, its options, and the path of this program. */
export const ownProgram = (): readonly string[] => [
  process.execPath,
  ...process.execArgv,
  resolve(process.argv[1] ?? 'indelible'),
]

/** Whether a pager showed a text: PAGER, or else `less`, which quits by itself if the text fits the screen. */
export const showInPager = (text: string, env: Terminal['env']): Promise<boolean> =>
  new Promise((resolve) => {
    const pager = env['PAGER'] || 'less'
    if (pager === 'cat') return resolve(false)
    const ignore = (): void => {} // the pager handles Ctrl-C
    process.on('SIGINT', ignore)
    const child = spawn(pager, {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { LESS: 'FRX', LESSCHARSET: 'utf-8', ...env },
    })
    const over = (shown: boolean): void => {
      process.off('SIGINT', ignore)
      resolve(shown)
    }
    child.on('error', () => over(false))
    child.on('close', (code) => over(code !== 126 && code !== 127)) // the shell found no such program
    child.stdin.on('error', () => {}) // a user may quit the pager early
    child.stdin.end(text)
  })

/**
 * Open an address in the browser with the system's own program; does nothing if there is none.
 * Other users can see program arguments, so the program gets a file that only this user can read,
 * which redirects to the address. The returned function removes the file.
 */
export const openInBrowser = (address: string): (() => void) => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-'))
  const file = join(folder, 'view.html')
  const leads = `<meta http-equiv="refresh" content="0; url=${address.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}">`
  writeFileSync(file, `<!doctype html><title>Indelible</title>${leads}\n`, { mode: 0o600 })
  const [command, ...args] = openers[platform()] ?? ['xdg-open']
  const child = spawn(command as string, [...args, file], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
  return () => rmSync(folder, { recursive: true, force: true })
}

const openers: { readonly [system: string]: readonly string[] } = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
