/** Where sessions are kept: the store that a command works on. */
import { isLeft } from '../json/index.ts'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { faultMessage } from '../index.ts'
import type { AnyEvidenceFault } from '../evidence/index.ts'
import { storeNoticeText, type Head, type Store } from '../store/index.ts'
import { Misuse, Unreadable, type Call } from './command.ts'
import { defaultStorePath, openStore } from './store.ts'

/** What help says of the option, its words from that column on. */
export const storeHelpAt = (column: number): string => {
  const words = [
    'the file of the store (default: sessions.db in the',
    "user's data folder), or a PostgreSQL database:",
    'postgres://USER@HOST/DATABASE?schema=NAME',
  ]
  return words.map((line, index) => (index === 0 ? '  --store PATH' : '').padEnd(column) + line).join('\n')
}

/** The option that every command on sessions has. */
export const storeOption = { store: { type: 'string' } } as const

export const storeHelp: string = storeHelpAt(17)

/**
 * Do something with the store that `--store` names, or with the user's own, and close it. One that is not there is made
 * only where `make` says so.
 */
export const withStore = async <T>(
  { values, terminal }: Call,
  { make = false }: { readonly make?: boolean },
  work: (store: Store) => Promise<T>,
): Promise<T> => {
  const given = values['store']
  const path = typeof given === 'string' ? given : defaultStorePath(terminal.env)
  if (path === '') throw new Misuse('--store takes a PATH')
  if (typeof given !== 'string') terminal.tell([`store: ${path}`])
  const { store } = await openStore(given, make, terminal, (notice) => {
    if (notice._tag !== 'DamageFound') terminal.tell([storeNoticeText(notice)]) // that is the answer of the command
  })
  try {
    return await work(store)
  } finally {
    await answer(store.close())
  }
}

/** What a task gives. Throws Unreadable with the sentence of its fault. */
export const answer = async <T>(task: TaskEither<AnyEvidenceFault, T>): Promise<T> => {
  const given = await task()
  if (isLeft(given)) throw new Unreadable(faultText(given.left))
  return given.right
}

/** A fault as a sentence for somebody at a terminal. */
export const faultText = (fault: AnyEvidenceFault): string =>
  fault._tag === 'NoSuchLog'
    ? `this store has no session ${JSON.stringify(fault.id)}; "indelible list" shows its sessions`
    : fault._tag === 'LogExists'
      ? `this store already has a session ${JSON.stringify(fault.id)}; nothing was changed: choose another id`
      : faultMessage(fault)

/** The one SESSION of a command's arguments, and `more` others. Throws Misuse. */
export const sessionOfCall = (command: string, { positionals }: Call, more = 0): string => {
  const [id] = positionals
  if (id === undefined) throw new Misuse(`${command} needs a SESSION: its id, as "indelible list" shows it`)
  if (positionals.length > 1 + more)
    throw new Misuse(
      `${command} takes ${more === 0 ? 'one SESSION' : `a SESSION and ${more} more`}, but got ${positionals.length}: ${positionals.join(', ')}`,
    )
  return id
}

/** A head as one word: its size, a colon, its root. */
export const headText = ({ size, root }: Head): string => `${size}:${root}`

/** The head that an option names. Throws Misuse. */
export const headOfOption = (given: unknown): Head | undefined => {
  if (given === undefined) return undefined
  const found = typeof given === 'string' ? /^(\d{1,15}):([0-9a-f]{64})$/.exec(given) : null
  if (found === null) throw new Misuse('--head takes a head as "indelible head" prints it: SIZE:ROOT')
  return { size: Number(found[1]), root: found[2] as string }
}
