/**
 * `npm run engines`: the workflows of this folder on real engines. What an engine needs and this machine lacks leaves it out,
 * with a line that says so; a test that fails is a failure.
 *
 * The Temporal server is built from the Go module proxy once, into the user's cache.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { install } from '../scripts/install.ts'

const here = import.meta.dirname
const root = join(here, '..')
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const seconds = (from: number): string => `${((Date.now() - from) / 1000).toFixed(0)} s`

/** Runs a program; true, if it ended well. What it says is shown if it did not. */
const quietly = (command: string, args: readonly string[], cwd: string, timeout: number): boolean => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout })
  if (status !== 0) say(`${command} ${args.join(' ')}\n${(stdout ?? '').slice(-2000)}${(stderr ?? '').slice(-2000)}`)
  return status === 0
}

const has = (command: string, arg: string): boolean => spawnSync(command, [arg], { stdio: 'ignore' }).status === 0

/** The server's binary, built if it is not in the cache; or why there is none. */
const temporalServer = (): { readonly binary: string } | { readonly problem: string } => {
  const source = join(here, 'temporal/server')
  const digest = createHash('sha256')
  for (const file of ['go.mod', 'go.sum', 'main.go']) digest.update(readFileSync(join(source, file)))
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'indelible')
  const binary = join(cache, `temporal-server-${digest.digest('hex').slice(0, 16)}`)
  if (existsSync(binary)) return { binary }
  if (!has('go', 'version')) return { problem: 'its server is built with Go, which is not installed' }
  say('building the Temporal server, once: two to ten minutes')
  const from = Date.now()
  mkdirSync(cache, { recursive: true })
  const made = `${binary}.${process.pid}`
  if (!quietly('go', ['build', '-ldflags=-s -w', '-o', made, '.'], source, 30 * 60_000))
    return { problem: `its server could not be built in ${seconds(from)}; a build may take 30 minutes` }
  renameSync(made, binary)
  say(`built in ${seconds(from)}`)
  return { binary }
}

const from = Date.now()
if (!quietly(process.execPath, ['scripts/build.ts'], root, 600_000)) process.exit(1)
const failed = install(here)
if (failed !== undefined) {
  say(`${failed}\nleft out: Temporal, Workflow DevKit and Redis (their packages could not be installed)`)
  process.exit(0)
}
const server = temporalServer()
if ('problem' in server) say(`left out: Temporal (${server.problem})`)
if (!has('redis-server', '--version')) say('left out: Redis (there is no redis-server)')
const typed = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', here], { stdio: 'inherit' }).status === 0
const { status } = spawnSync(
  join(root, 'node_modules/.bin/vitest'),
  ['run', '--config', join(here, 'vitest.config.ts'), ...process.argv.slice(2)],
  {
    cwd: here,
    stdio: 'inherit',
    env: { ...process.env, ...('binary' in server && { TEMPORAL_SERVER: server.binary }) },
  },
)
say(`engines: ${seconds(from)}`)
process.exitCode = typed ? (status ?? 1) : 1
