/** The spools of recorders next to a store. */
import { mkdirSync, realpathSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { dirname, join } from 'node:path'
import { isLeft } from 'indelible/internal/json'
import { digestOf } from 'indelible/internal/proof'
import { isSpooledBefore, replayLeftSpools, type SpoolKeys } from '@indelible/recorder/internal/proxy'
import type { Store } from 'indelible/store'
import { Unreadable, type Call, type Terminal } from '../terminal/command.ts'
import { readKeyFile } from '../sources/key-file.ts'
import { Recorders } from './recorders.ts'
import { countText } from '../terminal/screen.ts'
import { defaultStorePath, fileOfStore, keyFileOf, storeOptionOf } from '../sources/store.ts'

/**
 * The path that the spools of a store begin with. Those of a database are in the user's data folder, under the
 * database's identity, which each spelling of its address has; undefined if that can't be written.
 */
export const spoolPathPrefix = async (values: Call['values'], terminal: Terminal): Promise<string | undefined> => {
  const file = fileOfStore(values, terminal)
  const folder = dirname(defaultStorePath(terminal.env))
  try {
    if (file !== undefined) return realpathSync(file)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const identity = await identityOf(storeOptionOf(values, terminal) ?? '')
    return join(realpathSync(folder), `postgres-${digestOf(identity).slice(0, 16)}`)
  } catch {
    return undefined
  }
}

/** By address: a command asks each database once. */
const identities = new Map<string, Promise<string | undefined>>()

const identityOf = async (address: string): Promise<string> => {
  const { storeIdentity } = await import('@indelible/postgres')
  const identity = identities.get(address) ?? storeIdentity(address)
  identities.set(address, identity)
  return (await identity) ?? databaseOf(address)
}

/** The database and schema of an address, without the user: erasure must find spools of other roles' recorders. */
const databaseOf = (address: string): string => {
  const { hostname, port, pathname, username, searchParams } = new URL(address)
  return JSON.stringify([
    (searchParams.get('host') ?? hostname).toLowerCase(),
    searchParams.get('port') ?? (port || '5432'),
    pathname.length > 1 ? pathname : `/${username}`,
    searchParams.get('schema') ?? 'indelible',
  ])
}

/** The keys for a spool, if the call names a key file. */
export const spoolKeys = ({ values, terminal }: Call): SpoolKeys | undefined => {
  const path = keyFileOf(values, terminal)
  if (path === undefined) return undefined
  const { keys } = readKeyFile(path, terminal)
  const [current] = keys
  return current && { current, byId: (id) => keys.find((key) => key.id === id)?.key }
}

/** Record the calls in the spools of killed recorders. Returns the files that can't be recorded, with reasons. */
export const recordLeftSpools = async (
  store: Store,
  call: Call,
  onFile: (path: string | undefined) => void = () => {},
): Promise<readonly string[]> => {
  const near = await spoolPathPrefix(call.values, call.terminal)
  if (near === undefined) return []
  let now: () => number = Date.now
  const recorders = new Recorders(store, call, {
    sample: Number(call.values['sample'] ?? 100),
    now: () => now(),
    marks: false,
  })
  const failed: string[] = []
  const calls = await replayLeftSpools({
    near,
    keys: spoolKeys(call),
    storeOf: (scope) => {
      const scoped = store.scoped(scope)
      return isLeft(scoped) ? undefined : scoped.right
    },
    recorderOf: (scope, clock) => {
      now = clock
      return recorders.of(scope)
    },
    onFile,
    onNotice: (reason) => failed.push(reason),
  })
  await recorders.settled()
  if (calls > 0) call.terminal.tell([`indelible: ${countText(calls, 'call')} of a recorder that was killed: recorded`])
  return failed
}

/**
 * Wait until no spool has a call from before now: its texts are then in the store, or gone.
 *
 * Throws  Unreadable with `otherwise`, such as "nothing was erased", if a file of a killed recorder can't be recorded
 */
export const waitForSpools = async (store: Store, call: Call, otherwise: string): Promise<void> => {
  const near = await spoolPathPrefix(call.values, call.terminal)
  const now = Date.now()
  for (let isReported = false; ; isReported = true) {
    const [failed] = await recordLeftSpools(store, call)
    if (failed !== undefined) throw new Unreadable(`${failed}; ${otherwise}`)
    if (near === undefined || !isSpooledBefore(near, now)) return
    if (!isReported) call.terminal.tell(['waiting for a recorder with calls that are not stored yet'])
    await delay(200)
  }
}
