/** `indelible encryption`: the keys of encrypted sessions. */
import { rmSync } from 'node:fs'
import { checkKeys, destroyKey, newHostKey, rotateKeys } from '@indelible/encryption'
import { describeSession } from 'indelible/session'
import type { Store } from 'indelible/store'
import { mustConfirm, confirm, Misuse, Unreadable, type Call, type Command } from '../terminal/command.ts'
import { changeKeyFile, keyFileText, openRing, readKeyFile, writeSecret, type KeyFile } from '../sources/key-file.ts'
import { allScopesOption, valueOrUnreadable, storeOption, withScopes, withStore } from '../sources/place.ts'
import { countText, oneLine } from '../terminal/screen.ts'
import { allSessions, wholeId } from '../sources/sessions.ts'
import { waitForSpools } from '../record/spools.ts'
import { isAddress, keyFileOf } from '../sources/store.ts'

export const encryption: Command = {
  name: 'encryption',
  synopsis: 'encryption VERB',
  purpose: 'make, change and destroy the keys of encrypted sessions',
  usage: [
    'encryption new FILE [--keys-in PATH]',
    'encryption rotate [options]',
    'encryption destroy SESSION [options]',
  ],
  about: `new makes a key file, which only you can read. Sessions that a command
makes with --key-file FILE are encrypted: each has a key of its own, wrapped by
the key in FILE. Without FILE nobody can read them, not even you: keep a copy of
it.

The wrapped keys are in a separate store beside FILE (FILE.db), or in that of
--keys-in. It is also needed to read the sessions: keep it as long as them. Keep
backups of it only for a short time, because they contain the keys that destroy
removes.

rotate puts a new key into FILE and wraps every session key with it. The
sessions do not change. The older keys stay in FILE, for backups. It first
checks that FILE opens every session key. A second rotation of FILE is refused
meanwhile: the lock is FILE.lock, an empty file.

destroy makes a session unreadable: its key is removed, and nobody can read it
any more, not even in copies and backups of the store. Its rows stay and verify.
Its forks lose the messages that they share with it. Remove backups of the
wrapped keys, too. It first waits for an "indelible record" that has calls it
has not stored yet.`,
  options: {
    'keys-in': { value: 'PATH', help: 'for new: the store of the wrapped keys (default: FILE.db)' },
    yes: { help: 'for destroy: do not ask; required without a terminal' },
    ...storeOption,
    ...allScopesOption,
  },
  examples: [
    'indelible encryption new agents.keys',
    'indelible import chat.json --key-file agents.keys',
    'indelible encryption destroy support-1 --key-file agents.keys',
  ],
  run: async (call) => {
    const [verb, argument, ...others] = call.positionals
    const wanted = verb === 'rotate' ? 0 : 1
    if (
      !['new', 'rotate', 'destroy'].includes(verb ?? '') ||
      (argument === undefined) !== (wanted === 0) ||
      others.length > 0
    )
      throw new Misuse('encryption takes "new FILE", "rotate" or "destroy SESSION"')
    if (verb === 'new') return makeFile(call, argument as string)
    const name = keyFileOf(call.values, call.terminal)
    if (name === undefined) throw new Misuse(`encryption ${verb} needs --key-file FILE, or INDELIBLE_KEY_FILE`)
    if (verb === 'rotate') return rotate(call, name)
    return destroy(call, readKeyFile(name, call.terminal), argument as string)
  },
}

const makeFile = async ({ values, terminal }: Call, name: string): Promise<void> => {
  const path = terminal.path(name)
  const keysIn = typeof values['keys-in'] === 'string' ? values['keys-in'] : `${path.replace(/^.*[/\\]/, '')}.db`
  if (/[\r\n]/.test(keysIn)) throw new Misuse('--keys-in takes a path of one line')
  writeSecret(name, terminal, keyFileText({ keys: [newHostKey()], keysIn }), 'keys are never overwritten')
  const made = readKeyFile(name, terminal)
  const { keysIn: place = '' } = made
  try {
    if (!isAddress(place)) await (await openRing(made, terminal, true)).close()
  } catch (error) {
    rmSync(path) // a key file is useless without the store of its wrapped keys
    throw error
  }
  await terminal.print([name])
  terminal.tell([
    `keep a copy of ${name}, and keep ${place}: without both, nobody can read what they encrypt`,
    `backups of ${place} have the keys that "destroy" removes: keep them only for a short time`,
  ])
}

const rotate = (call: Call, path: string): Promise<void> =>
  changeKeyFile(path, call.terminal, async (file, write) => {
    const next = { ...file, keys: [newHostKey(), ...file.keys] }
    const { ring, close } = await openRing(next, call.terminal)
    try {
      const count = await withScopes(call, { bare: true }, async (scopes) => {
        for (const scope of scopes) await valueOrUnreadable(checkKeys(scope, ring))
        write(next)
        let sum = 0
        for (const scope of scopes) sum += await valueOrUnreadable(rotateKeys(scope, ring))
        return sum
      })
      await call.terminal.print([
        `${countText(count, 'key')} wrapped by ${next.keys[0]?.id ?? ''}${count === 0 ? '' : ': those of the encrypted sessions, and one of each scope'}`,
      ])
      call.terminal.tell([`copies of ${file.path} that were made before lack this key: copy it again`])
    } finally {
      await close()
    }
  })

const destroy = async (call: Call, file: KeyFile, id: string): Promise<void> => {
  const { terminal } = call
  const asks = mustConfirm('encryption destroy', call)
  await withStore(call, {}, (store) => waitForSpools(store, call, 'nothing was destroyed'))
  const { ring, close } = await openRing(file, terminal)
  try {
    await withStore(call, { bare: true }, async (store) => {
      await wholeId(store, id, terminal)
      const { encrypted } = await valueOrUnreadable(describeSession(store, id))
      if (!encrypted) throw new Unreadable(`${id}: is not encrypted, so it has no key to destroy; nothing was changed`)
      const forks = await forksOf(store, id)
      if (forks.length > 0)
        terminal.tell([`forks that lose the messages they share with ${id}: ${forks.map(oneLine).join(', ')}`])
      const question = `Nobody will be able to read session ${id} any more. Destroy its key?`
      if (asks) await confirm(terminal, question, 'nothing was destroyed')
      const destroyed = await valueOrUnreadable(destroyKey(store, id, ring))
      await terminal.print([destroyed ? `${id}: its key is destroyed` : `${id}: its key was destroyed before`])
      terminal.tell([`a backup of ${file.keysIn ?? 'the store'} from before still has the key: remove it`])
    })
  } finally {
    await close()
  }
}

/** The sessions that share messages with one: its forks, and their forks. */
const forksOf = async (store: Store, id: string): Promise<readonly string[]> => {
  const parents = new Map<string, string>()
  for await (const { id: fork, forkedFrom } of allSessions(store))
    if (forkedFrom !== undefined && forkedFrom.at > 0) parents.set(fork, forkedFrom.id)
  return [...parents.keys()].filter((fork) => {
    let at: string | undefined = fork
    do at = parents.get(at)
    while (at !== undefined && at !== id)
    return at === id
  })
}
