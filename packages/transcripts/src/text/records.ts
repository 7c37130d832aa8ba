/**
 * Splits a line that is not one JSON value: an append that was interrupted leaves a torn record, or NULs, and the next
 * record follows on the same line.
 */
import { inspectJson, isLeft, isObject, scanJson, type JsonObject } from 'indelible/internal/json'

/** A piece of a line: a whole record, or text that is none. */
interface RecordPiece {
  readonly text: string
  readonly isRecord: boolean
  /** The column of its first character, from 1. */
  readonly column: number
}

/**
 * The pieces of a line, in order. At the start of the line and after a whole record, any object is a record. After torn text,
 * which may hold whole objects of its own, only an object that `isEntry` accepts, and that ends the line or precedes another.
 *
 * Cost    O(line), times the objects that were left open, at most 64
 */
export const recordsOf = (text: string, isEntry: (value: JsonObject) => boolean): readonly RecordPiece[] => {
  const pieces: RecordPiece[] = []
  let from = 0 // the end of the last record
  let tries = 0
  const leave = (to: number): void => {
    const piece = text.slice(from, to)
    if (!/^\s*$/.test(piece)) pieces.push({ text: piece, isRecord: false, column: from + 1 })
  }
  for (let at = nextObject(text, 0); at !== -1 && tries < mostTries;) {
    const end = endOfObject(text, at)
    const piece = end === undefined ? '' : text.slice(at, end)
    const parsed = end === undefined ? undefined : inspectJson(piece)
    const value = parsed === undefined || isLeft(parsed) ? undefined : parsed.right.value
    if (!isObject(value)) {
      tries += 1
      at = nextObject(text, at + 1)
      continue
    }
    const to = end as number
    const isAfterRecord = nothing.test(text.slice(from, at))
    if (isAfterRecord || (isBeforeRecord(text, to) && isEntry(value as JsonObject))) {
      leave(at)
      pieces.push({ text: piece, isRecord: true, column: at + 1 })
      from = to
    }
    at = nextObject(text, to)
  }
  leave(text.length)
  return pieces
}

/** The number of objects that may be open or invalid; a torn record leaves open those that the tear was in. */
const mostTries = 64

// eslint-disable-next-line no-control-regex -- NULs are what is looked for
const nothing = /^[\s\0]*$/

/** Whether a text is NULs, which an interrupted append leaves. */
export const isNuls = (text: string): boolean => text.includes('\0') && nothing.test(text)

const isBeforeRecord = (text: string, end: number): boolean => {
  let at = end
  while (at < text.length && ' \t\r\n\0'.includes(text[at] as string)) at += 1
  return at === text.length || text[at] === '{'
}

/** The offset of the next object with a field. In a text of JSON, a quote is escaped, so this is none. */
const nextObject = (text: string, from: number): number => {
  opening.lastIndex = from
  return opening.exec(text)?.index ?? -1
}

const opening = /\{\s*"/g

const endOfObject = (text: string, from: number): number | undefined => {
  let depth = 0
  return scanJson(text, from, (sign) => {
    if (sign === '{') depth += 1
    return sign === '}' && --depth === 0
  })
}

/** Describes a piece that is no record. */
export const tornText = ({ text, column }: RecordPiece): string => {
  const nuls = text.length - text.replaceAll('\0', '').length
  const place = column === 1 ? 'its start' : `column ${column}`
  if (isNuls(text))
    return `has ${nuls} NUL ${nuls === 1 ? 'character' : 'characters'} at ${place}, where an append was interrupted`
  return `holds a torn record of ${text.length} ${text.length === 1 ? 'character' : 'characters'} at ${place}; the other records of the line were read`
}
