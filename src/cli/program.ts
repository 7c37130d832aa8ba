/** Another program that has the terminal for itself, and what tells this one to end. */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { Unreadable, type Terminal } from './command.ts'

/** Tell of SIGTERM and SIGHUP, until what this gives is called. */
export const onTerminate = (listener: (signal: 'SIGTERM' | 'SIGHUP') => void): (() => void) => {
  process.on('SIGTERM', listener)
  process.on('SIGHUP', listener)
  return () => {
    process.off('SIGTERM', listener)
    process.off('SIGHUP', listener)
  }
}

/**
 * Run a program with our standard streams, and give its exit code. A terminal sends Ctrl-C to both; the program decides
 * what it means. Other signals are handed on.
 *
 * @throws Unreadable if it can't be run
 */
export const programEnded = (
  command: string,
  args: readonly string[],
  env: { readonly [name: string]: string | undefined },
  { onInterrupt }: Pick<Terminal, 'onInterrupt'>,
): Promise<number> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', env })
    const ends = [onInterrupt(() => {}), onTerminate((signal) => void child.kill(signal))]
    const over = (): void => {
      for (const end of ends) end()
    }
    child.on('error', ({ message }) => {
      over()
      reject(new Unreadable(`${command} can't be run: ${message}`))
    })
    child.on('exit', (code, signal) => {
      over()
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
    })
  })
