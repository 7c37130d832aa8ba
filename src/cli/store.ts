/** The store that the commands keep sessions in: a file of the user's, unless another is named. */
import { faultMessage } from '../index.ts'
import { mkdirSync } from 'node:fs'
import { homedir, platform as platformHere } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { isLeft } from '../json/index.ts'
import { type OnNotice, type Store, type StoreFault } from '../store/index.ts'
import { Misuse, Unreadable, type Terminal } from './command.ts'

/**
 * Where sessions are kept if no `--store` is given.
 *
 * Source  XDG Base Directory Specification 0.8; Apple's and Microsoft's places for data of applications
 */
export const defaultStorePath = (
  env: Terminal['env'],
  platform: string = platformHere(),
  home: string = (platform !== 'win32' && env['HOME']) || homedir(),
): string => {
  const xdg = env['XDG_DATA_HOME']
  const usual =
    platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : platform === 'win32'
        ? (env['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local'))
        : join(home, '.local', 'share')
  // The specification has it that what is not absolute is to be ignored.
  return join(xdg !== undefined && isAbsolute(xdg) ? xdg : usual, 'indelible', 'sessions.db')
}

export interface OpenedStore {
  readonly store: Store
  /** What to call it to the user: what `--store` takes, without a password. */
  readonly name: string
}

/** Whether a store is named by where its server is, and not by a path. Throws Misuse, on what is neither. */
export const isAddress = (given: string): boolean => {
  const [scheme] = /^[a-z][a-z0-9+.-]+(?=:\/)/i.exec(given) ?? [] // of two letters and more: C:/ is a drive
  if (scheme === undefined) return false
  if (!/^postgres(?:ql)?$/i.test(scheme))
    throw new Misuse(`--store takes a path or postgres://USER@HOST:PORT/DATABASE; ${scheme}: is neither`)
  if (!URL.canParse(given) || !/^[a-z]+:\/\//i.test(given))
    throw new Misuse(
      'not a valid address; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, with all but letters and digits of USER and PASSWORD percent-encoded',
    )
  return true
}

/** The store that `--store` names, or the default one; one that is not there is made only if `make` says so. Throws Unreadable. */
export const openStore = async (
  given: unknown,
  make: boolean,
  terminal: Terminal,
  onNotice: OnNotice = () => {},
): Promise<OpenedStore> => {
  if (typeof given === 'string' && isAddress(given)) return openPostgres(given, make)
  const path = typeof given === 'string' ? terminal.path(given) : defaultStorePath(terminal.env)
  if (make && typeof given !== 'string') mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const { sqliteStore } = await import('../store/sqlite/index.ts')
  const opened = await sqliteStore({ path, create: make, onNotice })()
  if (isLeft(opened)) throw unopened(opened.left, path)
  return { store: opened.right, name: path }
}

const openPostgres = async (given: string, make: boolean): Promise<OpenedStore> => {
  const url = new URL(given)
  const schema = url.searchParams.get('schema')
  const { postgresStore } = await import('../store/postgres/index.ts').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Unreadable(
      'a store in PostgreSQL needs the package pg, which is not installed; install it beside indelible: npm install pg',
    )
  })
  const opened = await postgresStore({ connectionString: given, create: make })()
  const name = `postgres://${url.username === '' ? '' : `${url.username}@`}${url.host}${url.pathname}${schema === null ? '' : `?schema=${encodeURIComponent(schema)}`}` // without the password
  if (isLeft(opened)) throw unopened(opened.left, name)
  return { store: opened.right, name }
}

const unopened = (fault: StoreFault, name: string): Unreadable =>
  new Unreadable(
    fault._tag === 'NoStore'
      ? `${name}: this store does not exist; "indelible import FILE" creates it`
      : faultMessage(fault),
  )
