/** The store and the scope that a command works on. */
import { isLeft } from 'indelible/internal/json'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { faultMessage, FaultError } from 'indelible'
import { evidenceFaultMessage, type AnyEvidenceFault } from '@indelible/evidence'
import type { Head, Store, StoreNotice } from 'indelible/store'
import { storeNoticeText } from 'indelible/internal/store'
import { Misuse, Unreadable, type Call, type Command, type Terminal } from '../terminal/command.ts'
import { countText, shellWord } from '../terminal/screen.ts'
import { storeOptionOf, keyFileOf, openStore, type OpenedStore } from './store.ts'
import type { SearchFault } from 'indelible/search'

export const wholeStoreOption: Command['options'] = {
  store: {
    value: 'PATH',
    help: "the file of the store, or a PostgreSQL database: postgres://USER@HOST/DATABASE?schema=NAME (default: INDELIBLE_STORE, or sessions.db in the user's data folder)",
  },
}

/** The key-file option of every command on sessions. */
const keyFileOption: Command['options'] = {
  'key-file': {
    value: 'FILE',
    help: 'a key file of "indelible encryption new": reads encrypted sessions, and encrypts new ones (default: INDELIBLE_KEY_FILE, or no keys)',
  },
}

export const storeOption: Command['options'] = {
  ...wholeStoreOption,
  ...keyFileOption,
  scope: { value: 'NAME', help: 'the scope of the store; "indelible list --scopes" lists them (default: default)' },
}

export const allScopesOption: Command['options'] = {
  'all-scopes': { help: 'the sessions of every scope of the store' },
}

interface Opening {
  /** Create a missing store. */
  readonly make?: boolean
  /** Without keys, so rows are as stored. */
  readonly bare?: boolean
}

/**
 * Run work with the store that `--store` names, or the user's default one, in the scope that
 * `--scope` names, and close the store.
 */
export const withStore = async <T>(call: Call, how: Opening, work: (store: Store) => Promise<T>): Promise<T> =>
  withWholeStore(call, how, (store) => work(scopeOf(store, call.values['scope'])))

/** The same with each scope of the store if `--all-scopes` is given. */
export const withScopes = async <T>(
  call: Call,
  how: Opening,
  work: (scopes: readonly Store[], all: boolean) => Promise<T>,
): Promise<T> => {
  const all = call.values['all-scopes'] === true
  if (all && call.values['scope'] !== undefined) throw new Misuse('--all-scopes and --scope exclude each other')
  return withWholeStore(call, how, async (store) => work(await scopesOf(store, call.values), all))
}

/** The scopes selected by `--scope` and `--all-scopes`. */
export const scopesOf = async (store: Store, values: Call['values']): Promise<readonly Store[]> => {
  if (values['all-scopes'] !== true) return [scopeOf(store, values['scope'])]
  const names = await valueOrUnreadable(store.scopes())
  if (names === undefined) throw new Unreadable('this kind of store can not list its scopes: name one with --scope')
  return names.map((name) => scopeOf(store, name))
}

/** The same with the keys that a call names, if any. */
export const withKeysOf = async <T>(
  { values, terminal }: Pick<Call, 'values' | 'terminal'>,
  store: Store,
  work: (store: Store) => Promise<T>,
): Promise<T> => {
  const file = keyFileOf(values, terminal)
  if (file === undefined) return work(store)
  const { storeWithKeys } = await import('./key-file.ts')
  const keyed = await storeWithKeys(store, file, terminal)
  try {
    return await work(keyed.store)
  } finally {
    await keyed.close()
  }
}

const withWholeStore = async <T>(
  call: Call,
  { make = false, bare = false }: Opening,
  work: (store: Store) => Promise<T>,
): Promise<T> => {
  const { values, terminal } = call
  const onNotice = (notice: StoreNotice): void => {
    if (notice._tag !== 'DamageFound') terminal.tell([storeNoticeText(notice)]) // the command itself reports damage
  }
  return withOpened(await openStore(storeOptionOf(values, terminal), make, terminal, onNotice), async (store, name) => {
    if (values['store'] === undefined && !informedTerminals.has(terminal)) terminal.tell([`store: ${name}`])
    informedTerminals.add(terminal)
    return bare ? work(store) : withKeysOf(call, store, work)
  })
}

/** Run work with an opened store, and close it. A fault that the work throws, such as for a damaged message, is Unreadable. */
export const withOpened = async <T>(
  { store, name }: OpenedStore,
  work: (store: Store, name: string) => Promise<T>,
): Promise<T> => {
  try {
    return await work(store, name)
  } catch (error) {
    throw unreadableOf(error)
  } finally {
    await valueOrUnreadable(store.close())
  }
}

/** The terminals on which the store's name was already printed, which is done once. */
const informedTerminals = new WeakSet<Terminal>()

