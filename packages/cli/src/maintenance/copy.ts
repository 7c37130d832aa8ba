/** `indelible copy --from A --to B`: copies the sessions of one store to another. */
import type { CallbackThrew } from 'indelible'
import { isRight } from 'indelible/internal/json'
import { ledgerContent } from 'indelible/internal/store'
import { copySession, describeSession, type SessionFault, type SessionInfo } from 'indelible/session'
import type { Store, StoreFault } from 'indelible/store'
import { copySecrets } from '../keep/digest-secrets.ts'
import { Misuse, Unreadable, type Command, type Terminal } from '../terminal/command.ts'
import {
  allScopesOption,
  faultText,
  scopeOf,
  scopesOf,
  headForTerminal,
  valueOrUnreadable,
  withKeysOf,
  withOpened,
} from '../sources/place.ts'
import { countText, groupedNumber } from '../terminal/screen.ts'
import { allSessions, namesOf, scopesBeside, findSessionId, sessionsIn } from '../sources/sessions.ts'
import { openStore } from '../sources/store.ts'

export const copy: Command = {
  name: 'copy',
  synopsis: 'copy [SESSION…]',
  purpose: 'copy sessions from one store to another',
  usage: ['copy [--from STORE] --to STORE [SESSION…]'],
  about: `Copies the named sessions, or all of them, under their own ids, and compares the
heads of both records. Run the command again to continue an interrupted copy.
An unfinished copy is not yet a session of the other store. A session that the
other store already has whole is not read again, and only counted. If its session with that id
differs or is longer, the command reports it, changes nothing there, copies the
others, and exits with code 1.

The copy has the record, the metadata and the hold ("indelible hold"). It does
not have the time of creation or the operation ids, and each fork gets its own
rows. If you release a hold here, release it in the copy too.

An encrypted session is copied without decrypting it. With --key-file the copy
also has the tools and instructions that its receipts reference; without keys
these can't be found.

A STORE is the path of a file, or postgres://USER@HOST/DATABASE?schema=NAME.`,
  options: {
    from: { value: 'STORE', help: 'the store to read (default: INDELIBLE_STORE)' },
    to: { value: 'STORE', help: 'the store to write to; it is created if it does not exist' },
    scope: { value: 'NAME', help: 'the scope to copy, to the same scope of the other store (default: default)' },
    ...allScopesOption,
    'key-file': {
      value: 'FILE',
      help: 'keys of encrypted sessions; plain sessions stay plain (default: INDELIBLE_KEY_FILE, or no keys)',
    },
  },
  examples: ['indelible copy --from sessions.db --to postgres://app@db.example.com/agents'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const [sourcePath, targetPath] = [values['from'] ?? terminal.env['INDELIBLE_STORE'], values['to']]
    if (typeof sourcePath !== 'string' || sourcePath === '' || typeof targetPath !== 'string' || targetPath === '')
      throw new Misuse('copy needs both stores: --from STORE and --to STORE')
    if (sourcePath === targetPath) throw new Misuse('copy needs two stores, and --from and --to are the same')
    const all = values['all-scopes'] === true
    if (all && positionals.length > 0) throw new Misuse('copy --all-scopes takes no SESSION: it copies all of them')
    if (all && values['scope'] !== undefined) throw new Misuse('--all-scopes and --scope exclude each other')
    const source = await openStore(sourcePath, false, terminal)
    await withOpened(source, async (source) =>
      withOpened(await openStore(targetPath, true, terminal), async (target) => {
        let [count, left, before] = [0, 0, 0]
        await withKeysOf(call, source, (sourceWithKeys) =>
          withKeysOf(call, target, async (targetWithKeys) => {
            for (const from of await scopesOf(source, values)) {
              const to = scopeOf(target, from.scope)
              await copySecrets(from, to)
              const found = positionals.length === 0 ? (await sessionsIn(from)).toReversed() : undefined
              const there = found === undefined ? () => false : await copiedBefore(from, to)
              // Oldest first, so that the copies are created in the same order.
              const ids = found?.filter((info) => !there(info)).map(({ id }) => id) ?? positionals
              const keyed = { from: scopeOf(sourceWithKeys, from.scope), to: scopeOf(targetWithKeys, from.scope) }
              count += found?.length ?? ids.length
              before += (found?.length ?? ids.length) - ids.length
              for (const id of ids) {
                const done = await copyOne({ from, to }, keyed, id, found === undefined, terminal)
                if (done === 'failed') left += 1
                if (done === 'unchanged') before += 1
              }
            }
          }),
        )
        const beside = all || positionals.length > 0 ? undefined : scopeOf(source, values['scope'])
        const others = beside === undefined ? [] : await scopesBeside(beside)
        if (count === 0 && beside !== undefined)
          terminal.tell([`no sessions in the scope ${JSON.stringify(beside.scope)}: nothing was copied`])
        if (before > 0 && positionals.length === 0)
          terminal.tell([`${countText(before, 'session')} ${before === 1 ? 'was' : 'were'} already copied`])
        if (others.length > 0)
          terminal.tell([`not copied: the sessions in ${namesOf(others)}; --all-scopes copies all`])
        if (left > 0)
          throw new Unreadable(`${countText(left, 'session')} of ${count} ${left === 1 ? 'was' : 'were'} not copied`)
      }),
    )
  },
}

