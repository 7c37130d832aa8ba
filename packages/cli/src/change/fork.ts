/** `indelible fork SESSION`: a new session that begins with the first messages of another. */
import { openCalls, pairCalls } from 'indelible/message'
import { createFork, describeSession, readRange } from 'indelible/session'
import type { Store } from 'indelible/store'
import { Misuse, Unreadable, wholeNumber, type Command } from '../terminal/command.ts'
import { valueOrUnreadable, headForTerminal, sessionOfCall, storeOption } from '../sources/place.ts'
import { withSession } from '../sources/sessions.ts'
import { countText, oneLine, shellWord } from '../terminal/screen.ts'

export const fork: Command = {
  name: 'fork',
  synopsis: 'fork SESSION',
  purpose: 'start a session with the first messages of another',
  usage: ['fork SESSION [--at N] [options]'],
  about: `Starts a session with the first N messages of another, and prints its id. Both
share these messages; nothing is copied, so a fork costs the same at any length.`,
  options: {
    at: {
      value: 'N',
      help: 'the number of messages to share; a negative N omits the last N messages (default: all)',
    },
    id: { value: 'NAME', help: 'the id of the new session (default: a random one)' },
    ...storeOption,
  },
  run: async (call) => {
    const { values, terminal } = call
    const input = sessionOfCall('fork', call)
    const at = wholeNumber('--at', values['at'], undefined)
    const name = values['id']
    if (name === '') throw new Misuse('--id takes a NAME')
    await withSession(call, input, async (store, id) => {
      const { len } = await valueOrUnreadable(describeSession(store, id))
      const shared = at === undefined ? len : at < 0 ? len + at : at
      if (shared < 0 || shared > len)
        throw new Unreadable(
          `${id}: has ${countText(len, 'message')}, so --at takes 0 to ${len}, or -1 to -${len}; nothing was forked`,
        )
      const open = await openCallAdvice(store, id, shared) // first: an unreadable session must not be forked
      const info = await valueOrUnreadable(
        createFork(store, id, { at: shared, ...(typeof name === 'string' && { id: name }) }),
      )
      await terminal.print([
        `${info.id}: ${countText(info.len, 'message')} of ${id}, head ${headForTerminal(info.head, terminal)}`,
      ])
      terminal.tell(open(info.id))
    })
  },
}

/** The advice for a fork that ends within a turn: the calls without results, and the positions of their results. */
const openCallAdvice = async (store: Store, id: string, at: number): Promise<(fork: string) => readonly string[]> => {
  const { view } = await valueOrUnreadable(readRange(store, id, Math.max(0, at - longestTurn), at + longestTurn))
  const first = Math.max(0, at - longestTurn)
  const open = openCalls(view.slice(0, at - first))
  if (open.length === 0) return () => []
  const answered = new Map(pairCalls(view).map((call) => [`${call.position} ${call.part}`, call.answer?.position]))
  const ends = open.map(({ position, part }) => answered.get(`${position} ${part}`))
  const names = [...new Set(open.map(({ name }) => oneLine(name)))].slice(0, 3).join(', ')
  const missing = `the fork ends inside a turn: ${countText(open.length, 'call')} without a result (${names})`
  const whole = ends.every((end) => end !== undefined)
    ? `--at ${first + ends.reduce((last, end) => Math.max(last, end)) + 1} includes the results; `
    : ''
  return (fork) => [
    `${missing}; ${whole}"indelible append ${shellWord(fork)} TEXT --interrupted" first appends error results`,
  ]
}

/** How many messages on each side of the fork are searched for its turn. */
const longestTurn = 200