/** A scope of a store. Throws Misuse if the name is invalid. */
export const scopeOf = (store: Store, name: unknown): Store => {
  if (typeof name !== 'string' || name === store.scope) return store
  const scoped = store.scoped(name)
  if (isLeft(scoped)) throw new Misuse(`--scope: ${faultMessage(scoped.left)}`)
  return scoped.right
}

/** The value of a task. Throws Unreadable with the fault's sentence. */
export const valueOrUnreadable = async <T>(task: TaskEither<AnyEvidenceFault | SearchFault, T>): Promise<T> => {
  const result = await task()
  if (isLeft(result)) throw new Unreadable(faultText(result.left))
  return result.right
}

/** Unreadable with the sentence of a fault that was thrown, as by reading a damaged message; any other error as it is. */
export const unreadableOf = (error: unknown): unknown =>
  error instanceof FaultError ? new Unreadable(faultText(error.fault as AnyEvidenceFault)) : error

/** A fault as a sentence for a user at a terminal. */
export const faultText = (fault: AnyEvidenceFault | SearchFault): string =>
  fault._tag === 'NoSuchLog'
    ? `this store has no session ${JSON.stringify(fault.id)}; "indelible list" shows its sessions`
    : fault._tag === 'LogExists'
      ? `this store already has a session ${JSON.stringify(fault.id)}; nothing was changed: choose another id`
      : fault._tag === 'BeyondEnd'
        ? `${fault.id}: there is no message ${fault.at}: it has ${countText(fault.size, 'message')}${fault.size === 0 ? '' : `, from 0 to ${fault.size - 1}`}`
        : fault._tag === 'SessionConflict' && fault.len > fault.expectedLen
          ? `session ${JSON.stringify(fault.id)} has grown from ${fault.expectedLen} to ${countText(fault.len, 'message')}, so nothing was appended; "indelible show ${shellWord(fault.id)} --from ${fault.expectedLen}" prints the new ones`
          : fault._tag === 'NoKey'
            ? `${faultMessage(fault)}${fault.reason.includes('without keys') ? ': --key-file FILE' : ''}`
            : fault._tag === 'EmptyQuery'
              ? faultMessage(fault)
              : evidenceFaultMessage(fault)

/** A given position, a negative one counted from the end. Throws Unreadable if there is no such message. */
export const positionIn = (name: string, len: number, at: number, otherwise = ''): number => {
  const position = at < 0 ? len + at : at
  if (position >= 0 && position < len) return position
  throw new Unreadable(
    `${name}: there is no message ${at}: ${len === 0 ? 'there are none' : `there are ${countText(len, 'message')}, from 0 to ${len - 1}`}${otherwise}`,
  )
}

/** The SESSION argument of a command, with at most `more` further arguments. Throws Misuse. */
export const sessionOfCall = (command: string, { positionals }: Call, more = 0): string => {
  const [id] = positionals
  if (id === undefined || id === '')
    throw new Misuse(`${command} needs a SESSION: its id, as "indelible list" shows it`)
  if (positionals.length > 1 + more)
    throw new Misuse(
      `${command} takes ${more === 0 ? 'one SESSION' : `a SESSION and ${more} more`}, but got ${positionals.length}: ${positionals.join(', ')}`,
    )
  return id
}

/** The same for a command that only reads; undefined for the latest session of the store. Throws Misuse. */
export const sessionToRead = (command: string, call: Call, more = 0): string | undefined =>
  call.positionals.length === 0 ? undefined : sessionOfCall(command, call, more)

/** A head as one word: its size, a colon, its root. */
export const headText = ({ size, root }: Head): string => `${size}:${root}`

/** A head: short on a terminal, complete for a program. */
export const headForTerminal = (head: Head, { shows }: Pick<Terminal, 'shows'>): string =>
  shows ? `${head.size}:${head.root.slice(0, shortRoot)}…` : headText(head)

/** Enough of a root to recognize it at a glance; to compare, print the whole root. */
const shortRoot = 12

/** The head given as an option. Throws Misuse. */
export const headOfOption = (value: unknown, option = '--head'): Head | undefined => {
  if (value === undefined) return undefined
  const [, size, root] = (typeof value === 'string' ? /^(\d{1,15}):([0-9a-f]+)(?:…|\.\.\.)?$/.exec(value) : null) ?? []
  if (size !== undefined && root !== undefined && root.length < 64)
    throw new Misuse(
      `${option} takes a whole head, but this one is shortened; "indelible prove SESSION --full" prints all of it`,
    )
  if (size === undefined || root?.length !== 64)
    throw new Misuse(`${option} takes a head as "indelible prove SESSION" prints it: SIZE:ROOT`)
  return { size: Number(size), root }
}
