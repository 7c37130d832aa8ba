/** `--key-file`: the host's keys for stores with encrypted sessions. */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { platform } from 'node:os'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { hostKeyOf, hostKeyText, keyRing, withKeys, type HostKey, type KeyRing } from '@indelible/encryption'
import type { Store } from 'indelible/store'
import { Unreadable, type Terminal } from '../terminal/command.ts'
import { optionFile, unwritable } from './input.ts'
import { isAddress, openStore } from './store.ts'

/** The content of a key file: the keys, current one first, and the store of the session keys. */
export interface KeyFile {
  readonly path: string
  readonly keys: readonly HostKey[]
  readonly keysIn: string | undefined
}

const placeKey = 'keys-in: '

export const keyFileText = ({ keys, keysIn }: Omit<KeyFile, 'path'>): string =>
  [
    '# Keys of encrypted sessions: the first one wraps new session keys. Anyone with this file can read the sessions.',
    ...(keysIn === undefined ? [] : [`${placeKey}${keysIn}`]),
    ...keys.map(hostKeyText),
    '',
  ].join('\n')

/** Read a key file. Throws Unreadable. */
export const readKeyFile = (name: string, terminal: Pick<Terminal, 'path' | 'env'>): KeyFile => {
  const option = terminal.env['INDELIBLE_KEY_FILE'] === name ? 'INDELIBLE_KEY_FILE' : '--key-file'
  const path = terminal.path(name)
  const lines = optionFile(option, name, terminal)
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  const place = lines.find((line) => line.startsWith(placeKey))?.slice(placeKey.length)
  try {
    const keys = lines.filter((line) => !line.startsWith(placeKey)).map(hostKeyOf)
    keyRing(keys)
    // A rotation replaces the file that a link leads to, and not the link.
    return { path: realpathSync(path), keys, keysIn: place === undefined ? undefined : resolvePlace(path, place) }
  } catch (cause) {
    throw new Unreadable(
      `${option} ${name}: is not a key file ("indelible encryption new FILE" creates one): ${(cause as Error).message}`,
    )
  }
}

/** A relative path starts at the key file's folder. */
const resolvePlace = (file: string, place: string): string =>
  /^[a-z]{2,}:\/\//i.test(place) ? place : resolve(file, '..', place)

/**
 * Work on a key file while no other process can change it. `work` receives its current content, and
 * `write` replaces the file.
 *
 * The lock is SQLite's, on FILE.lock: the system releases it when the process dies. Throws Unreadable.
 */
export const changeKeyFile = async <T>(
  name: string,
  terminal: Pick<Terminal, 'path' | 'env'>,
  work: (file: KeyFile, write: (next: KeyFile) => void) => Promise<T>,
): Promise<T> => {
  const { path } = readKeyFile(name, terminal)
  const lock = lockOf(name, path)
  try {
    return await work(readKeyFile(name, terminal), writeKeyFile)
  } finally {
    lock.close()
  }
}

const sqliteBusy = 5

/** Throws Unreadable. */
const lockOf = (name: string, path: string): DatabaseSync => {
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(`${path}.lock`, { timeout: 0 })
    lock.exec('begin exclusive')
    return lock
  } catch (cause) {
    lock?.close()
    throw (cause as { readonly errcode?: unknown }).errcode === sqliteBusy
      ? new Unreadable(
          `${name}: another process is changing it; nothing was changed: try again when that process has ended`,
        )
      : unwritable(`${name}.lock`, cause)
  }
}

/** Replace a key file atomically, even in a power failure. Throws Unreadable. */
const writeKeyFile = (file: KeyFile): void => {
  const next = `${file.path}.new`
  try {
    rmSync(next, { force: true }) // an existing file keeps its permissions
    writeFileSync(next, keyFileText(file), { mode: 0o600, flag: 'wx', flush: true })
    renameSync(next, file.path)
    syncFolder(dirname(file.path))
  } catch (cause) {
    throw unwritable(file.path, cause)
  }
}

/**
 * Write a secret into a new file that only its owner may read. Durable on return.
 *
 * Throws  Unreadable with `otherwise`, such as "keys are never overwritten", if the file exists
 */
export const writeSecret = (name: string, { path }: Pick<Terminal, 'path'>, text: string, otherwise: string): void => {
  try {
    writeFileSync(path(name), text, { mode: 0o600, flag: 'wx', flush: true })
    syncFolder(dirname(path(name)))
  } catch (cause) {
    throw (cause as NodeJS.ErrnoException).code === 'EEXIST'
      ? new Unreadable(`${name} exists already; nothing was written: ${otherwise}`)
      : unwritable(name, cause)
  }
}

/** Make a folder's names durable. Windows can't open folders; NTFS journals names. */
export const syncFolder = (path: string): void => {
  if (platform() === 'win32') return
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/**
 * The key ring of a file, and a function that closes the store of the session keys. That store's
 * file is created only with `make`, because an empty one would hide that the real one is missing.
 */
export const openRing = async (
  file: KeyFile,
  terminal: Terminal,
  make = false,
): Promise<{ readonly ring: KeyRing; readonly close: () => Promise<unknown> }> => {
  if (file.keysIn === undefined) return { ring: keyRing(file.keys), close: async () => undefined }
  if (!isAddress(file.keysIn)) {
    if (!make && !existsSync(file.keysIn))
      throw new Unreadable(
        `${file.keysIn}: does not exist; it has the wrapped keys of ${file.path}, and without it nobody can read the sessions: restore it, or use another key file`,
      )
    makePrivateFile(file.keysIn)
  }
  const { store } = await openStore(file.keysIn, true, terminal)
  return { ring: keyRing(file.keys, { keysIn: store }), close: async () => store.close()() }
}

/**
 * Create a file that only its owner may read; SQLite gives its companion files the same mode. A
 * file that an earlier version created with wider permissions is restricted.
 */
const makePrivateFile = (path: string): void => {
  try {
    closeSync(openSync(path, 'a', 0o600))
    for (const each of [path, `${path}-wal`, `${path}-shm`]) {
      const mode = statSync(each, { throwIfNoEntry: false })?.mode ?? 0
      if ((mode & 0o007) !== 0) chmodSync(each, mode & 0o770)
    }
  } catch {
    return // opening the store reports the problem; the mode of another user's file is not changed
  }
}

export const storeWithKeys = async (
  store: Store,
  path: string,
  terminal: Terminal,
): Promise<{ readonly store: Store; readonly close: () => Promise<unknown> }> => {
  const { ring, close } = await openRing(readKeyFile(path, terminal), terminal)
  return { store: withKeys(store, ring, { plain: 'continue' }), close }
}
