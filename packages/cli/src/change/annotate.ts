/** `indelible note`, `pin`, `retag` and `rename`: notes about a record. Messages don't change. */
import { isObject } from 'indelible/internal/json'
import { isPageKind, pageKinds } from 'indelible/pages'
import { openSession } from 'indelible/session'
import { Misuse, wholeNumber, type Command } from '../terminal/command.ts'
import { valueOrUnreadable, positionIn, sessionOfCall, headForTerminal, storeOption } from '../sources/place.ts'
import { countText, oneLine } from '../terminal/screen.ts'
import { withSession } from '../sources/sessions.ts'

export const note: Command = {
  name: 'note',
  synopsis: 'note SESSION TEXT',
  purpose: 'append a note to a session',
  usage: ['note SESSION TEXT [--at N] [options]'],
  about: `Appends a note to the record of a session. Models do not get it, and
no message changes. "indelible show SESSION N" prints the notes on a message,
and "indelible show --follow" all of them.`,
  options: {
    at: { value: 'N', help: 'the position of the message that the note is about; a negative N counts from the end' },
    namespace: { value: 'NAME', help: 'which application the note belongs to (default: indelible.note)' },
    ...storeOption,
  },
  examples: ['indelible note mine "Here the plan changed." --at 17'],
  run: async (call) => {
    const name = sessionOfCall('note', call, 1)
    const { values, positionals, terminal } = call
    const text = positionals[1]
    if (text === undefined || text.trim() === '') throw new Misuse('note needs a TEXT')
    const at = wholeNumber('--at', values['at'], undefined)
    const namespace = values['namespace'] ?? 'indelible.note'
    if (typeof namespace !== 'string' || namespace === '') throw new Misuse('--namespace takes a NAME')
    await withSession(call, name, async (store, id) => {
      const session = await valueOrUnreadable(openSession(store, id))
      const position = at === undefined ? undefined : positionIn(id, session.len, at, nothingWritten)
      const { head } = await valueOrUnreadable(
        session.note({
          type: 'application',
          namespace,
          content: { ...(position !== undefined && { position }), text },
        }),
      )
      await terminal.print([
        `${id}: noted${position === undefined ? '' : ` at ${position}`}, head ${headForTerminal(head, terminal)}`,
      ])
    })
  },
}

export const pin: Command = {
  name: 'pin',
  synopsis: 'pin SESSION N…',
  purpose: 'keep messages in every context',
  usage: ['pin SESSION N… [--off] [options]'],
  about: `Pins messages: from now on every context keeps them as constraints. A
negative N counts from the end.`,
  options: { off: { help: 'unpin: the messages get their own page kinds back' }, ...storeOption },
  examples: ['indelible pin mine 0 17'],
  run: async (call) => {
    const [name, ...rest] = call.positionals
    sessionOfCall('pin', { ...call, positionals: call.positionals.slice(0, 1) })
    if (rest.length === 0) throw new Misuse('pin needs N: the position of a message')
    const wanted = rest.map((each) => wholeNumber('pin: N', each, 0))
    const off = call.values['off'] === true
    await withSession(call, name as string, async (store, id) => {
      const session = await valueOrUnreadable(openSession(store, id))
      const positions = wanted.map((at) => positionIn(id, session.len, at, nothingWritten))
      let head = session.head()
      const type = off ? 'unpin' : 'pin'
      for (const position of positions) head = (await valueOrUnreadable(session.note({ type, position }))).head
      await call.terminal.print([
        `${id}: ${countText(positions.length, 'message')} ${off ? 'no longer pinned' : 'pinned'}, head ${headForTerminal(head, call.terminal)}`,
      ])
    })
  },
}

export const retag: Command = {
  name: 'retag',
  synopsis: 'retag SESSION N KIND',
  purpose: 'give a message another page kind',
  usage: ['retag SESSION N KIND [options]'],
  about: `Sets the page kind of a message: ${pageKinds.join(', ')}. The kind
decides how far a context may shorten the message. The record also keeps the
original kind. A negative N counts from the end.`,
  options: storeOption,
  examples: ['indelible retag mine 4 plan'],
  run: async (call) => {
    const name = sessionOfCall('retag', call, 2)
    const [, at, kind] = call.positionals
    const wanted = wholeNumber('retag: N', at, undefined)
    if (wanted === undefined) throw new Misuse('retag needs N: the position of a message')
    if (!isPageKind(kind))
      throw new Misuse(`retag needs KIND: one of ${pageKinds.join(', ')}${kind === undefined ? '' : `, not "${kind}"`}`)
    await withSession(call, name, async (store, id) => {
      const session = await valueOrUnreadable(openSession(store, id))
      const position = positionIn(id, session.len, wanted, nothingWritten)
      const before = session.at().pages[position]
      const { head } = await valueOrUnreadable(session.note({ type: 'page', position, kind }))
      await call.terminal.print([
        `${id}: message ${position} is ${kind}, before ${before}, head ${headForTerminal(head, call.terminal)}`,
      ])
    })
  },
}

export const rename: Command = {
  name: 'rename',
  synopsis: 'rename SESSION TITLE',
  purpose: 'give a session a title',
  usage: ['rename SESSION TITLE [options]'],
  about: `Sets the title of a session, which lists show, and removes the title of
the file that it was imported from. An empty TITLE removes both. The id does not
change, because proofs and other records may refer to it. A title is metadata: it
is not part of the record, and no proof covers it.`,
  options: storeOption,
  examples: ['indelible rename 0f3c8a1d "The build fix"'],
  run: async (call) => {
    const name = sessionOfCall('rename', call, 1)
    const title = call.positionals[1]
    if (title === undefined) throw new Misuse('rename needs a TITLE')
    await withSession(call, name, async (store, id) => {
      const session = await valueOrUnreadable(openSession(store, id))
      await valueOrUnreadable(
        session.update((metadata) => {
          if (title === '') delete metadata['title']
          else metadata['title'] = title
          if (isObject(metadata['from'])) delete metadata['from']['title']
        }),
      )
      await call.terminal.print([`${id}: ${title === '' ? 'has no title of its own' : oneLine(title)}`])
    })
  },
}

const nothingWritten = '; nothing was written'