interface Stores {
  readonly from: Store
  readonly to: Store
}

/** Copy one session, and print it, or why that failed. Keys are used only for encrypted sessions. */
const copyOne = async (
  plain: Stores,
  keyed: Stores,
  name: string,
  isNamed: boolean,
  terminal: Terminal,
): Promise<'copied' | 'unchanged' | 'failed'> => {
  const { from } = plain
  let id: string
  try {
    id = await findSessionId(from, name)
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    terminal.tell([`--from: ${error.message}`])
    return 'failed'
  }
  const bar = terminal.progress(`copying ${id}`, undefined, 'rows')
  let stored = false
  const progress = (rows: number): void => {
    stored = true
    bar.at(rows)
  }
  const found = await describeSession(from, id)()
  const isEncrypted = isRight(found) && found.right.encrypted
  const stores = isEncrypted ? keyed : plain
  const copied = await copySession(stores.from, stores.to, id, { progress })()
  bar.end()
  if (!isRight(copied)) {
    terminal.tell([whyNot(id, copied.left)])
    return 'failed'
  }
  const { len, head } = copied.right
  if (isEncrypted && stores.from.encryption === undefined)
    terminal.tell([
      `${id}: encrypted; if its receipts name tools and instructions, they were not copied: that needs --key-file FILE`,
    ])
  const isChange = stored || head.size === 0
  if (isChange || isNamed)
    await terminal.print([
      `${id}: ${countText(len, 'message')}, head ${headForTerminal(head, terminal)}${isChange ? '' : ', already copied'}`,
    ])
  return isChange ? 'copied' : 'unchanged'
}

/** Why one session was not copied. Throws Unreadable if the others can't be copied either. */
const whyNot = (id: string, fault: SessionFault | StoreFault | CallbackThrew): string => {
  switch (fault._tag) {
    case 'Conflict':
      return `${id}: the session in the other store is longer (${countText(fault.actual.size, 'row')}, here ${groupedNumber(fault.expected.size)}); it was not changed`
    case 'Diverged':
      return `${id}: the other store has a different record with this id (${countText(fault.actual.size, 'row')}); it was not changed. To keep both, fork one under another id`
    case 'NoSuchLog':
      return `${id}: the store that --from names has no such session`
    case 'NotASession':
    case 'UnfinishedSession':
    case 'NewerSession':
    case 'DamagedLog':
    case 'DamagedBlock':
    case 'OtherHead':
    case 'LogHeld':
      return faultText(fault)
    default:
      throw new Unreadable(faultText(fault))
  }
}

/**
 * Which sessions the other store already has whole, with their erasures and holds.
 *
 * Cost    a list of the sessions of both stores, and their ledgers; no session is read
 */
const copiedBefore = async (from: Store, to: Store): Promise<(info: SessionInfo) => boolean> => {
  const there = new Map<string, SessionInfo>()
  for await (const info of allSessions(to)) there.set(info.id, info)
  const own = await valueOrUnreadable(() => ledgerContent(from))
  const { held } = await valueOrUnreadable(() => ledgerContent(to))
  const erased = new Set(own.erasures.map(({ id }) => id))
  return ({ id, head, encrypted, forkedFrom }) => {
    const found = there.get(id)
    if (found === undefined || encrypted || found.encrypted || found.head.root !== head.root) return false
    // A fork shares messages that may have been erased in its original.
    if (erased.has(id) || (erased.size > 0 && forkedFrom !== undefined)) return false
    return found.head.size === head.size && (held.has(id) || !own.held.has(id))
  }
}
