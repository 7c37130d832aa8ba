/** `indelible export`: writes a session or a file as a provider's request, or whole, to import elsewhere. */
import { isLeft } from 'indelible/internal/json'
import { describeSession, exportSession, readRange, readSession } from 'indelible/session'
import { damageLines, isFile, isThere } from '../sources/conversation.ts'
import { conversationOfCall } from '../sources/input.ts'
import type { Store } from 'indelible/store'
import { refuseUndone } from 'indelible/internal/store'
import { reasonOf } from 'indelible/internal/task'
import { exportLines } from '@indelible/transcripts'
import { claudeAgentText, titleOf } from '@indelible/view/internal'
import { htmlOf } from '@indelible/view'
import { Misuse, Unreadable, wholeNumber, type Call, type Command } from '../terminal/command.ts'
import { exportFile } from './export-file.ts'
import { formats, withoutFeeds, writeMessages, type WrittenLines } from './written-formats.ts'
import { writeOut } from '../sources/write-out.ts'
import { valueOrUnreadable, faultText, storeOption } from '../sources/place.ts'
import { redactorIn, reportRedactions } from '../sources/redaction.ts'
import { writtenLines } from '../terminal/report.ts'
import { withSession } from '../sources/sessions.ts'
import { countText, shellWord } from '../terminal/screen.ts'
import { version } from '../terminal/version.ts'
import type { DamagedRow } from 'indelible/internal/session'

export const exportCommand: Command = {
  name: 'export',
  synopsis: 'export SESSION|FILE',
  purpose: 'write a conversation in another format',
  usage: ['export [SESSION] --to FORMAT [options]', 'export FILE --to FORMAT [options]'],
  about: `Prints a conversation in another format: ${formats.join(', ')}; of a
session also html. FILE is any file that "show" reads, or - for standard input.

"indelible" is the whole record, one JSON line per row, with its notes and its
head. Importing it gives the same record with the same head. Stored files are
not in it, nor are the tools and instructions of recorded calls, so "verify"
reports them as missing in another store. "indelible copy" copies them, too.

"markdown" is for people: what was said, with reasoning, calls and results folded.

The other formats are requests that a provider accepts: a call without a result
gets an error result. The repairs, the content that the format can't hold, and the
damaged lines of FILE are listed on standard error; damage makes the exit code 1,
as does an export of Indelible whose rows were changed.

"html" is the page of "indelible view" with the session inside: one file, which
opens in a browser without a network and verifies itself. Messages that --from
and --until omit, or that --redact changes, are in the proof by their hash.`,
  options: {
    to: { value: 'FORMAT', help: 'the format to write' },
    from: { value: 'N', help: 'html: start at position N; a negative N counts from the end' },
    until: { value: 'N', help: 'html: stop before position N' },
    redact: { help: 'html: remove text that looks like a secret' },
    pick: { value: 'N', help: 'FILE: which conversation, if it has several (default 0)' },
    strict: { help: 'FILE: stop at the first damaged line' },
    json: { help: 'FILE: print the report as one JSON object, for programs' },
    out: { value: 'FILE', help: 'write to a file, which must not exist' },
    force: { help: 'overwrite the file that --out names' },
    ...storeOption,
  },
  run: async (call): Promise<number | void> => {
    const { values, terminal } = call
    const name = conversationOfCall('export', call.positionals)
    const { to, out } = values
    const isOfFile =
      name !== undefined && isFile(name, call) && (to !== 'html' || name === '-' || isThere(name, terminal))
    const known = isOfFile ? formats : [...formats, 'html']
    if (isOfFile && to === 'html')
      throw new Misuse(
        `--to html writes a session, not a file: "indelible import ${shellWord(name)}" stores the file as one`,
      )
    if (typeof to !== 'string') throw new Misuse(`export needs --to FORMAT: one of ${known.join(', ')}`)
    if (!known.includes(to)) throw new Misuse(`--to: "${to}" is not a format; expected ${known.join(', ')}`)
    const unfitting = (isOfFile ? htmlOptions : fileOptions).find((option) => values[option] !== undefined)
    if (unfitting !== undefined)
      throw new Misuse(
        `--${unfitting} goes with a ${isOfFile ? 'SESSION' : 'FILE'}, but ${name ?? 'the latest session'} is a ${isOfFile ? 'file' : 'session'}`,
      )
    const other = to === 'html' ? undefined : htmlOptions.find((name) => values[name] !== undefined)
    if (other !== undefined) throw new Misuse(`--${other} goes with --to html`)
    if (isOfFile) return exportFile(name, to, call)
    return withSession(call, name, async (store, id) => {
      if (to !== 'indelible') await valueOrUnreadable(async () => refuseUndone(store, id))
      const claudeAgent =
        to === 'indelible' || to === 'html'
          ? undefined
          : claudeAgentText(await valueOrUnreadable(describeSession(store, id)))
      if (claudeAgent !== undefined) throw new Unreadable(`${id}: ${claudeAgent}`)
      let damaged: readonly DamagedRow[] = []
      const readable = <T extends { readonly damaged?: readonly DamagedRow[] }>(session: T): T => {
        damaged = session.damaged ?? []
        terminal.tellDamage(damageLines(id, damaged))
        return session
      }
      const read = to === 'html' ? await readSession(store, id)() : undefined
      if (read !== undefined && !isLeft(read)) readable(read.right) // without a key, the file has the rows as they are stored
      const { lines, repairs, losses }: Pick<WrittenLines, 'lines' | 'repairs' | 'losses'> =
        to === 'html'
          ? { lines: await htmlLines(store, id, call), repairs: [], losses: [] }
          : to === 'indelible'
            ? {
                lines: withoutFeeds(exportLines(readable(await valueOrUnreadable(exportSession(store, id))))),
                repairs: [],
                losses: [],
              }
            : await messageLines(store, id, to, readable)
      if (typeof out === 'string') await writeOut(out, lines, { input: '-', force: values['force'] === true, terminal })
      else if (to === 'markdown') await terminal.printWhole(lines)
      else await terminal.printJsonLines(lines)
      terminal.tell(writtenLines({ repairs, losses }, terminal.columns))
      if (typeof out === 'string')
        terminal.tell([
          `${id}: written to ${out} as ${to}${losses.length === 0 ? '' : `, ${countText(losses.length, 'loss', 'losses')}`}`,
        ])
      if (damaged.length > 0)
        throw new Unreadable(
          `${id}: the export has ${to === 'html' ? '' : 'placeholders for '}${countText(damaged.length, 'damaged row')}`,
        )
    })
  },
}

