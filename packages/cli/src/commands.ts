/** The table of commands. A new command is a file of its own, and a name in one of the groups. */
import { append } from './append.ts'
import { note, pin, rename, retag } from './annotate.ts'
import { backup } from './backup.ts'
import { compact } from './compact.ts'
import { chat } from './chat.ts'
import { check } from './check.ts'
import { context } from './context.ts'
import { convert } from './convert.ts'
import { continueSession } from './continue.ts'
import { copy } from './copy.ts'
import { encryption } from './encryption.ts'
import { erase } from './erase.ts'
import { exportSessionCommand } from './export.ts'
import { diff } from './diff.ts'
import { fork } from './fork.ts'
import { head } from './head.ts'
import { hold, release } from './hold.ts'
import { importFiles } from './import.ts'
import { key } from './key.ts'
import { ledger } from './ledger.ts'
import { list } from './list.ts'
import { sessions } from './machine-sessions.ts'
import { checkProofFile, prove } from './prove.ts'
import { record } from './record.ts'
import { records } from './records.ts'
import { remove } from './remove.ts'
import { repair } from './repair.ts'
import { replay } from './replay.ts'
import { rewind } from './rewind.ts'
import { scopes } from './scopes.ts'
import { index, search } from './search.ts'
import { show } from './show.ts'
import { stats } from './stats.ts'
import { tail } from './tail.ts'
import { tree } from './tree.ts'
import { verify } from './verify.ts'
import { view } from './view.ts'
import type { Command } from './command.ts'

/** Commands that belong together in the help. */
export interface Group {
  readonly title: string
  readonly commands: readonly Command[]
}

/** Every command, in the order of the help. */
export const groups: readonly Group[] = [
  { title: 'Bring conversations in', commands: [importFiles, record, chat, append] },
  { title: 'Go on in any agent', commands: [sessions, continueSession] },
  { title: 'Look', commands: [list, search, scopes, show, diff, tree, stats, view, tail] },
  { title: 'Change what comes next', commands: [fork, rewind, note, pin, retag, rename] },
  { title: 'Read and write files', commands: [check, convert, exportSessionCommand, records] },
  { title: 'What a model is sent', commands: [context, replay] },
  { title: 'Prove', commands: [verify, head, prove, checkProofFile, ledger, key] },
  {
    title: 'Look after a store',
    commands: [copy, index, backup, repair, compact, erase, hold, release, remove, encryption],
  },
]

/** The commands of all groups. */
export const commands: readonly Command[] = groups.flatMap((group) => group.commands)
