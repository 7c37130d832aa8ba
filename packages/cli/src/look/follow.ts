/** `indelible show SESSION --follow`: messages and notes as they are stored, by this process or any other. */
import { FaultError } from 'indelible'
import type { Message } from 'indelible/message'
import { isLeft, present } from 'indelible/internal/json'
import { describeSession, follow, readRange, type SessionFault } from 'indelible/session'
import type { Store, StoredRow, StoreFault } from 'indelible/store'
import { isRecorded } from 'indelible/internal/store'
import { Unreadable, wholeNumber, type Call, type Style, type Terminal } from '../terminal/command.ts'
import { valueOrUnreadable, faultText, sessionToRead } from '../sources/place.ts'
import { withSession } from '../sources/sessions.ts'
import { fitColumns, oneLine, padEnd, padStart } from '../terminal/screen.ts'
import { onStop } from '../terminal/program.ts'
import { gistOf } from '../terminal/timeline.ts'
import { placeText } from '@indelible/view/internal'

export const followSession = async (call: Call): Promise<void> => {
  const named = sessionToRead('show --follow', call)
  const { values, terminal } = call
  const input = wholeNumber('--from', values['from'], -10)
  const abort = new AbortController()
  const ignore = onStop(terminal, () => abort.abort())
  try {
    await withSession(call, named, async (store, id) => {
      const { head } = await valueOrUnreadable(describeSession(store, id))
      const from = input < 0 ? Math.max(0, head.size + input) : input
      if (terminal.watched) terminal.tell([`${id}: prints new rows until Ctrl-C`])
      for await (const row of follow({ store, id }, { from, signal: abort.signal })) {
        const content = await contentOf(store, id, row)
        await (values['json'] === true
          ? terminal.printJson([jsonOf(row, content)])
          : terminal.print([lineOf(row, content, terminal)]))
        if ('damaged' in content)
          terminal.tellDamage([`${id}: ${placeText({ row: row.position })} is damaged: ${content.damaged}`])
      }
    })
  } catch (error) {
    if (!(error instanceof FaultError)) throw error
    throw new Unreadable(faultText(error.fault as SessionFault | StoreFault)) // `follow` throws only this kind of error
  } finally {
    ignore()
  }
}

/** The message or the note of a row, or the damage to it, whose text is not shown. */
type Content =
  | { readonly message: Message }
  | { readonly note: unknown; readonly message?: never }
  | { readonly damaged: string; readonly message?: never }

const contentOf = async (store: Store, id: string, row: StoredRow): Promise<Content> => {
  if (!(await valueOrUnreadable(isRecorded(store, id, row))))
    return { damaged: 'the row was altered after it was appended' }
  if (row.kind === 'note') return { note: JSON.parse(row.body) as unknown }
  const found = await readRange(store, id, row.index, row.index + 1)()
  if (isLeft(found) && found.left._tag === 'DamagedLog') return { damaged: found.left.reason }
  const { view } = await valueOrUnreadable(async () => found)
  return { message: view.at(0) as Message } // a followed row exists
}

const jsonOf = (row: StoredRow, content: Content): object => present({ ...row, body: undefined, ...content })

const lineOf = (row: StoredRow, content: Content, { columns, paint }: Terminal): string => {
  const position = paint('dim', padStart(String(row.position), 5))
  const time = paint('dim', new Date(row.at).toISOString().slice(11, 19))
  const space = Math.max(10, columns - 28)
  const [style, name, text]: readonly [Style, string, string] =
    content.message !== undefined
      ? [content.message.role === 'user' ? 'bold' : 'none', content.message.role, gistOf(content.message)]
      : 'damaged' in content
        ? ['red', 'damaged', content.damaged]
        : ['dim', 'note', oneLine(row.body)]
  return `${position}  ${time}  ${paint(style, padEnd(name, 9))}  ${paint(style === 'dim' ? 'dim' : 'none', fitColumns(text, space))}`
}
