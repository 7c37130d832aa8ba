/** `indelible verify`: whether sessions are what was appended. `indelible head`: what to hold them to later. */
import type { CallbackThrew } from '../index.ts'
import { isLeft } from '../json/index.ts'
import { describeSession, verifySession, type SessionFault } from '../session/index.ts'
import { findingText, type DamagedEntry, type Head, type Store, type StoreFault } from '../store/index.ts'
import { Misuse, Unreadable, type Command, type Terminal } from './command.ts'
import { allSessions } from './list.ts'
import { answer, faultText, headOfOption, headText, sessionOfCall, storeHelp, storeOption, withStore } from './place.ts'
import { counted } from './screen.ts'

export const verify: Command = {
  name: 'verify',
  synopsis: 'verify SESSION',
  purpose: 'check that nothing in a session was altered',
  help: `Usage: indelible verify SESSION [--head SIZE:ROOT] [options]
       indelible verify --all [--deep] [options]

Reads a whole session and checks every row and attachment against the Merkle
tree. If a row is altered, missing or moved, the command names its first such
position in the log and exits with code 1.

--head also checks that the record continues a head that "indelible head"
printed earlier. This finds changes even by someone who can write to the store.

Options:
  --head HEAD    an earlier head of the session
  --all          every session of the store
  --deep         with --all: also check all tables of the store, in all scopes,
                 against each other and against their checksums
${storeHelp}
  -h, --help     print this help
`,
  options: { head: { type: 'string' }, all: { type: 'boolean' }, deep: { type: 'boolean' }, ...storeOption },
  run: async (call) => {
    const { values, positionals, terminal } = call
    const head = headOfOption(values['head'])
    const all = values['all'] === true
    if (all && (positionals.length > 0 || head !== undefined))
      throw new Misuse('verify --all takes no SESSION and no --head')
    if (values['deep'] === true && !all) throw new Misuse('verify --deep takes --all: it looks at the whole store')
    const id = all ? undefined : sessionOfCall('verify', call)
    await withStore(call, {}, async (store) => {
      const ids: string[] = []
      const damaged: DamagedEntry[] = []
      const findings = values['deep'] === true ? await answer(store.check()) : []
      terminal.tell(findings.map(findingText))
      if (id === undefined) for await (const info of allSessions(store, damaged)) ids.push(info.id)
      else ids.push(id)
      ids.push(...damaged.map((each) => each.id))
      let bad = 0
      for (const each of ids) {
        const problem = await problemOf(store, each, head, terminal)
        if (problem === undefined) continue
        bad += 1
        if (all) terminal.tell([problem])
        else throw new Unreadable(problem)
      }
      if (all) await terminal.print([`${counted(ids.length, 'session')} verified, ${bad} damaged`])
      if (findings.length > 0)
        throw new Unreadable(
          `${counted(findings.length, 'finding')} in the tables of the store: "indelible repair" rebuilds what it can`,
        )
      if (bad > 0)
        throw new Unreadable(`${counted(bad, 'session')} of ${ids.length} ${bad === 1 ? 'is' : 'are'} damaged`)
    })
  },
}

/** Verify one session: what is wrong with it, or a line that says it is good. */
const problemOf = async (
  store: Store,
  id: string,
  head: Head | undefined,
  terminal: Terminal,
): Promise<string | undefined> => {
  const info = await describeSession(store, id)()
  const bar = terminal.progress(`verifying ${id}`, isLeft(info) ? undefined : info.right.head.size, 'rows')
  const verified = await verifySession(store, id, { ...(head && { head }), progress: bar.at })()
  bar.end()
  if (isLeft(verified))
    return verified.left._tag === 'NoSuchLog' ? faultText(verified.left) : `${id}: ${damageText(verified.left)}`
  await terminal.print([
    `${id}: good, ${counted(verified.right.len, 'message')}, head ${headText(verified.right.head)}${head === undefined ? '' : `, which continues ${head.size}`}`,
  ])
  return undefined
}

const damageText = (fault: SessionFault | StoreFault | CallbackThrew): string => {
  if (fault._tag === 'DamagedLog') return `damaged at position ${fault.position} of its log: ${fault.reason}`
  if (fault._tag !== 'Diverged') return faultText(fault)
  const { expected, actual } = fault
  return actual.size < expected.size
    ? `truncated: it has ${counted(actual.size, 'row')}, but had ${expected.size}`
    : `rewritten: its first ${expected.size} rows do not have the head ${headText(expected)}`
}

export const head: Command = {
  name: 'head',
  synopsis: 'head SESSION',
  purpose: 'print the head of a session, for a later verify',
  help: `Usage: indelible head SESSION [options]

Prints the number of rows in the log of a session and their Merkle root, as one
word: SIZE:ROOT. Keep it where nobody who can write to the store can change it,
and give it to "indelible verify --head" later.

Options:
${storeHelp}
  -h, --help     print this help
`,
  options: { ...storeOption },
  run: async (call) => {
    const id = sessionOfCall('head', call)
    await withStore(call, {}, async (store) =>
      call.terminal.print([headText((await answer(describeSession(store, id))).head)]),
    )
  },
}
