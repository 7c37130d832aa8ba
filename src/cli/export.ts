/** `indelible export SESSION --to FORMAT`: a session as a request of a provider, or whole, to be imported elsewhere. */
import { exportSession, readSession } from '../session/index.ts'
import { exportLines } from '../transcript/index.ts'
import { Misuse, type Command } from './command.ts'
import { encoded, formats, withoutFeeds, wrapped, type Converted } from './convert.ts'
import { writeOut } from './write-out.ts'
import { answer, sessionOfCall, storeHelp, storeOption, withStore } from './place.ts'
import { lossLines, repairLines } from './report.ts'
import { counted } from './screen.ts'

export const exportSessionCommand: Command = {
  name: 'export',
  synopsis: 'export SESSION',
  purpose: 'write a session in another format',
  help: `Usage: indelible export SESSION --to FORMAT [options]

Prints a session in another format:
${wrapped(formats)}

"indelible" is the whole record, one JSON line a row, with its notes and its
head. An import gives the same record with the same head. The other formats are
requests that a provider accepts: a call without a result gets an error result.
The repairs and the content that the format can't hold are listed on standard
error.

Options:
  --to FORMAT    the format to write
  --out FILE     write to a file, which must not exist
  --force        overwrite the file that --out names
${storeHelp}
  -h, --help     print this help
`,
  options: { to: { type: 'string' }, out: { type: 'string' }, force: { type: 'boolean' }, ...storeOption },
  run: async (call) => {
    const { values, terminal } = call
    const id = sessionOfCall('export', call)
    const { to, out } = values
    if (typeof to !== 'string' || !formats.includes(to))
      throw new Misuse(`export needs --to FORMAT: one of ${formats.join(', ')}`)
    await withStore(call, {}, async (store) => {
      const { lines, repairs, losses }: Pick<Converted, 'lines' | 'repairs' | 'losses'> =
        to === 'indelible'
          ? { lines: withoutFeeds(exportLines(await answer(exportSession(store, id)))), repairs: [], losses: [] }
          : encoded((await answer(readSession(store, id))).conversation(), to)
      if (typeof out === 'string') await writeOut(out, lines, { input: '-', force: values['force'] === true, terminal })
      else await terminal.printJson(lines)
      terminal.tell([...repairLines(repairs, terminal.columns), ...lossLines(losses, terminal.columns)])
      if (typeof out === 'string')
        terminal.tell([
          `${id}: written to ${out} as ${to}${losses.length === 0 ? '' : `, ${counted(losses.length, 'loss', 'losses')}`}`,
        ])
    })
  },
}
