/**
 * The export of a record: JSON lines, one a row, in the order of the log.
 *
 *     {"indelible":"export","version":1,"id":"…","metadata":{…}}         for an erasable session also "erasable":true
 *     {"message":{…},"page":"conversation","at":1700000000000}
 *     {"note":{…},"at":1700000000001}
 *     {"head":{"size":2,"root":"…"}}
 *
 * `page` is the kind that the message was appended as; later retags are notes. `size` counts the rows, and
 * `root` is their Merkle root in the record's store; a conversation from another format has none. `at` is when
 * the row was written, in milliseconds since 1970. `salt`, in an erasable session, is 32 hexadecimal digits. An
 * erased row has no salt, but its leaf as `erased`. Reading an export and writing it again gives the same bytes.
 *
 * `at` is absent in conversations from other formats and in rows of early development versions. Such a row
 * gets the time of its import. The time is part of the root, so the `root` of such an export is not compared.
 */
import {
  hasField,
  isLeft,
  isObject,
  type JsonObject,
  objectAt,
  ownField,
  type Path,
  stringAt,
  Unexpected,
  ownFields,
  present,
} from 'indelible/internal/json'
import { decodeMessage } from 'indelible/message'
import { messageFaultText } from 'indelible/internal/message'
import { decodeNote, noteFaultText } from 'indelible/internal/notes'
import { isPageKind, pageKinds } from 'indelible/pages'
import type { LineFormat, Sink } from '../format/line-format.ts'
import type { RowMoment } from 'indelible/internal/session'

export const indelibleExport: LineFormat = {
  format: 'indelible',
  matches: (entry) =>
    entry['indelible'] === 'export' || (isObject(entry['message']) && typeof entry['page'] === 'string'),
  reader: (sink) => {
    let rows = 0
    let last = 0
    let begun = false
    let closed = false
    return {
      read: (entry, line) => {
        last = line
        if (closed) return sink.damage(line, 'follows the head, which must be the last line of an export')
        if (hasField(entry, 'indelible')) {
          if (begun) return sink.damage(line, 'is a second header')
          begun = true
          return readHeader(entry, sink)
        }
        if (Object.hasOwn(entry, 'head')) {
          closed = true
          return readHead(entry, rows, line, sink)
        }
        rows += 1
        if (hasField(entry, 'note')) return readNote(entry, line, sink)
        return readMessage(entry, line, sink)
      },
      end: () => {
        if (!closed) sink.damage(last, 'is the last row, but no head follows it: the export is incomplete')
        return {}
      },
    }
  },
}

const readHeader = (entry: JsonObject, { origin }: Sink): void => {
  refuseUnknown(entry, ['indelible', 'version', 'id', 'metadata', 'erasable'])
  if (entry['indelible'] !== 'export') throw new Unexpected(['indelible'], '"export"', entry['indelible'])
  if (entry['version'] !== 1)
    throw new Unexpected(['version'], '1, the only version that this library reads', entry['version'])
  origin.version = '1'
  origin.ownId(entry['id'] === undefined ? undefined : stringAt(entry['id'], ['id']))
  origin.metadata = objectAt(entry['metadata'], ['metadata'])
  const erasable = ownField(entry, 'erasable')
  if (erasable !== undefined && erasable !== true) throw new Unexpected(['erasable'], 'true or absent', erasable)
  origin.erasable = erasable === true
}

const readHead = (entry: JsonObject, rows: number, line: number, { origin, damage }: Sink): void => {
  refuseUnknown(entry, ['head'])
  const head = objectAt(entry['head'], ['head'])
  refuseUnknown(head, ['size', 'root'], ['head'])
  const { size, root } = head
  if (typeof size !== 'number') throw new Unexpected(['head', 'size'], 'a number', size)
  if (root !== undefined && (typeof root !== 'string' || !/^[0-9a-f]{64}$/.test(root)))
    throw new Unexpected(['head', 'root'], '64 lowercase hexadecimal digits', root)
  origin.head = { size, ...(root !== undefined && { root }) }
  if (size !== rows)
    damage(line, `counts ${size} ${size === 1 ? 'row' : 'rows'}, but ${rows} ${rows === 1 ? 'precedes' : 'precede'} it`)
}

const readNote = (entry: JsonObject, line: number, sink: Sink): void => {
  refuseUnknown(entry, ['note', 'at', 'salt', 'erased'])
  const note = decodeNote(entry['note'])
  if (isLeft(note)) return sink.damage(line, noteFaultText(note.left))
  sink.note(line, note.right, momentIn(entry))
}

const readMessage = (entry: JsonObject, line: number, sink: Sink): void => {
  refuseUnknown(entry, ['message', 'page', 'at', 'salt', 'erased'])
  const message = decodeMessage(objectAt(entry['message'], ['message']))
  if (isLeft(message)) return sink.damage(line, `in its message, ${messageFaultText(message.left)}`)
  const page = entry['page']
  if (!isPageKind(page)) throw new Unexpected(['page'], `one of ${pageKinds.join(', ')}`, page)
  sink.message(line, message.right, { page, moment: momentIn(entry) })
}

const momentIn = (entry: JsonObject): RowMoment | undefined => {
  const { at, salt, erased } = ownFields(entry)
  if (at === undefined && salt === undefined && erased === undefined) return undefined
  if (at !== undefined && !(typeof at === 'number' && Number.isSafeInteger(at) && Math.abs(at) <= 8.64e15))
    throw new Unexpected(['at'], 'whole milliseconds since 1970', at)
  if (salt !== undefined && !(typeof salt === 'string' && /^[0-9a-f]{32}$/.test(salt)))
    throw new Unexpected(['salt'], '32 lowercase hexadecimal digits', salt)
  if (erased !== undefined && !(typeof erased === 'string' && /^[0-9a-f]{64}$/.test(erased)))
    throw new Unexpected(['erased'], '64 lowercase hexadecimal digits', erased)
  return {
    ...present({ at, salt, erased }),
  }
}

/** Rejects unknown fields rather than dropping them. */
const refuseUnknown = (value: JsonObject, known: readonly string[], at: Path = []): void => {
  for (const field of Object.keys(value))
    if (!known.includes(field))
      throw new Unexpected([...at, field], `one of the fields ${known.join(', ')}`, value[field])
}
