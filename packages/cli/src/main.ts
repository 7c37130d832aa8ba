#!/usr/bin/env node
/** The program `indelible`: runs a command line in this process. */

// Before loading anything: an older Node would fail during loading, with an error that doesn't name the cause.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 16) || major === 23) {
  process.stderr.write(`indelible: needs Node 22.16 or later, but not 23; this is ${process.versions.node}\n`)
  process.exit(1)
}

// Keep Node's compile cache for the next start, in this user's cache folder, because another user's
// cache could contain other code.
const { env, platform } = process
const defaultCacheFolder = env['HOME'] && `${env['HOME']}/${platform === 'darwin' ? 'Library/Caches' : '.cache'}`
const cacheFolder = env['XDG_CACHE_HOME'] || (platform === 'win32' ? env['LOCALAPPDATA'] : defaultCacheFolder) || ''
const { isAbsolute, join } = await import('node:path')
const { enableCompileCache } = await import('node:module')
if (isAbsolute(cacheFolder)) enableCompileCache(join(cacheFolder, 'indelible'))

const { getSystemErrorMessage } = await import('node:util')
const { runCommandLine } = await import('./command-line.ts')

// The reader of the output may stop reading (`| head`). That ends the command without a failure;
// any other error is a failure.
process.stdout.on('error', ({ code, errno, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') process.exit(0)
  const reason = errno === undefined ? message : getSystemErrorMessage(errno)
  process.stderr.write(`indelible: can't write the output: ${reason}\n`)
  process.exit(1)
})
// If standard error can't be written, nothing can be reported: the command continues.
process.stderr.on('error', () => {})

try {
  process.exitCode = await runCommandLine(process.argv.slice(2), {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env,
    cwd: '.',
    onInterrupt: (listener) => {
      process.on('SIGINT', listener)
      return () => void process.off('SIGINT', listener)
    },
  })
} catch (error) {
  if (error !== process.stdout.errored) throw error // the handler above ends the process
}
