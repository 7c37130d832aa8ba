/** `indelible fork SESSION`: another session that begins with the first messages of one. */
import { createFork, describeSession } from '../session/index.ts'
import { Misuse, wholeNumber, type Command } from './command.ts'
import { answer, headText, sessionOfCall, storeHelp, storeOption, withStore } from './place.ts'
import { counted } from './screen.ts'

export const fork: Command = {
  name: 'fork',
  synopsis: 'fork SESSION',
  purpose: 'start a session with the first messages of another',
  help: `Usage: indelible fork SESSION [--at N] [options]

Starts a session with the first N messages of another, and prints its id. Both
share these messages; nothing is copied, so a fork costs the same at any length.

Options:
  --at N         the number of messages to share; a negative N leaves out the
                 last N messages (default: all)
  --id NAME      the id of the new session (default: a random one)
${storeHelp}
  -h, --help     print this help
`,
  options: { at: { type: 'string' }, id: { type: 'string' }, ...storeOption },
  run: async (call) => {
    const { values, terminal } = call
    const id = sessionOfCall('fork', call)
    const at = wholeNumber('--at', values['at'], undefined)
    const name = values['id']
    if (name === '') throw new Misuse('--id takes a NAME')
    await withStore(call, {}, async (store) => {
      const { len } = await answer(describeSession(store, id))
      const info = await answer(
        createFork(store, id, {
          at: at === undefined ? len : at < 0 ? len + at : at,
          ...(typeof name === 'string' && { id: name }),
        }),
      )
      await terminal.print([`${info.id}: ${counted(info.len, 'message')} of ${id}, head ${headText(info.head)}`])
    })
  },
}
