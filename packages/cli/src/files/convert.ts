/** `indelible convert FILE --to FORMAT`: writes a recorded conversation as a request of another format. */
import { faultMessage } from 'indelible'
import { isLeft } from 'indelible/json/kit'
import { codecs, type Codec, type Loss } from 'indelible/codecs'
import { createHistory, omitRanges } from 'indelible/history'
import { mend, type Message, type Repair, type Sequence, type Settled } from 'indelible/message'
import { exportLines, exportOf, type Transcript } from '@indelible/transcripts'
import { Misuse, Unreadable, type Command } from '../terminal/command.ts'
import { nameOf, oneFile, pickOf, readTranscriptFile, retractedIn } from '../sources/input.ts'
import { writeOut } from '../sources/write-out.ts'
import { damageLines, lossLines, readLossLines, repairLines } from '../terminal/report.ts'
import { countText } from '../terminal/screen.ts'

/** Every format that can be written. */
export const formats: readonly string[] = [...Object.keys(codecs), 'indelible']

export const convert: Command = {
  name: 'convert',
  synopsis: 'convert FILE',
  purpose: 'write a recorded conversation in another format',
  usage: ['convert FILE --to FORMAT [options]'],
  about: `Reads a conversation in any format that "show" reads and prints it in another:
${formats.join(', ')}.

The output is a request that a provider accepts: a call without a result gets an
error result, and so on. "indelible" is the record without repairs, one JSON
line per row. The repairs, the content that the format can't hold and the
damaged lines of FILE are listed on standard error; damage makes the exit code
1, as does an export of Indelible whose rows were changed. If FILE is -, it
reads standard input.`,
  options: {
    to: { value: 'FORMAT', help: 'the format to write' },
    pick: { value: 'N', help: 'which conversation, if the file has several (default 0)' },
    out: { value: 'FILE', help: 'write to a file, which must not exist' },
    force: { help: 'overwrite the file that --out names' },
    strict: { help: 'stop at the first damaged line' },
    json: { help: 'print the report as one JSON object, for programs' },
  },
  examples: ['indelible convert session.jsonl --to anthropic --out request.json'],
  run: async ({ values, positionals, terminal }) => {
    const path = oneFile('convert', positionals)
    const to = values['to']
    if (typeof to !== 'string') throw new Misuse(`convert needs --to FORMAT: one of ${formats.join(', ')}`)
    if (!formats.includes(to)) throw new Misuse(`--to: "${to}" is not a format; expected ${formats.join(', ')}`)
    const out = values['out']
    const transcript = await readTranscriptFile(
      path,
      { pick: pickOf(values), strict: values['strict'] === true },
      terminal,
    )
    const { lines, written, repairs, losses } =
      to === 'indelible' ? toExport(transcript) : encodeForProvider(conversationOf(transcript), to)

    if (typeof out === 'string') await writeOut(out, lines, { input: path, force: values['force'] === true, terminal })
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
        ...repairLines(repairs, terminal.columns),
        ...lossLines(losses, terminal.columns),
        `${nameOf(path)}: ${countText(transcript.messages.length, 'message')} of ${format}, ${countText(written, 'entry', 'entries')} of ${to} written${typeof out === 'string' ? ` to ${out}` : ''}; ${countText(damage.length, 'damaged line')}, ${countText(repairs.length, 'repair')}, ${countText(losses.length, 'loss', 'losses')}`,
      ])
    return damage.length > 0 || terminal.hasDamage() ? 1 : 0
  },
}

/** The messages that were not retracted. */
const conversationOf = (transcript: Transcript): Sequence<Message> => {
  const ranges = retractedIn(transcript)
  return ranges.length === 0
    ? transcript.messages
    : omitRanges(createHistory<Message>({ from: transcript.messages }).view(), ranges)
}

export interface ConvertedLines {
  readonly lines: Iterable<string>
  readonly written: number
  readonly repairs: readonly Repair[]
  readonly losses: readonly Loss[]
}

const toExport = (transcript: Transcript): ConvertedLines => ({
  lines: withoutFeeds(exportLines(exportOf(transcript))),
  written: transcript.messages.length + transcript.notes.length,
  repairs: [],
  losses: [],
})

export function* withoutFeeds(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield line.slice(0, -1)
}

/** A conversation as a request that a provider accepts. Throws Unreadable. */
export const encodeForProvider = (messages: Sequence<Message>, to: string): ConvertedLines => {
  const mended = mend(messages)
  const codec = (codecs as unknown as { readonly [format: string]: Codec<unknown> })[to] // its name is one of theirs
  const result = codec?.encode(mended.messages as Settled<Sequence<Message>>)
  if (result === undefined || isLeft(result))
    throw new Unreadable(result === undefined ? `${to} can't be written` : faultMessage(result.left))
  const { wire, losses } = result.right
  return { lines: jsonLines(wire), written: sizeOf(wire), repairs: mended.repairs, losses }
}

/** A value as JSON with one line for each entry of its lists, easy to read, compare and write in pieces. */
export function* jsonLines(wire: unknown): Generator<string> {
  if (Array.isArray(wire)) yield* listLines('', wire as readonly unknown[], '')
  else if (typeof wire !== 'object' || wire === null) yield JSON.stringify(wire)
  else {
    yield '{'
    const fields = Object.entries(wire as { readonly [field: string]: unknown })
    for (const [index, [name, value]] of fields.entries()) {
      const comma = index < fields.length - 1 ? ',' : ''
      if (Array.isArray(value)) yield* listLines(`${JSON.stringify(name)}: `, value as readonly unknown[], comma)
      else yield `${JSON.stringify(name)}: ${JSON.stringify(value)}${comma}`
    }
    yield '}'
  }
}

function* listLines(before: string, list: readonly unknown[], after: string): Generator<string> {
  if (list.length === 0) return yield `${before}[]${after}`
  yield `${before}[`
  for (let index = 0; index < list.length; index++)
    yield `${JSON.stringify(list[index])}${index < list.length - 1 ? ',' : ''}`
  yield `]${after}`
}

const sizeOf = (wire: unknown): number => {
  if (Array.isArray(wire)) return wire.length
  const messages =
    typeof wire === 'object' && wire !== null ? (wire as { readonly messages?: unknown }).messages : undefined
  return Array.isArray(messages) ? messages.length : 1
}
