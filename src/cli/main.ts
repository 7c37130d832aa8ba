#!/usr/bin/env node
/** The program `indelible`: a command line in a process of its own. */

// Before anything is loaded: an older Node fails while it loads the rest, with an error that doesn't name the cause.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 16)) {
  process.stderr.write(`indelible: needs Node 22.16 or later, and this is ${process.versions.node}\n`)
  process.exit(1)
}
const { runCommandLine } = await import('./command-line.ts')

// Whoever reads our output may stop reading (`| head`). That ends the command, and is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})
// Nor is it one where nobody reads what is told beside it: the command goes on.
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
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
