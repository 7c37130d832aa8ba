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

export function* readLossLines(losses: readonly TranscriptLoss[], columns: number): Generator<string> {
  if (losses.length === 0) return
  yield `changed while reading: ${countText(losses.length, 'value')}`
  yield* groupEqual(
    losses,
    ({ path, reason }) => `${formatPath(path.slice(-1))} ${reason}`,
    ({ line }) => `line ${line}`,
    columns,
  )
}

/** The losses of reading, on standard error, for commands that store their input. */
export const tellReadLosses = (id: string, losses: readonly TranscriptLoss[], { tell, columns }: Terminal): void => {
  const [first, ...others] = readLossLines(losses, columns)
  if (first !== undefined) tell([`${id}: ${first}`, ...others])
}

export function* lossLines(losses: readonly Loss[], columns: number): Generator<string> {
  if (losses.length === 0) return
  yield `losses: ${countText(losses.length, 'value')} that the format can't hold`
  yield* groupEqual(
    losses,
    ({ path, reason }) => {
      const field = formatPath(path.filter((step) => typeof step === 'string'))
      return field === '' ? reason : `${field}: ${reason}`
    },
    ({ position }) => String(position),
    columns,
  )
}

export function* repairLines(repairs: readonly Repair[], columns: number): Generator<string> {
  if (repairs.length === 0) return
  yield `repairs: ${countText(repairs.length, 'problem')} that a provider would refuse`
  yield* groupEqual(
    repairs,
    ({ problem, done }) => `${repairTexts[problem._tag]}: ${done}`,
    ({ problem }) => String(problem.position),
    columns,
  )
}

const repairTexts = {
  UnansweredCall: 'a call without a result',
  DuplicateCallId: 'a call with the id of an earlier one',
  OrphanResult: 'a result without its call',
  DuplicateResult: 'a second result for a call',
  ResultBeforeCall: 'a result before its call',
  ResultNotAdjacent: 'a result that does not follow its call',
} as const satisfies { readonly [Tag in Repair['problem']['_tag']]: string }

/** Groups equal problems: the number, the problem, and the first few places. */
export function* groupEqual<T>(
  all: readonly T[],
  kindOf: (each: T) => string,
  placeOf: (each: T) => string,
  columns: number,
): Generator<string> {
  const places = new Map<string, Set<string>>()
  const times = new Map<string, number>()
  for (const each of all) {
    const kind = oneLine(kindOf(each))
    times.set(kind, (times.get(kind) ?? 0) + 1)
    const known = places.get(kind)
    if (known === undefined) places.set(kind, new Set([placeOf(each)]))
    else if (known.size <= mostPlaces) known.add(placeOf(each))
  }
  for (const [kind, found] of [...places].slice(0, mostShown)) {
    const first = [...found].slice(0, mostPlaces)
    yield fitColumns(`  ${padStart(groupedNumber(times.get(kind) ?? 0), 6)} × ${kind}`, columns)
    yield fitColumns(`           at ${first.join(', ')}${found.size > mostPlaces ? ', …' : ''}`, columns)
  }
  if (places.size > mostShown) yield `  … and ${places.size - mostShown} more`
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