/** The options that only a session takes, and those that only a file takes. */
const htmlOptions = ['from', 'until', 'redact']
const fileOptions = ['pick', 'strict', 'json']

const messageLines = async (
  store: Store,
  id: string,
  to: string,
  readable: <T extends { readonly damaged?: readonly DamagedRow[] }>(session: T) => T,
): Promise<WrittenLines> => {
  const session = readable(await valueOrUnreadable(readSession(store, id)))
  return writeMessages(
    session.conversation(),
    to,
    to === 'markdown' ? titleOf({ metadata: session.metadata() }) : undefined,
  )
}

const htmlLines = async (store: Store, id: string, { values, terminal }: Call): Promise<readonly string[]> => {
  const { len, encrypted } = await valueOrUnreadable(describeSession(store, id))
  const at = (name: string, otherwise: number): number => {
    const count = wholeNumber(`--${name}`, values[name], otherwise)
    return count < 0 ? Math.max(0, len + count) : count
  }
  const [from, to] = [at('from', 0), at('until', len)]
  if ((values['from'] ?? values['until']) !== undefined && from >= Math.min(to, len))
    throw new Unreadable(
      `${id}: has ${countText(len, 'message')}, and none from ${from} to before ${to}; nothing was written`,
    )
  const readable = encrypted && len > 0 ? await readRange(store, id, 0, 1)() : undefined
  const redactor = redactorIn(values)
  try {
    const lines = await htmlOf(store, id, { from, to, ...(redactor && { redact: redactor }), version: version() })
    if (readable !== undefined && isLeft(readable))
      terminal.tell([`${id}: the page contains the messages in encrypted form: ${faultText(readable.left)}`])
    reportRedactions(redactor, terminal)
    return lines
  } catch (error) {
    throw new Unreadable(reasonOf(error))
  }
}
