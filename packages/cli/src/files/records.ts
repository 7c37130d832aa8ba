/** `indelible records FILE`: how often and how generated code uses its call history. */
import { isLeft, type JsonTextProblem, parseJson } from 'indelible/json/kit'
import type { HistoryUsage, UsageEvidence } from '@indelible/records'
import type { Damage } from '@indelible/transcripts'
import { Misuse, Unreadable, wholeNumber, type Command } from '../terminal/command.ts'
import { nameOf, oneFile, pathOf, textOf } from '../sources/input.ts'
import { damageLines, groupEqual } from '../terminal/report.ts'
import { countText } from '../view/format-text.ts'
import { fitColumns, oneLine, padEnd, padStart } from '../terminal/screen.ts'

export const records: Command = {
  name: 'records',
  synopsis: 'records FILE',
  purpose: 'report how code uses the history of calls',
  usage: ['records [options] FILE'],
  about: `Reads a log of calls. Reports how often their code reads the history
of earlier calls, in which ways (filter, map, count, …), and the lines that show
it. FILE is JSON lines, or a JSON array; - reads standard input. An entry is a
call record with its programSource, or has the log fields historyAccessDetected
and historyQueryPatterns (in snake_case and as OpenTelemetry attributes, too). A
line that is not JSON is listed, and the exit code is 1; the other lines are
read.`,
  options: {
    name: {
      value: 'NAMES',
      help: 'the names of the history in the code, separated by commas (default conversationHistory, conversation_history)',
    },
    evidence: { value: 'N', help: 'the number of lines of evidence to show (default 20)' },
    json: { help: 'the whole summary as one JSON object, for programs' },
  },
  examples: ['indelible records calls.jsonl --name history'],
  run: async ({ values, positionals, terminal }) => {
    const path = oneFile('records', positionals, 'FILE: the log')
    const most = wholeNumber('--evidence', values['evidence'], 20, 0)
    const names =
      typeof values['name'] === 'string' ? values['name'].split(',').filter((name) => name !== '') : undefined
    if (names?.length === 0) throw new Misuse('--name takes at least one name')

    const { entries, damage } = logOf(await textOf(path, terminal), path)
    const { summarizeHistoryUse } = await import('@indelible/records') // loaded late: no other command needs the parser
    const usage = summarizeHistoryUse(
      entries.map(({ value }) => value),
      names && { names },
    )
    const placeOf = (index: number): string => entries[index]?.place ?? String(index)
    if (values['json'] === true) await terminal.printJson([{ ...withPlaces(usage, placeOf), damage }])
    else
      await terminal.print([
        `${nameOf(path)}: ${countText(entries.length, 'entry', 'entries')}`,
        ...summary(usage, { placeOf, most, columns: terminal.columns }).map((line) =>
          fitColumns(line, terminal.columns),
        ),
        ...afterBlankLine([...damageLines(damage, terminal.columns)]),
      ])
    if (damage.length > 0) throw new Unreadable(`${pathOf(path)}: ${countText(damage.length, 'damaged line')}`)
  },
}

interface Entry {
  readonly value: unknown
  /** Its place in the file. */
  readonly place: string
}

interface Log {
  readonly entries: readonly Entry[]
  /** The lines that are not entries. */
  readonly damage: readonly Damage[]
}

/** The entries of a JSON array or of JSON lines. Throws Unreadable for anything else. */
const logOf = (text: string, path: string): Log => {
  const body = text.startsWith('\ufeff') ? text.slice(1) : text
  const whole = parseJson(body)
  if (!isLeft(whole) && Array.isArray(whole.right))
    return {
      entries: (whole.right as readonly unknown[]).map((value, index) => ({ value, place: `entry ${index}` })),
      damage: [],
    }
  const entries: Entry[] = []
  const damage: Damage[] = []
  for (const [index, line] of body.split('\n').entries()) {
    if (line.trim() === '') continue
    const parsed = parseJson(line)
    if (!isLeft(parsed)) entries.push({ value: parsed.right, place: `line ${index + 1}` })
    else damage.push({ line: index + 1, reason: notJson(parsed.left) })
  }
  // A file that is a single value rather than lines is reported as a whole.
  if (isLeft(whole) && damage.length > 0 && (entries.length === 0 || body.trimStart().startsWith('[')))
    throw new Unreadable(
      `${pathOf(path)}: line ${whole.left.line}, column ${whole.left.column}: not JSON: expected ${whole.left.expected}, found ${whole.left.found}`,
    )
  return { entries, damage }
}

