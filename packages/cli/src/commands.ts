/** The table of commands. To add a command, create a file for it and add it to one of the groups. */
import { append } from './change/append.ts'
import { note, pin, rename, retag } from './change/annotate.ts'
import { backup } from './maintenance/backup.ts'
import { compact } from './maintenance/compact.ts'
import { context } from './model/context.ts'
import { continueSession } from './agents/continue.ts'
import { copy } from './maintenance/copy.ts'
import { encryption } from './maintenance/encryption.ts'
import { erase } from './maintenance/erase.ts'
import { exportCommand } from './files/export.ts'
import { diff } from './look/diff.ts'
import { fork } from './change/fork.ts'
import { hold } from './maintenance/hold.ts'
import { importFiles } from './files/import.ts'
import { keep } from './keep/keep.ts'
import { key } from './prove/key.ts'
import { ledger } from './prove/ledger.ts'
import { list } from './look/list.ts'
import { mcp } from './mcp/mcp.ts'
import { prove } from './prove/prove.ts'
import { record } from './record/record.ts'
import { remove } from './maintenance/remove.ts'
import { repair } from './maintenance/repair.ts'
import { rerun } from './rerun/rerun.ts'
import { restore } from './keep/restore.ts'
import { rewind } from './change/rewind.ts'
import { index, search } from './look/search.ts'
import { show } from './look/show.ts'
import { spend } from './look/spend.ts'
import { verify } from './prove/verify.ts'
import { view } from './look/view.ts'
import type { Command, Group } from './terminal/command.ts'
import { completion } from './terminal/completion.ts'

/** Every command, in the order of the help. */
export const groups: readonly Group[] = [
  { title: 'Bring conversations in', commands: [keep, importFiles, record, append] },
  { title: 'Look', commands: [list, search, show, diff, spend, view, mcp] },
  { title: 'Continue', commands: [continueSession, rerun, restore, fork, rewind, note, pin, retag, rename] },
  { title: 'Write files, and contexts for a model', commands: [exportCommand, context] },
  { title: 'Prove', commands: [verify, prove, ledger, key] },
  {
    title: 'Maintain a store',
    commands: [copy, index, backup, repair, compact, erase, hold, remove, encryption],
  },
  { title: 'The command itself', commands: [completion] },
]

export const commands: readonly Command[] = groups.flatMap((group) => group.commands)
