/** The suites of `adapters/`, which need packages that are too large for `npm ci`. A package that can't be had is named. */
import { join } from 'node:path'
import { output, root, run } from './run.ts'

const folder = join(root, 'adapters')
try {
  output('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], folder)
} catch {
  process.stdout.write('left out: the suites of adapters/ (their packages could not be installed)\n')
  process.exit(0)
}
const fine =
  run('tsc', ['-p', 'tsconfig.json'], folder) && run('vitest', ['run', '--config', 'vitest.config.ts'], folder)
process.exit(fine ? 0 : 1)
