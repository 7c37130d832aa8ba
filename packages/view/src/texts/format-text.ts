/** Text that is safe to show: it can't move, hide or reverse the text beside it. Figures, times, shares and US dollars in words. */

/* oxlint-disable no-control-regex */
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/
const sequences = /\u001b\[[\d;?]*[A-Za-z]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g
const controls = /[\u0000-\u0008\u000b-\u001f]/g
const invisible = /[\u0080-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g
/* oxlint-enable no-control-regex */

/** Colours and cursor movements that were meant for a terminal are left out; what else has no shape is given one. */
export const visibleText = (text: string): string =>
  unsafe.test(text)
    ? text
        .replaceAll(sequences, '')
        .replaceAll('\r\n', '\n')
        .replaceAll(controls, (letter) => String.fromCharCode(0x2400 + letter.charCodeAt(0)))
        .replaceAll('\u007f', '\u2421')
        .replaceAll(invisible, codePointName)
    : text

const codePointName = (letter: string): string =>
  `⟨U+${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`

/** A text as one line of at most so many characters. */
export const oneLine = (text: string, most = 200): string => {
  const line = visibleText(text.slice(0, most * 2))
    .replaceAll(/\s+/g, ' ')
    .trim()
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}

/** What a fault says, as a sentence of its own. */
export const sentence = (text: string): string => {
  const shown = visibleText(text.trim())
  return `${shown.charAt(0).toUpperCase()}${shown.slice(1)}${/[.!?…]$/.test(shown) ? '' : '.'}`
}

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
/** 1,234,567 */
export const groupedNumber = (value: number): string => number.format(value)

const small = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
/** 1.2M */
export const compactNumber = (value: number): string => small.format(value)

export const countText = (count: number, singular: string, many: string = `${singular}s`): string =>
  `${groupedNumber(count)} ${count === 1 ? singular : many}`

/** 60 %, rounded to the nearest, but 0 % only of nothing, and 100 % only of all. */
export const share = (part: number, whole: number): string => {
  if (whole === 0 || part === 0) return '0 %'
  const percent = Math.round((part / whole) * 100)
  return `${part < whole ? Math.min(99, Math.max(1, percent)) : percent} %`
}

/** 46.2K tokens */
export const tokensText = (count: number): string => `${compactNumber(count)} ${count === 1 ? 'token' : 'tokens'}`

/** The milliseconds of a call or a tool, as people say them: 340 ms, 3.2 s, 47 s, 5 min, 3 hours. */
export const spanText = (milliseconds: number): string => {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 1 : 0)} s`
  const minutes = Math.round(milliseconds / 60_000)
  return minutes < 120 ? `${minutes} min` : countText(Math.round(minutes / 60), 'hour')
}

/** Facts in a line; an empty list says nothing. */
export const dotted = (...facts: readonly (string | readonly string[])[]): string => facts.flat().join(' · ')

/** Before a figure that is known to be too low. */
export const atLeast = (isTooLow: boolean): string => (isTooLow ? 'at least ' : '')

/** $1.05, $0.265, $0.0020; never fewer than two digits that say something. */
export const dollarsText = (dollars: number): string => {
  if (dollars === 0) return '$0.00'
  if (dollars < 0.0001) return 'less than $0.0001'
  return `$${dollars < 0.01 ? dollars.toPrecision(2) : dollars.toFixed(dollars < 1 ? 3 : 2)}`
}

/** What calls cost, of which some may have no known price; empty if nothing was counted. */
export const costText = (
  dollars: number | undefined,
  unpriced: number = 0,
  isUndercounted = false,
): readonly string[] =>
  dollars === undefined
    ? unpriced > 0
      ? ['price unknown']
      : []
    : [`${atLeast(isUndercounted || unpriced > 0)}${dollarsText(dollars)}`]
