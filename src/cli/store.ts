/** The store that the commands keep sessions in: a file of the user's, unless another is named. */
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { storeFaultText, type Store } from '../store/index.ts'
import { Unreadable } from './command.ts'

/**
 * Where sessions are kept if no `--store` is given.
 *
 * Source  XDG Base Directory Specification 0.8; Apple's and Microsoft's places for data of applications
 */
export const defaultStorePath = (env: NodeJS.ProcessEnv = process.env, platform: string = process.platform, home: string = homedir()): string => {
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
  /** What to call it to the user. */
  readonly name: string
}

/** Whether a store is named by where its server is, and not by a path. */
export const isAddress = (given: string): boolean => /^postgres(?:ql)?:\/\//.test(given)

/** The store that `--store` names, or the default one. Throws Unreadable. */
export const openStore = async (given: unknown): Promise<OpenedStore> => {
  if (typeof given === 'string' && isAddress(given)) return openPostgres(given)
  const path = typeof given === 'string' ? given : defaultStorePath()
  if (typeof given !== 'string') mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const { sqliteStore } = await import('../store/sqlite/index.ts')
  const opened = await sqliteStore({ path })()
  if (isLeft(opened)) throw new Unreadable(storeFaultText(opened.left))
  return { store: opened.right, name: path }
}

/** `?schema=NAME` chooses the schema; the other parameters are the driver's. */
const openPostgres = async (given: string): Promise<OpenedStore> => {
  if (!URL.canParse(given)) throw new Unreadable('--store takes a path or postgres://USER:PASSWORD@HOST:PORT/DATABASE, and this is no such address')
  const url = new URL(given)
  const schema = url.searchParams.get('schema')
  url.searchParams.delete('schema')
  const { postgresStore } = await import('../store/postgres/index.ts').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Unreadable('a store in PostgreSQL needs the package pg, which is not installed; install it beside indelible: npm install pg')
  })
  const opened = await postgresStore({ connectionString: url.href, ...(schema !== null && { schema }) })()
  if (isLeft(opened)) throw new Unreadable(storeFaultText(opened.left))
  return { store: opened.right, name: `postgres://${url.host}${url.pathname}` } // without the password
}
