/** The table of commands. To add a command, create a file for it and add it to one of the groups. */
import { append } from './change/append.ts'
import { note, pin, rename, retag } from './change/annotate.ts'
import { backup } from './keep/backup.ts'
import { compact } from './keep/compact.ts'
import { chat } from './model/chat.ts'
import { check } from './files/check.ts'
import { context } from './model/context.ts'
import { convert } from './files/convert.ts'
import { continueSession } from './agents/continue.ts'
import { copy } from './keep/copy.ts'
import { encryption } from './keep/encryption.ts'
import { erase } from './keep/erase.ts'
import { exportSessionCommand } from './files/export.ts'
import { diff } from './look/diff.ts'
import { fork } from './change/fork.ts'
import { head } from './prove/head.ts'
import { hold, release } from './keep/hold.ts'
import { importFiles } from './files/import.ts'
import { key } from './prove/key.ts'
import { ledger } from './prove/ledger.ts'
import { list } from './look/list.ts'
import { sessions } from './agents/machine-sessions.ts'
import { checkProofFile, prove } from './prove/prove.ts'
import { record } from './record/record.ts'
import { records } from './files/records.ts'
import { remove } from './keep/remove.ts'
import { repair } from './keep/repair.ts'
import { replay } from './model/replay.ts'
import { rewind } from './change/rewind.ts'
import { scopes } from './look/scopes.ts'
import { index, search } from './look/search.ts'
import { show } from './look/show.ts'
import { stats } from './look/stats.ts'
import { tail } from './look/tail.ts'
import { tree } from './look/tree.ts'
import { verify } from './prove/verify.ts'
import { view } from './look/view.ts'
import type { Command, Group } from './terminal/command.ts'
import { completion } from './terminal/completion.ts'

/** Every command, in the order of the help. */
export const groups: readonly Group[] = [
  { title: 'Bring conversations in', commands: [importFiles, record, chat, append] },
  { title: 'Continue in any agent', commands: [sessions, continueSession] },
  { title: 'Look', commands: [list, search, scopes, show, diff, tree, stats, view, tail] },
  { title: 'Change what comes next', commands: [fork, rewind, note, pin, retag, rename] },
  { title: 'Read and write files', commands: [check, convert, exportSessionCommand, records] },
  { title: 'Contexts for a model', commands: [context, replay] },
  { title: 'Prove', commands: [verify, head, prove, checkProofFile, ledger, key] },
  {
    title: 'Look after a store',
    commands: [copy, index, backup, repair, compact, erase, hold, release, remove, encryption],
  },
  { title: 'The command itself', commands: [completion] },
]

export const commands: readonly Command[] = groups.flatMap((group) => group.commands)
