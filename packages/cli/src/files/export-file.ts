/** `indelible export FILE`: writes the conversation of a file as a request of another format. */
import { exportLines, exportOf, type Transcript } from '@indelible/transcripts'
import type { Call } from '../terminal/command.ts'
import { conversationIn, nameOf, pickOf, readTranscriptFile } from '../sources/input.ts'
import { writeOut } from '../sources/write-out.ts'
import { damageLines, readLossLines, writtenLines } from '../terminal/report.ts'
import { countText } from '../terminal/screen.ts'
import { writeMessages, withoutFeeds, type WrittenLines } from './written-formats.ts'

/** @returns the exit code */
export const exportFile = async (path: string, to: string, { values, terminal }: Call): Promise<number> => {
  const out = values['out']
  const transcript = await readTranscriptFile(
    path,
    { pick: pickOf(values), strict: values['strict'] === true },
    terminal,
  )
  const { lines, written, repairs, losses } =
    to === 'indelible' ? toExport(transcript) : writeMessages(conversationIn(transcript), to, transcript.origin.title)

  if (typeof out === 'string') await writeOut(out, lines, { input: path, force: values['force'] === true, terminal })
  else if (to === 'markdown') await terminal.printWhole(lines)
  else await terminal.printJsonLines(lines)

  const { format, damage } = transcript
  if (values['json'] === true)
    terminal.tellJson({
      format,
      to,
      read: transcript.messages.length,
      written,
      damage,
      readLosses: transcript.losses,
      repairs,
      losses,
    })
  else
    terminal.tell([
      ...damageLines(damage, terminal.columns),
      ...readLossLines(transcript.losses, terminal.columns),
      ...writtenLines({ repairs, losses }, terminal.columns),
      `${nameOf(path)}: ${countText(transcript.messages.length, 'message')} of ${format}, ${countText(written, 'entry', 'entries')} of ${to} written${typeof out === 'string' ? ` to ${out}` : ''}; ${countText(damage.length, 'damaged line')}, ${countText(repairs.length, 'repair')}, ${countText(losses.length, 'loss', 'losses')}`,
    ])
  return damage.length > 0 || terminal.hasDamage() ? 1 : 0
}

const toExport = (transcript: Transcript): WrittenLines => ({
  lines: withoutFeeds(exportLines(exportOf(transcript))),
  written: transcript.messages.length + transcript.notes.length,
  repairs: [],
  losses: [],
})
