/** `indelible show FILE --check`: the format of a recorded conversation, and its problems. */
import { faultMessage } from 'indelible'
import { isLeft, present } from 'indelible/internal/json'
import { mend, settle } from 'indelible/message'
import { Unreadable, type Call } from '../terminal/command.ts'
import { compareRoot } from '../sources/export-root.ts'
import { conversationIn, oneFile, pathOf, pickOf, transcriptIn, titleOf } from '../sources/input.ts'
import { damageLines, originLines, readLossLines } from '../terminal/report.ts'
import { countText, fitColumns, oneLine, wrapHanging } from '../terminal/screen.ts'

export const checkFile = async ({ values, positionals, terminal }: Call): Promise<void> => {
  const path = oneFile('show --check', positionals)
  const transcript = await transcriptIn(path, { pick: pickOf(values) }, terminal)
  const { format, messages, notes, damage, losses, count, pick, origin } = transcript
  const conversation = conversationIn(transcript)
  const settled = settle(conversation)
  const problems = isLeft(settled) ? settled.left.problems : []
  const root = await compareRoot(transcript)
  const { columns } = terminal
  if (values['json'] === true)
    await terminal.printJson([
      {
        ...{ format, count, pick, messages: messages.length, notes: notes.length, origin, damage },
        ...present({ root: root?.result }),
        ...{ losses, problems },
      },
    ])
  else
    await terminal.print([
      titleOf(path, transcript),
      ...originLines(transcript, columns),
      ...(damage.length === 0 ? ['damage: none'] : damageLines(damage, columns)),
      ...(root === undefined ? [] : wrapHanging(`root: ${root.text}`, columns, 2)),
      ...readLossLines(losses, columns),
      problems.length === 0
        ? 'pairing: every call has its result'
        : `pairing: ${countText(problems.length, 'fault')}, ${countText(mend(conversation).repairs.length, 'repair')} would settle it`,
      ...problems.slice(0, mostShown).map((problem) => fitColumns(`  ${oneLine(faultMessage(problem))}`, columns)),
      ...(problems.length > mostShown ? [`  … and ${problems.length - mostShown} more`] : []),
    ])
  if (damage.length > 0) throw new Unreadable(`${pathOf(path)}: ${countText(damage.length, 'damaged line')}`)
  if (root?.result === 'differs') throw new Unreadable(`${pathOf(path)}: the file was changed after it was exported`)
}

const mostShown = 40
