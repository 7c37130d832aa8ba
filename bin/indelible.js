#!/usr/bin/env node
/** The command `indelible` is the package @indelible/cli, so that the library brings neither its page nor its dependencies. */
const address = (() => {
  try {
    return new URL('dist/bin/main.js', import.meta.resolve('@indelible/cli/package.json'))
  } catch {
    return undefined
  }
})()
const { existsSync } = await import('node:fs')
if (address !== undefined && existsSync(address)) await import(address.href)
else {
  process.stderr
    .write(`indelible: ${address ? 'the command is not built; run this first' : 'the command is a package of its own; install it first'}:

  ${address ? 'npm run build' : 'npm install @indelible/cli'}
`)
  process.exitCode = 127
}
