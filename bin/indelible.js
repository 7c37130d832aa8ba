#!/usr/bin/env node
/** The command `indelible` is the package @indelible/cli, so that the library brings none of its dependencies. */
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
  process.stderr.write(
    address
      ? 'indelible: the command is not built; run this first:\n\n  npm run build\n'
      : 'indelible: the command is in the package @indelible/cli, which is not installed; README.md says how to install it\n',
  )
  process.exitCode = 127
}
