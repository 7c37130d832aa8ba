/** Finds messages to erase, by their text or age. */
import { bytesOfBase64, charactersOf, checkArgument, optionsOf, textOfBase64 } from '../../json/index.ts'
import { isErased, type Message, type Part } from '../../message/index.ts'
import type { Store } from '../../store/index.ts'
import { cancelled, Slices, withSignal } from '../../store/internal.ts'
import { fail, need, type SignalLike, type Task } from '../../task/index.ts'
import { sessionSteps, type ReadSessionFault } from '../fault.ts'
import { rowsIn } from '../record/loaded-record.ts'
import { loadRecord } from '../record/read.ts'
import { textsOf } from '../record/note-copies.ts'
import { checkStore } from '../record/store-of.ts'

/** The conditions of a search. A message must meet all of them. */
export interface MessageQuery {
  /**
   * A pattern that one text of the message must match: of its parts, its name, its `meta`, and its files and images
   * that are in it as base64 (of UTF-8 or UTF-16), or their addresses. Default: any message.
   */
  readonly matching?: RegExp
  /** Only messages appended before this time, in milliseconds since 1970. Default: any. */
  readonly before?: number
  /** Aborting this signal ends the search with `Cancelled`. Default: none. */
  readonly signal?: SignalLike
}

/**
 * The messages of a session that match. Erased messages never match.
 *
 * Cost    that of opening the session
 *
 * @param store the store that has the session
 * @param id the id of the session
 * @param query the conditions. Another `matching` or `before` than a RegExp and a number throws a TypeError
 * @returns their positions in the record, in order
 * @example
 * const found = await findMessages(store, 'support-1', { matching: /grace hopper/i })
 */
export const findMessages = (
  store: Store,
  id: string,
  query: MessageQuery,
): Task<ReadSessionFault, readonly number[]> => {
  checkStore('findMessages', store)
  const { matching, before, signal } = optionsOf('findMessages', query, { matching: true, before: true, signal: true })
  checkArgument(
    'findMessages',
    matching === undefined || matching instanceof RegExp,
    '`matching` as a RegExp',
    matching,
  )
  checkArgument('findMessages', before === undefined || Number.isFinite(before), '`before` in milliseconds', before)
  const pattern = matching && new RegExp(matching.source, matching.flags.replace(/[gy]/g, ''))
  return sessionSteps(async function* () {
    const { record } = yield* need(loadRecord(withSignal(store, signal), id))
    const found: number[] = []
    const slices = new Slices()
    for (const row of rowsIn(record, 0, record.head.size)) {
      let characters = 0
      if (row.kind === 'entry' && (before === undefined || row.at < before) && !isErased(row.message)) {
        const texts = pattern === undefined ? [] : textsIn(row.message as Message)
        for (const { length } of texts) characters += length
        if (pattern === undefined || texts.some((text) => pattern.test(text))) found.push(row.position)
      }
      const turn = slices.next(characters)
      if (turn === undefined) continue
      await turn
      const ended = cancelled(signal)
      if (ended !== undefined) return yield* fail(ended)
    }
    return Object.freeze(found)
  }, 'findMessages')
}

const textsIn = (message: Message): readonly string[] => [...textsOf(message), ...textsInSources(message)]

/** The texts of files and images: those that are in a message as base64, and addresses without percent-encoding. */
const textsInSources = ({ content }: Pick<Message, 'content'>): readonly string[] =>
  (content as readonly Part[]).flatMap((part) => {
    if (part.type === 'tool_result') return textsInSources(part)
    if (part.type !== 'file' && part.type !== 'image') return []
    if (part.source.type === 'base64') return textsInBase64(part.source.data)
    if (part.source.type !== 'url') return []
    const inUrl = /^data:[^,]{0,500};base64,/i.exec(part.source.url)
    return inUrl === null ? decoded(part.source.url) : textsInBase64(part.source.url.slice(inUrl[0].length))
  })

const textsInBase64 = (data: string): readonly string[] => {
  const text = textOfBase64(data)
  const bytes = bytesOfBase64(data)
  if (bytes === undefined) return text === undefined ? [] : [text]
  return [text ?? charactersOf(bytes), utf16Of(bytes, 0), utf16Of(bytes, 1)]
}

/** Bytes as UTF-16, whose first byte of two is the low one or the high one. Many of its texts are also valid UTF-8. */
const utf16Of = (bytes: Uint8Array, high: 0 | 1): string => {
  let text = ''
  const units = new Uint16Array(4096)
  for (let from = 0; from + 1 < bytes.length; from += 2 * units.length) {
    const count = Math.min(units.length, (bytes.length - from) >> 1)
    for (let at = 0; at < count; at++) {
      const first = bytes[from + 2 * at] as number
      const second = bytes[from + 2 * at + 1] as number
      units[at] = high === 1 ? (first << 8) | second : (second << 8) | first
    }
    text += String.fromCharCode.apply(null, units.subarray(0, count) as unknown as number[])
  }
  return text
}

const decoded = (url: string): readonly string[] => {
  try {
    return [decodeURIComponent(url)]
  } catch {
    return []
  }
}
