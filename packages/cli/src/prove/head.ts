/** `indelible head`: prints the head of a session, to verify the session against later. */
import { describeSession } from 'indelible/session'
import type { Command } from '../terminal/command.ts'
import { valueOrUnreadable, headText, sessionOfCall, headForTerminal, storeOption } from '../sources/place.ts'
import { withSession } from '../sources/sessions.ts'

export const head: Command = {
  name: 'head',
  synopsis: 'head SESSION',
  purpose: 'print the head of a session, for a later verify',
  usage: ['head SESSION [--full] [options]'],
  about: `Prints the number of rows in the log of a session and their Merkle
root, as one word: SIZE:ROOT. Keep it where people who can write to the store
can't change it, and pass it to "indelible verify --head" later. A terminal
shows a short root, which is enough to compare two by eye. --full prints the
whole root, and so does a pipe or a file.`,
  options: { full: { help: 'print the whole root even on a terminal' }, ...storeOption },
  examples: ['indelible head mine --full'],
  run: async (call) => {
    const given = sessionOfCall('head', call)
    const { terminal, values } = call
    await withSession(call, given, async (store, id) => {
      const found = (await valueOrUnreadable(describeSession(store, id))).head
      await terminal.print([values['full'] === true ? headText(found) : headForTerminal(found, terminal)])
    })
  },
}
