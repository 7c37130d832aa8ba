/** Advice: the known names closest to a mistyped one, and commands that can be pasted as printed. */
import { formOf, type Call, type Command } from '../terminal/command.ts'
import { shellWord } from '../terminal/screen.ts'
import { storeName } from './store.ts'

/** The known names closest to a word, at most three; empty if none is close. */
export const nearest = (word: string, known: Iterable<string>): readonly string[] => {
  const wanted = word.toLowerCase()
  const most = Math.max(1, Math.floor(wanted.length / 3))
  const near: { readonly name: string; readonly distance: number }[] = []
  for (const name of known) {
    const lower = name.toLowerCase()
    const begins = wanted.length > 1 && (lower.startsWith(wanted) || wanted.startsWith(lower))
    const distance = begins ? 1 : distanceOf(wanted, lower, most)
    if (distance <= most) near.push({ name, distance })
  }
  near.sort((a, b) => a.distance - b.distance)
  return near
    .filter(({ distance }) => distance === near[0]?.distance)
    .slice(0, 3)
    .map(({ name }) => name)
}

/** `; did you mean "list"?`, or an empty text. */
export const didYouMean = (
  word: string,
  known: Iterable<string>,
  quote: (name: string) => string = JSON.stringify,
): string => {
  const names = nearest(word, known).map(quote)
  return names.length === 0 ? '' : `; did you mean ${names.join(' or ')}?`
}

/**
 * The number of letters to add, remove, change or swap with their neighbor to turn one word into
 * another. Beyond `most`, any larger number.
 */
const distanceOf = (a: string, b: string, most: number): number => {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min((last[j] as number) + 1, (row[j - 1] as number) + 1, (last[j - 1] as number) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] as number) + 1)
      row.push(cost)
    }
    ;[before, last] = [last, row]
  }
  return last[b.length] as number
}

/** The options that select the sessions. */
const placeOptions = ['store', 'scope', 'key-file']

/**
 * Adds the store, the scope and the key file of this call to the commands in a line of advice. A
 * command is in double quotes, or is the rest of the line.
 *
 * @param commands the commands that accept these options
 */
export const withPlace = (line: string, values: Call['values'], commands: readonly Command[]): string =>
  line.replaceAll(/(^ *|")indelible ([a-z-]+)([^"]*)/g, (advice, before: string, name: string, rest: string) => {
    if (name === 'encryption' && rest.startsWith(' new')) return advice // it creates the file that --key-file names
    const command = commands.find((known) => known.name === name)
    const form = command && formOf(command, (option) => new RegExp(`--${option}\\b`).test(rest))
    const options = placeOptions.flatMap((option) => {
      const value = values[option]
      const takes =
        typeof value === 'string' &&
        command !== undefined &&
        option in command.options &&
        form?.options.includes(option) !== false
      return takes && !rest.includes(`--${option} `) && !rest.includes(value)
        ? [` --${option} ${shownValue(value)}`]
        : []
    })
    return options.length === 0 ? advice : `${before}indelible ${name}${rest}${options.join('')}`
  })

/** An option value for display. */
const shownValue = (value: string): string => shellWord(URL.canParse(value) ? storeName(value) : value)
