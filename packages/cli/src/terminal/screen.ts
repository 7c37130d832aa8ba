/** Text on a terminal: its width in columns, on a single line, truncated to fit. */

/**
 * A text as one line: white space collapsed, and escape sequences, control and direction-changing
 * characters removed, so that a transcript can't control the reader's terminal.
 */
export const oneLine = (text: string): string => {
  // Enough for any terminal; avoids processing megabytes for one line.
  const head = text.length <= 4000 ? text : text.slice(0, 4000)
  return printable(head.replace(escapeSequence, '').replace(/\s+/g, ' ')).trim()
}

/** A text without unpaired surrogates and characters that move the cursor, change direction or break a line. */
export const printable = (text: string): string => text.replace(unprintable, '')

/** Equivalent JSON text with those characters escaped. */
export const escapeUnprintable = (json: string): string =>
  json.replace(unprintable, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)

const unprintable = /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

/** The width of a text in columns: two for wide East Asian characters and emoji, none for combining marks. */
export const widthOf = (text: string): number => {
  if (narrow.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemesOf(text)) width += graphemeWidth(segment)
  return width
}

/** The width of the widest of any number of texts, at least `least`. A spread into Math.max fails for 130,000. */
export const widestOf = (texts: Iterable<string>, least = 0): number => {
  let widest = least
  for (const text of texts) widest = Math.max(widest, widthOf(text))
  return widest
}

/** A text truncated to a number of columns, with an ellipsis. */
export const fitColumns = (text: string, columns: number): string => {
  if (columns <= 0) return ''
  if (narrow.test(text.slice(0, columns + 1))) return text.length <= columns ? text : `${text.slice(0, columns - 1)}…`
  if (widthOf(text) <= columns) return text
  let kept = ''
  let width = 0
  for (const { segment } of graphemesOf(text)) {
    const next = graphemeWidth(segment)
    if (width + next > columns - 1) break
    kept += segment
    width += next
  }
  return `${kept}…`
}

/** A text wrapped between words to a number of columns. */
export const wrapText = (text: string, columns: number): readonly string[] => {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= columns) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** A text truncated in the middle, because both ends distinguish it, as with model names. */
export const fitMiddle = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text
  const characters = Array.from(graphemesOf(text), ({ segment }) => segment)
  let end = ''
  while (widthOf(end) + widthOf(characters.at(-1) ?? '') <= (columns - 1) >> 1) end = characters.pop() + end
  return `${fitColumns(characters.join(''), columns - widthOf(end))}${end}`
}

/**
 * A line wrapped between words to a number of columns, with later lines indented below the first
 * word. Longer words stay whole. Colors have no width.
 */
export const wrapHanging = (line: string, columns: number, hang?: number): readonly string[] => {
  const columnsOf = (text: string): number => widthOf(text.replace(colour, ''))
  if (columnsOf(line) <= columns) return [line]
  const start = line.search(/[^ ]/)
  const indent = ' '.repeat(Math.min(hang ?? start + 2, columns >> 1))
  const lines: string[] = []
  let current = line.slice(0, start)
  let isEmpty = true
  for (const [, spaces = '', word = ''] of line.slice(start).matchAll(/( *)([^ ]+)/g)) {
    if (isEmpty || columnsOf(current) + spaces.length + columnsOf(word) <= columns) current += spaces + word
    else {
      lines.push(current)
      current = indent + word
    }
    isEmpty = false
  }
  return [...lines, current]
}

/** A text padded with spaces to a number of columns. */
export const padEnd = (text: string, columns: number): string => text + ' '.repeat(Math.max(0, columns - widthOf(text)))

/** The same, padded at the start. */
export const padStart = (text: string, columns: number): string =>
  ' '.repeat(Math.max(0, columns - widthOf(text))) + text

/** Whether a terminal is too narrow for all columns of a list. */
export const isNarrow = (columns: number): boolean => columns < 60

/** How many characters of a time in ISO 8601 a list shows: to the minute, or only the date on a narrow terminal. */
export const timeWidthFor = (columns: number): number => (isNarrow(columns) ? 10 : 16)

/** A whole number with thousands separators. */
export const groupedNumber = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',')

/** `18 repairs`, `1 repair`, `no repairs`. */
export const countText = (count: number, what: string, many = `${what}s`): string =>
  `${count === 0 ? 'no' : groupedNumber(count)} ${count === 1 ? what : many}`

/** A text quoted as one word of a shell command. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

// CSI, OSC and two-character escapes, as defined in ECMA-48.
// oxlint-disable-next-line no-control-regex
const escapeSequence = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]/g

/** A color, as the command prints it. */
// oxlint-disable-next-line no-control-regex
const colour = /\u001b\[\d+m/g

/** Latin letters, digits and punctuation, all one column wide. */
const narrow = /^[\x20-\x7e\xa0-\xac\xae-\u02ff\u2010-\u2027\u2030-\u205e]*$/

/** The graphemes of a text. The segmenter is created on first use, because that takes 15 ms. */
const graphemesOf = (text: string): Iterable<Intl.SegmentData> =>
  (segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })).segment(text)

let segmenter: Intl.Segmenter | undefined

const wide =
  /\p{Emoji_Presentation}|\p{Script=Han}|\p{Script=Hangul}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Bopomofo}|\p{Script=Yi}|[\u3000-\u303e\u3200-\u33ff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|\ufe0f/u

const graphemeWidth = (grapheme: string): number => {
  if (wide.test(grapheme)) return 2
  return /^[\p{Mn}\p{Me}\p{Cf}]+$/u.test(grapheme) ? 0 : 1
}

/** Positions as ranges: `1, 3-5`. */
export const ranges = (positions: readonly number[]): string => {
  const runs: { first: number; last: number }[] = []
  for (const position of positions) {
    const run = runs.at(-1)
    if (run !== undefined && run.last + 1 === position) run.last = position
    else runs.push({ first: position, last: position })
  }
  return runs.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(', ')
}
