/** Two texts beside each other, compared down to the word, or to the character where few words are the same. */
import { diffChars, diffLines, diffWordsWithSpace, type ChangeObject } from 'diff'

/** A stretch of one of the texts. */
export interface Piece {
  readonly text: string
  /** `changed`: the other text has not got it. `left-out`: equal lines that are not shown. */
  readonly state: 'same' | 'changed' | 'left-out'
}

interface Sides {
  readonly before: readonly Piece[]
  readonly after: readonly Piece[]
}

/** Texts that are longer together are not compared: that would take too long. */
const longest = 400_000
/** The most edits looked for; lines that differ more are not compared. */
const mostEdits = 2000

/** The texts as pieces, with so many equal characters on each side of a change. Cost: O(texts · lines that changed), and within changed lines O(characters · edits). */
export const sidesOf = (before: string, after: string, around: number = 160): Sides => {
  const sides = { before: [] as Piece[], after: [] as Piece[] }
  const add = (name: keyof Sides, text: string, state: Piece['state']): void =>
    void (text !== '' && sides[name].push({ text, state }))
  const addToBoth = (text: string, isFirst: boolean, isLast: boolean): void => {
    const [head, tail] = [isFirst ? 0 : around, isLast ? 0 : around]
    const isLong = text.length > head + tail + around
    for (const name of ['before', 'after'] as const)
      if (!isLong) add(name, text, 'same')
      else {
        const [start, end] = [lineEndBefore(text, head), lineStartAfter(text, text.length - tail)]
        add(name, text.slice(0, start), 'same')
        add(name, text.slice(start, end), 'left-out')
        add(name, text.slice(end), 'same')
      }
  }
  const lines =
    before.length + after.length > longest ? undefined : diffLines(before, after, { maxEditLength: mostEdits })
  // Within changed lines, too, equal stretches are left out: a system text can be one line of many thousand characters.
  const changes: ChangeObject<string>[] = []
  for (const { same, went, came } of runsOf(lines ?? wholeChange(before, after)))
    for (const change of [{ value: same, added: false, removed: false, count: 1 }, ...changesIn(went, came)]) {
      const last = changes.at(-1)
      const isSame = !change.added && !change.removed
      if (isSame && last !== undefined && !last.added && !last.removed) last.value += change.value
      else if (change.value !== '') changes.push({ ...change })
    }
  for (const [index, { value, added, removed }] of changes.entries())
    if (added) add('after', value, 'changed')
    else if (removed) add('before', value, 'changed')
    else addToBoth(value, index === 0, index === changes.length - 1)
  return sides
}

/** The end of the last whole line up to a place; within a long line the place itself, outside of a surrogate pair. */
const lineEndBefore = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1 || wholeAt(text, at)

/** The start of the first whole line from a place on; the place itself within a long line. */
const lineStartAfter = (text: string, at: number): number => {
  const start = text.indexOf('\n', at) + 1
  return start === 0 || start === text.length ? wholeAt(text, at) : start
}

const wholeAt = (text: string, at: number): number => (/[\uDC00-\uDFFF]/.test(text[at] ?? '') ? at - 1 : at)

interface Run {
  readonly same: string
  readonly went: string
  readonly came: string
}

/** Changes as runs: what is the same, then what went and what came in its place. */
const runsOf = (changes: readonly ChangeObject<string>[]): readonly Run[] => {
  const runs: { same: string; went: string; came: string }[] = []
  for (const { value, added, removed } of changes) {
    if (runs.length === 0 || (!added && !removed)) runs.push({ same: '', went: '', came: '' })
    const run = runs.at(-1) as (typeof runs)[number]
    run[added ? 'came' : removed ? 'went' : 'same'] += value
  }
  return runs
}

const wholeChange = (before: string, after: string): readonly ChangeObject<string>[] =>
  [
    { value: before, added: false, removed: true, count: 1 },
    { value: after, added: true, removed: false, count: 1 },
  ].filter(({ value }) => value !== '')

/** Of lines that changed: by words, else by characters, where that shows what changed; else as they are. */
const changesIn = (went: string, came: string): readonly ChangeObject<string>[] => {
  if (went === '' || came === '') return wholeChange(went, came)
  for (const differ of [diffWordsWithSpace, diffChars]) {
    const changes = differ(went, came, { maxEditLength: mostEdits })
    const same = (changes ?? []).reduce(
      (sum, { value, added, removed }) => sum + (added || removed ? 0 : value.length),
      0,
    )
    if (changes !== undefined && same * 2 >= Math.min(went.length, came.length)) return changes
  }
  return wholeChange(went, came)
}
