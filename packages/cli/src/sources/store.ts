/** Finds the store that the commands use: the user's default file, unless another is named. */
import { faultMessage } from 'indelible'
import { closeSync, createReadStream, existsSync, mkdirSync, openSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { platform as platformHere } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { isLeft } from 'indelible/internal/json'
import type { Store, StoreFault } from 'indelible/store'
import { Misuse, Unreadable, type Call, type Terminal } from '../terminal/command.ts'
import { shellWord } from '../terminal/screen.ts'
import { homeOf } from './home.ts'
import type { OnNotice } from 'indelible/internal/store'

/**
 * The default store if `--store` is not given.
 *
 * Source  XDG Base Directory Specification 0.8; Apple's and Microsoft's folders for application data
 */
export const defaultStorePath = (
  env: Terminal['env'],
  platform: string = platformHere(),
  home: string = homeOf(platform === 'win32' ? {} : env),
): string => {
  const xdg = env['XDG_DATA_HOME']
  const usual =
    platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : platform === 'win32'
        ? (env['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local'))
        : join(home, '.local', 'share')
  // According to the specification, relative paths are ignored.
  return join(xdg !== undefined && isAbsolute(xdg) ? xdg : usual, 'indelible', 'sessions.db')
}

/** The store given by the option or by INDELIBLE_STORE; undefined for the user's default. Throws Misuse. */
export const storeOptionOf = (values: Call['values'], { env }: Pick<Terminal, 'env'>): string | undefined => {
  const { store } = values
  if (store === '') throw new Misuse('--store takes a PATH')
  return typeof store === 'string' ? store : env['INDELIBLE_STORE'] || undefined
}

/** The path of the store file of a call; undefined if the store is in PostgreSQL. Throws Misuse. */
export const fileOfStore = (values: Call['values'], terminal: Pick<Terminal, 'env' | 'path'>): string | undefined => {
  const location = storeOptionOf(values, terminal)
  if (location === undefined) return defaultStorePath(terminal.env)
  return isAddress(location) ? undefined : terminal.path(location)
}

/** The same. Throws Misuse with `otherwise` if the store is in PostgreSQL. */
export const storeFile = (values: Call['values'], terminal: Terminal, otherwise: string): string => {
  const path = fileOfStore(values, terminal)
  if (path === undefined) throw new Misuse(otherwise)
  return path
}

/** The key file given by the option or by INDELIBLE_KEY_FILE. */
export const keyFileOf = (values: Call['values'], { env }: Pick<Terminal, 'env'>): string | undefined => {
  const location = values['key-file']
  if (location === '') throw new Misuse('--key-file takes a FILE')
  return typeof location === 'string' ? location : env['INDELIBLE_KEY_FILE'] || undefined
}

export interface OpenedStore {
  readonly store: Store
  /** The name for display: the value of `--store`, without a password. */
  readonly name: string
}

/** Whether a store is given as a server address rather than a path. Throws Misuse if it is neither. */
export const isAddress = (location: string): boolean => {
  const [scheme] = /^[a-z][a-z0-9+.-]+(?=:\/)/i.exec(location) ?? [] // at least two letters: C:/ is a drive
  if (scheme === undefined) return false
  if (!/^postgres(?:ql)?$/i.test(scheme))
    throw new Misuse(`--store takes a path or postgres://USER@HOST:PORT/DATABASE; ${scheme}: is neither`)
  if (!URL.canParse(location) || !/^[a-z]+:\/\//i.test(location))
    throw new Misuse(
      'not a valid address; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, with all but letters and digits of USER and PASSWORD percent-encoded',
    )
  return true
}

/**
 * The store of a path or an address, or the default one; a missing one is created only if `make` is true. With `read` a
 * file is opened read-only. Throws Unreadable.
 */
export const openStore = async (
  location: string | undefined,
  make: boolean | 'read',
  terminal: Terminal,
  onNotice: OnNotice = () => {},
): Promise<OpenedStore> => {
  if (location !== undefined && isAddress(location)) return openPostgres(location, make === true, terminal)
  const path = location === undefined ? defaultStorePath(terminal.env) : terminal.path(location)
  if (make === true && location === undefined) mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (location !== undefined && !existsSync(dirname(path)))
    throw new Unreadable(`${location}: its folder does not exist`)
  // Opening an empty file would silently turn it into a store.
  const found = await stat(path).catch(() => undefined)
  if (make !== true && found?.isFile() === true && found.size === 0)
    throw new Unreadable(
      `${location ?? path} is empty, but a store never is; if it was a store, restore it from a backup; otherwise "indelible import FILE" turns it into a new one`,
    )
  // Only its owner may read a store; SQLite gives its other files the same mode.
  if (make === true && !existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const { sqliteStore } = await import('indelible/store/sqlite')
  const opened = await sqliteStore({ path, create: make === true, readOnly: make === 'read', onNotice })()
  if (isLeft(opened))
    throw (await notAStore(opened.left, path, location ?? path)) ?? (await openFailure(opened.left, path, terminal))
  return { store: opened.right, name: path }
}

/** Advice for a path that is a conversation or a folder rather than a store. */
const notAStore = async (fault: StoreFault, path: string, location: string): Promise<Unreadable | undefined> => {
  const stats = await stat(path).catch(() => undefined)
  if (stats?.isDirectory() === true) return new Unreadable(`${location} is a folder; expected a store file`)
  if (fault._tag !== 'NotAStore' || stats?.isFile() !== true) return undefined
  const formats = await formatOf(path)
  return formats === undefined
    ? undefined
    : new Unreadable(
        `${location} is a conversation (${formats}), not a store; "indelible show ${shellWord(location)}" prints it, and "indelible import ${shellWord(location)}" stores it as a session`,
      )
}

/** The format of a file that can be read as a conversation. */
const formatOf = async (path: string): Promise<string | undefined> => {
  const { readTranscriptStream } = await import('@indelible/transcripts')
  const { assembleTranscript } = await import('@indelible/transcripts/internal')
  const events = []
  for await (const event of readTranscriptStream(createReadStream(path))) events.push(event)
  const transcript = assembleTranscript(events)
  return isLeft(transcript) ? undefined : transcript.right.format
}

/** The name of a store for display: its path, or its address without a password. Throws Misuse for an invalid address. */
export const storeName = (location: string): string =>
  isAddress(location) ? addressWithoutPassword(location) : location

/** An address for display: the user, the server, the database and the schema. */
const addressWithoutPassword = (location: string): string => {
  const { username, host, pathname, searchParams } = new URL(location)
  const schema = searchParams.get('schema')
  return `postgres://${username === '' ? '' : `${username}@`}${host}${pathname}${schema === null ? '' : `?schema=${encodeURIComponent(schema)}`}`
}

const openPostgres = async (location: string, make: boolean, terminal: Terminal): Promise<OpenedStore> => {
  const { postgresStore } = await import('@indelible/postgres').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Unreadable(
      'a store in PostgreSQL needs the package pg, which is not installed; install it beside indelible: npm install pg',
    )
  })
  const opened = await postgresStore({ connectionString: location, create: make })()
  const name = addressWithoutPassword(location)
  if (isLeft(opened)) throw await openFailure(opened.left, name, terminal)
  return { store: opened.right, name }
}

const openFailure = async (fault: StoreFault, name: string, { env }: Terminal): Promise<Unreadable> => {
  if (fault._tag !== 'NoStore') return new Unreadable(faultMessage(fault))
  const { importAdvice } = await import('./machine-sessions.ts')
  return new Unreadable(
    `${name}: this store does not exist; ${(await importAdvice(env)) ?? '"indelible import FILE" creates it'}`,
  )
}
