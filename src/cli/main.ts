#!/usr/bin/env node
/** The program `indelible`: a command line in a process of its own. */
import { runCommandLine } from './command-line.ts'

// Whoever reads our output may stop reading (`| head`). That ends the command, and is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

try {
  process.exitCode = await runCommandLine(process.argv.slice(2), {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: '.',
    onInterrupt: (listener) => {
      process.on('SIGINT', listener)
      return () => void process.off('SIGINT', listener)
    },
  })
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
}
