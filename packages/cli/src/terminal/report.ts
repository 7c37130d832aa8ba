/** The problems of a conversation as lines for people. Problems of one kind share a line with their places. */
import { formatPath } from 'indelible/internal/json'
import type { Loss } from 'indelible/codecs'
import type { Repair } from 'indelible/message'
import type { Transcript } from '@indelible/transcripts'
import type { Terminal } from './command.ts'
import { countText, fitColumns, groupedNumber, oneLine, padStart } from './screen.ts'
import type { Damage, TranscriptLoss } from '@indelible/transcripts/internal'

/** The lines that were skipped or only partly read. */
export function* damageLines(damage: readonly Damage[], columns: number): Generator<string> {
  if (damage.length === 0) return
  yield `damage: ${countText(damage.length, 'line')}`
  for (const { line, reason, offset } of damage.slice(0, mostShown))
    yield fitColumns(
      `  line ${padStart(String(line), 5)}  ${oneLine(reason)}${offset === undefined ? '' : ` (byte ${offset})`}`,
      columns,
    )
  if (damage.length > mostShown) yield `  … and ${groupedNumber(damage.length - mostShown)} more`
}

/** A single line about damage, if any, for commands that continue with the rest. */
export const leftOutLines = (name: string, damage: readonly Damage[]): readonly string[] => {
  if (damage.length === 0) return []
  const lines = damage.slice(0, mostPlaces).map(({ line }) => groupedNumber(line))
  const more = damage.length > mostPlaces ? ', …' : ''
  return [
    `${name}: ${countText(damage.length, 'damaged line')} (${lines.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}${more}); "indelible show --check" says why`,
  ]
}

export const readLossLines = (losses: readonly TranscriptLoss[], columns: number): readonly string[] =>
  groupEqual(
    `changed while reading: ${countText(losses.length, 'value')}`,
    losses.map(({ path, reason, line }) => [`${formatPath(path.slice(-1))} ${reason}`, `line ${line}`]),
    columns,
  )

/** The losses of reading, on standard error, for commands that store their input. */
export const tellReadLosses = (id: string, losses: readonly TranscriptLoss[], { tell, columns }: Terminal): void => {
  const [first, ...others] = readLossLines(losses, columns)
  if (first !== undefined) tell([`${id}: ${first}`, ...others])
}

/** What a format can't hold, and what had to be changed for it. */
export const writtenLines = (
  { repairs, losses }: { readonly repairs: readonly Repair[]; readonly losses: readonly Loss[] },
  columns: number,
): readonly string[] => [
  ...groupEqual(
    `repairs: ${countText(repairs.length, 'problem')} that a provider would refuse`,
    repairs.map(({ problem, done }) => [`${repairTexts[problem._tag]}: ${done}`, String(problem.position)]),
    columns,
  ),
  ...groupEqual(
    `losses: ${countText(losses.length, 'value')} that the format can't hold`,
    losses.map(({ path, reason, position }) => {
      const field = formatPath(path.filter((step) => typeof step === 'string'))
      return [field === '' ? reason : `${field}: ${reason}`, String(position)]
    }),
    columns,
  ),
]

const repairTexts = {
  UnansweredCall: 'a call without a result',
  DuplicateCallId: 'a call with the id of an earlier one',
  OrphanResult: 'a result without its call',
  DuplicateResult: 'a second result for a call',
  ResultBeforeCall: 'a result before its call',
  ResultNotAdjacent: 'a result that does not follow its call',
} as const satisfies { readonly [Tag in Repair['problem']['_tag']]: string }

/** Groups equal problems under a heading: the number, the problem, and the first few places. Nothing without problems. */
const groupEqual = (
  heading: string,
  problems: readonly (readonly [kind: string, place: string])[],
  columns: number,
): readonly string[] => {
  const kinds = Map.groupBy(problems, ([kind]) => oneLine(kind))
  if (kinds.size === 0) return []
  const lines = [...kinds].slice(0, mostShown).flatMap(([kind, found]) => {
    const places = [...new Set(found.map(([, place]) => place))]
    return [
      `  ${padStart(groupedNumber(found.length), 6)} × ${kind}`,
      `           at ${places.slice(0, mostPlaces).join(', ')}${places.length > mostPlaces ? ', …' : ''}`,
    ]
  })
  const more = kinds.size > mostShown ? [`  … and ${kinds.size - mostShown} more`] : []
  return [heading, ...lines.map((line) => fitColumns(line, columns)), ...more]
}

const mostShown = 20
const mostPlaces = 8

/** The origin of a conversation, as lines of names and values. */
export function* originLines({ origin, notes }: Transcript, columns: number): Generator<string> {
  const { version, id, title, started, ended, models, usage, uses = [], aside } = origin
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['title', title],
    ['id', id],
    ['version', version],
    ['time', started === undefined ? undefined : started === ended ? started : `${started} to ${ended}`],
    ['models', models.length === 0 ? undefined : models.join(', ')],
    [
      'tokens',
      usage &&
        `${groupedNumber(usage.input)} in (${groupedNumber(usage.cacheRead ?? 0)} from a cache), ${uses.some((use) => use.undercounted !== undefined) ? 'at least ' : ''}${groupedNumber(usage.output)} out`,
    ],
    ['notes', notes.length === 0 ? undefined : groupedNumber(notes.length)],
    [
      'aside',
      Object.keys(aside).length === 0
        ? undefined
        : Object.entries(aside)
            .map(([kind, count]) => `${groupedNumber(count)} × ${kind}`)
            .join(', '),
    ],
  ]
  for (const [name, fact] of facts)
    if (fact !== undefined) yield fitColumns(`  ${name.padEnd(8)} ${oneLine(fact)}`, columns)
}

/** The warning about a table of a program's database that is not read. */
export const unreadTableText = (table: string, rows: number): string =>
  `${countText(rows, 'row')} of the table ${table} can't be read: a newer version wrote them`
