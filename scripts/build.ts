/**
 * Build the package: plain `tsc` into an empty `dist`, and the page of `indelible view` beside it. With `--no-check` types are
 * not checked on the way.
 */
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './run.ts'

rmSync(join(root, 'dist'), { recursive: true, force: true })
const unchecked = process.argv.includes('--no-check') ? ['--noCheck'] : []
if (!run('tsc', ['-p', 'tsconfig.build.json', ...unchecked])) process.exit(1)
if (!run('vite', ['build', 'page'])) process.exit(1)
chmodSync(join(root, 'dist/cli/main.js'), 0o755)
