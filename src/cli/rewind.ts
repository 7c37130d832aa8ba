/** `indelible rewind SESSION --to N`: a conversation goes back to a position; the record keeps what was said since. */
import { openSession } from '../session/index.ts'
import { Misuse, wholeNumber, type Command } from './command.ts'
import { answer, headText, sessionOfCall, storeHelp, storeOption, withStore } from './place.ts'
import { counted } from './screen.ts'

export const rewind: Command = {
  name: 'rewind',
  synopsis: 'rewind SESSION',
  purpose: 'take back the end of a conversation',
  help: `Usage: indelible rewind SESSION --to N [options]

Takes all messages from position N on out of the conversation of a session, by
one note at the end of its record. Nothing is rewritten: "show --all" prints
them. What is sent to a model, exported or continued goes by the conversation.

Options:
  --to N         the first position that goes; a negative N counts the messages
                 of the conversation from its end; 0 clears it
${storeHelp}
  -h, --help     print this help

Example:
  indelible rewind mine --to -2
`,
  options: { to: { type: 'string' }, ...storeOption },
  run: async (call) => {
    const { values, terminal } = call
    const id = sessionOfCall('rewind', call)
    const to = wholeNumber('--to', values['to'], undefined)
    if (to === undefined) throw new Misuse('rewind needs --to N: the first position that goes')
    await withStore(call, {}, async (store) => {
      const session = await answer(openSession(store, id))
      const before = session.conversation()
      const { head } = await answer(session.rewind(to < 0 ? (before.slice(to).positionAt(0) as number) : to))
      const { length } = session.conversation()
      await terminal.print([
        `${id}: ${counted(before.length - length, 'message')} retracted, ${length} left of ${session.len}, head ${headText(head)}`,
      ])
    })
  },
}
