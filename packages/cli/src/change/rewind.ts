/** `indelible rewind SESSION --to N`: takes a conversation back to a position; the record keeps the later messages. */
import { openSession } from 'indelible/session'
import { Misuse, wholeNumber, type Command } from '../terminal/command.ts'
import { valueOrUnreadable, headForTerminal, sessionOfCall, storeOption } from '../sources/place.ts'
import { withSession } from '../sources/sessions.ts'
import { countText } from '../terminal/screen.ts'

export const rewind: Command = {
  name: 'rewind',
  synopsis: 'rewind SESSION',
  purpose: 'retract the end of a conversation',
  usage: ['rewind SESSION --to N [options]'],
  about: `Retracts all messages from position N on: a note at the end of the
record removes them from the conversation. Nothing is rewritten, and "show
--all" still prints them. Contexts, exports and continuations use the
conversation without them.`,
  options: {
    to: {
      value: 'N',
      help: 'the first position to retract; a negative N retracts the last N messages of the conversation; 0 retracts all',
    },
    ...storeOption,
  },
  examples: ['indelible rewind mine --to -2'],
  run: async (call) => {
    const { values, terminal } = call
    const name = sessionOfCall('rewind', call)
    const to = wholeNumber('--to', values['to'], undefined)
    if (to === undefined) throw new Misuse('rewind needs --to N: the first position to retract')
    await withSession(call, name, async (store, id) => {
      const session = await valueOrUnreadable(openSession(store, id))
      const before = session.conversation()
      const { head } = await valueOrUnreadable(session.rewind(to < 0 ? (before.slice(to).positionAt(0) as number) : to))
      const { length } = session.conversation()
      await terminal.print([
        `${id}: ${countText(before.length - length, 'message')} retracted, ${length} left of ${session.len}, head ${headForTerminal(head, terminal)}`,
      ])
    })
  },
}
