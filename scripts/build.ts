/**
 * Build the packages: `tsc` into an empty `dist` each, the library as a bundle for Node, the command as a bundle with its man page, and
 * the page of `indelible view`. With `--no-check` types are not checked on the way.
 */
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { packages } from './packages.ts'
import { root, run } from './run.ts'

for (const { folder } of packages)
  for (const made of ['dist', '.cache/build.tsbuildinfo']) rmSync(join(folder, made), { recursive: true, force: true })
// The command has none: it is only a bundle.
const projects = packages.map(({ folder }) => join(folder, 'tsconfig.build.json')).filter((path) => existsSync(path))
const unchecked = process.argv.includes('--no-check') ? ['--noCheck'] : []
if (!run('tsc', ['--build', ...projects, ...unchecked])) process.exit(1)
if (!run(process.execPath, ['scripts/node-bundle.ts'])) process.exit(1)
if (!run(process.execPath, ['scripts/command-bundle.ts'])) process.exit(1)
if (!run(process.execPath, ['scripts/man-page.ts'])) process.exit(1)
chmodSync(join(root, 'packages/cli/dist/bin/main.js'), 0o755)
if (!run('vite', ['build', 'packages/view/page'])) process.exit(1)
