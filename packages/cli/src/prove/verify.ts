/** `indelible verify`: checks that sessions are unchanged. */
import { isLeft } from 'indelible/internal/json'
import { describeSession, type VerifiedSession } from 'indelible/session'
import type { Head, Store } from 'indelible/store'
import { findingText, type DamagedEntry } from 'indelible/internal/store'
import { Misuse, Unreadable, type Call, type Command, type Terminal } from '../terminal/command.ts'
import {
  allScopesOption,
  valueOrUnreadable,
  faultText,
  headOfOption,
  headText,
  sessionToRead,
  headForTerminal,
  storeOption,
  withScopes,
} from '../sources/place.ts'
import { namesOf, scopesBeside, sessionOrLatest, sessionsIn } from '../sources/sessions.ts'
import { countText, ranges } from '../terminal/screen.ts'
import { damageOf, damageText, missingText, verifyStored, type VerdictFault } from '@indelible/view/internal'

export const verify: Command = {
  name: 'verify',
  synopsis: 'verify SESSION',
  purpose: 'check that nothing in a session was altered',
  usage: ['verify [SESSION] [--head SIZE:ROOT] [options]', 'verify --all [--deep] [options]'],
  about: `Reads a whole session and checks every row and attachment against the
Merkle tree. If a row is altered, missing or moved, the command names the first
such row of the log and its message, and exits with code 1. The number before
the colon of a head counts rows: messages, and notes such as call records.

--head also checks that the record continues a head that "indelible prove
SESSION" printed earlier. This detects changes even by somebody who can write to the
store.`,
  options: {
    head: { value: 'HEAD', help: 'an earlier head of the session' },
    all: { help: 'every session of the scope, or of the whole store with --all-scopes' },
    deep: {
      help: 'with --all: also check all tables of the store, in all scopes, against each other and against their checksums',
    },
    ...storeOption,
    ...allScopesOption,
  },
  run: async (call) => {
    const { values, positionals, terminal } = call
    const head = headOfOption(values['head'])
    const all = values['all'] === true
    if (all && (positionals.length > 0 || head !== undefined))
      throw new Misuse('verify --all takes no SESSION and no --head')
    if (values['deep'] === true && !all) throw new Misuse('verify --deep takes --all: it looks at the whole store')
    if (values['all-scopes'] === true && !all) throw new Misuse('verify --all-scopes takes --all')
    const name = sessionToRead('verify', call)
    await withScopes(call, {}, async (scopes) => {
      const [store] = scopes
      if (!all && store !== undefined) {
        const id = await sessionOrLatest(store, name, terminal)
        const info = await describeSession(store, id)()
        const bar = terminal.progress(`verifying ${id}`, isLeft(info) ? undefined : info.right.head.size, 'rows')
        const problem = await problemOf(store, id, head, terminal, bar.at)
        bar.end()
        if (problem !== undefined) throw new Unreadable(problem.text)
      } else await verifyAll(call, scopes)
    })
  },
}

/** Verify every session of these scopes, with `--deep` the whole store. Throws Unreadable if anything is damaged. */
const verifyAll = async ({ values, terminal }: Call, scopes: readonly Store[]): Promise<void> => {
  const [any] = scopes
  const findings =
    values['deep'] === true && any !== undefined
      ? await terminal.waiting('checking the tables of the store', () => valueOrUnreadable(any.check()))
      : []
  terminal.tell(findings.map(findingText))
  const sessions: { readonly store: Store; readonly id: string; readonly rows: number }[] = []
  for (const store of scopes) {
    const damaged: DamagedEntry[] = []
    for (const { id, head } of await sessionsIn(store, damaged)) sessions.push({ store, id, rows: head.size })
    for (const { id } of damaged) sessions.push({ store, id, rows: 0 })
  }
  const count = sessions.length
  const sum = sessions.reduce((all, { rows }) => all + rows, 0)
  const bar = terminal.progress(`verifying ${countText(count, 'session')}`, sum, 'rows')
  const counts = { damaged: 0, incomplete: 0 }
  let before = 0
  for (const { store, id, rows } of sessions) {
    const problem = await problemOf(store, id, undefined, terminal, (read) => bar.at(before + read))
    before += rows
    if (problem === undefined) continue
    counts[problem.state] += 1
    terminal.tell([problem.text])
  }
  bar.end()
  const { damaged: bad, incomplete } = counts
  await terminal.print([
    `${countText(count, 'session')} verified, ${bad} damaged${incomplete === 0 ? '' : `, ${incomplete} incomplete`}`,
  ])
  const others = values['all-scopes'] === true || any === undefined ? [] : await scopesBeside(any)
  if (others.length > 0) terminal.tell([`not verified: the sessions in ${namesOf(others)}; --all-scopes verifies all`])
  if (findings.length > 0)
    throw new Unreadable(
      `${countText(findings.length, 'finding')} in the tables of the store: "indelible repair" rebuilds as much as possible`,
    )
  for (const state of ['damaged', 'incomplete'] as const) {
    const some = counts[state]
    if (some > 0)
      throw new Unreadable(`${countText(some, 'session')} of ${count} ${some === 1 ? 'is' : 'are'} ${state}`)
  }
}

/** A session that is not good. `incomplete`: only blocks of its calls are missing. */
interface Problem {
  readonly state: 'damaged' | 'incomplete'
  readonly text: string
}

/** Verify one session. Returns its problem, or prints a line that says it is good. */
const problemOf = async (
  store: Store,
  id: string,
  head: Head | undefined,
  terminal: Terminal,
  progress: (rows: number) => void,
): Promise<Problem | undefined> => {
  const verified = await verifyStored(store, id, { ...(head && { head }), progress })
  if (isLeft(verified))
    return {
      state: 'damaged',
      text:
        verified.left._tag === 'NoSuchLog'
          ? faultText(verified.left)
          : `${id}: ${await problemText(store, verified.left)}`,
    }
  const missing = missingText(verified.right.missing)
  if (missing !== undefined) return { state: 'incomplete', text: `${id}: ${missing}` }
  const hidden = verified.right.unread ? '; encrypted, and not read' : ''
  const stale = verified.right.staleMetadata
    ? '; lists show earlier metadata of it, until its metadata is changed again'
    : ''
  await terminal.print([
    `${id}: good, ${goodText(verified.right)}, head ${headForTerminal(verified.right.head, terminal)}${head === undefined ? '' : `, which continues the given head of ${countText(head.size, 'row')}`}${terminal.shows ? notesText(verified.right) : ''}${hidden}${stale}`,
  ])
  return undefined
}

const goodText = ({ len, erased }: VerifiedSession): string =>
  erased.length === 0
    ? countText(len, 'message')
    : `${erased.length} of ${countText(len, 'message')} erased (${erased.length === 1 ? 'position' : 'positions'} ${ranges(erased)})`

/** Why the head has more rows than there are messages: for people. */
const notesText = ({ len, head: { size } }: VerifiedSession): string =>
  size === len ? '' : `; ${size - len} of its ${countText(size, 'row')} ${size - len === 1 ? 'is a note' : 'are notes'}`

const problemText = async (store: Store, fault: VerdictFault): Promise<string> => {
  const damaged = await damageOf(store, fault)
  if (damaged !== undefined) return damageText(damaged)
  if (fault._tag !== 'Diverged') return faultText(fault)
  const { expected, actual } = fault
  return actual.size < expected.size
    ? `truncated: it has ${countText(actual.size, 'row')}, but had ${expected.size}`
    : `rewritten: its first ${expected.size} rows do not have the head ${headText(expected)}`
}
