/** PgBouncer before the tests' PostgreSQL: Debian's, or the program that INDELIBLE_PGBOUNCER names. */
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answers, freePort } from './postgres-server.ts'

const program = process.env['INDELIBLE_PGBOUNCER'] ?? 'pgbouncer'

/** `1.18`; undefined where there is none. */
export const bouncerVersion: string | undefined = (() => {
  try {
    return /\d+\.\d+/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[0]
  } catch {
    return undefined
  }
})()

/** Prepared statements outlive a transaction from 1.21 on. */
export const hasTransactionMode: boolean = bouncerVersion !== undefined && Number(bouncerVersion.split('.')[1]) >= 21

export interface Bouncer {
  readonly url: string
  readonly stop: () => Promise<void>
}

export const startBouncer = async (server: string, mode: 'session' | 'transaction'): Promise<Bouncer> => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-pgbouncer-'))
  const { hostname, port: behind, username } = new URL(server)
  const port = await freePort()
  const config = join(folder, 'pgbouncer.ini')
  writeFileSync(join(folder, 'users'), `"${username}" ""\n`)
  writeFileSync(
    config,
    `[databases]
* = host=${hostname} port=${behind}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users')}
pool_mode = ${mode}
default_pool_size = 8
${mode === 'transaction' ? 'max_prepared_statements = 100' : ''}
`,
  )
  // PgBouncer refuses to be root, too.
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  if (user.uid !== undefined) {
    chmodSync(folder, 0o755)
    chownSync(folder, user.uid, user.gid)
  }
  const started = spawn(program, [config], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  started.stderr.on('data', (text: Buffer) => (output = (output + text.toString()).slice(-5000)))
  const ended = new Promise((resolve) => started.once('exit', resolve))
  const onExit = (): void => void started.kill('SIGKILL')
  process.once('exit', onExit)
  const url = Object.assign(new URL(server), { port: String(port) }).href
  while (!(await answers(url))) {
    if (started.exitCode !== null) throw new Error(`PgBouncer did not start:\n${output}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    url,
    stop: async () => {
      started.kill('SIGKILL')
      await ended
      process.off('exit', onExit)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