const notJson = ({ column, expected, found }: JsonTextProblem): string =>
  found === 'the end' ? 'is cut off' : `is not JSON at column ${column}: expected ${expected}, found ${found}`

/** The summary with the place of each entry in its file. */
const withPlaces = (usage: HistoryUsage, placeOf: (index: number) => string): object => ({
  ...usage,
  evidence: usage.evidence.map((each) => ({ place: placeOf(each.index), ...each })),
  skipped: usage.skipped.map((each) => ({ place: placeOf(each.index), ...each })),
})

interface SummaryOptions {
  readonly placeOf: (index: number) => string
  readonly most: number
  readonly columns: number
}

const summary = (usage: HistoryUsage, { placeOf, most, columns }: SummaryOptions): readonly string[] => {
  const { observed, using, patterns, evidence, skipped, report } = usage
  const percent = observed === 0 ? '' : ` (${Math.round((using / observed) * 100)} %)`
  const widest = patterns[0]?.calls ?? 1
  const room = Math.max(4, Math.min(30, columns - 26))
  const bar = (calls: number): string => '▪'.repeat(Math.max(1, Math.round((calls / widest) * room)))
  return [
    '',
    `history used   ${using} of ${countText(observed, 'observed call')}${percent}`,
    `call records   ${report.kept} valid, ${report.repaired} repaired`,
    ...(skipped.length > 0 ? [`left out       ${skipped.length}, neither a record nor log fields`] : []),
    ...afterBlankLine(
      patterns.map(({ pattern, calls }) => `${padEnd(pattern, 10)}${padStart(String(calls), 8)}  ${bar(calls)}`),
    ),
    ...afterBlankLine(evidence.slice(0, most).flatMap((each) => evidenceLines(each, placeOf))),
    ...(evidence.length > most ? [`${evidence.length - most} more lines of evidence: --evidence N`] : []),
    ...afterBlankLine(skipped.slice(0, 10).map(({ index, reason }) => `${placeOf(index)}: ${oneLine(reason)}`)),
    ...(skipped.length > 10 ? [`and ${skipped.length - 10} more`] : []),
    ...afterBlankLine([...repairedLines(report.entries, placeOf, columns)]),
  ]
}

/** The repairs of records, one line for each kind. */
function* repairedLines(
  entries: HistoryUsage['report']['entries'],
  placeOf: (index: number) => string,
  columns: number,
): Generator<string> {
  const repairs = entries.flatMap(({ index, fate, reasons }) =>
    fate === 'repaired' ? reasons.map((reason) => ({ index, reason })) : [],
  )
  if (repairs.length === 0) return
  yield `repaired: ${countText(repairs.length, 'field')} of the records`
  yield* groupEqual(
    repairs,
    ({ reason }) => reason,
    ({ index }) => placeOf(index),
    columns,
  )
}

/** Lines with an empty line before them; empty if there are none. */
const afterBlankLine = (lines: readonly string[]): readonly string[] => (lines.length > 0 ? ['', ...lines] : [])

const evidenceLines = (
  { index, methodName, callId, patterns, line, text }: UsageEvidence,
  placeOf: (index: number) => string,
): readonly string[] => {
  const call = oneLine(methodName ?? callId ?? '')
  const head = [
    placeOf(index),
    ...(call === '' ? [] : [fitColumns(call, 30)]),
    patterns.length === 0 ? 'read' : patterns.join(' '),
  ].join('  ')
  return text === undefined ? [head] : [head, `    ${padStart(String(line ?? 0), 3)}  ${oneLine(text)}`]
}

/** Like `counted`, but prints 0 as a number. */
