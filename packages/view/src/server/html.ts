/** A session as one file: the page with the session in it, which opens from disk and verifies itself. */
import { createHash } from 'node:crypto'
import { bytesToHex } from '@noble/hashes/utils.js'
import { attachedTo, decodeRow, encodeRow, takeMessage, type DecodedRow } from 'indelible/internal/entry'
import { createHistory } from 'indelible/history'
import { base64Of, isLeft, jsonIn } from 'indelible/internal/json'
import { decodeMessage, type Message } from 'indelible/message'
import { isMark } from 'indelible/internal/notes'
import { blockIdOf, isBlockId, type BlockId } from 'indelible/internal/proof'
import { createRedactor, type Redactor } from 'indelible/redact'
import type { Store, StoredRow } from 'indelible/store'
import { rowLeaf } from 'indelible/internal/store'
import { readAssets } from './assets.ts'
import {
  exportedId,
  mostRows,
  type ExportedView,
  type HtmlSelection,
  type ViewedRow,
  type ViewedSession,
} from '../protocol.ts'
import { noteIn } from '../calls/model-calls.ts'
import { blocksOf, evidenceOf, nodesOf, sessionOf, viewedRow } from './read-view.ts'

/** The options of an exported file. */
export interface HtmlOptions extends Omit<HtmlSelection, 'id' | 'redact'> {
  /** True for all known secret formats, or a redactor. Changed rows keep their place in the proof. Default: none. */
  readonly redact?: boolean | Redactor
  /** The version of the library, shown on the page. */
  readonly version: string
}

/**
 * Create a file of a session: the page of a view with the session in it. It opens from disk without a
 * network, and computes the root of its record. Rows that are left out are represented by their hash.
 *
 * Memory: the whole session.
 *
 * @param options the part to include, and whether to remove secrets
 * @returns the lines of the file, in ASCII, without line feeds
 * @throws FaultError of the store; Error if the page was not built
 */
export const htmlOf = async (
  store: Store,
  id: string,
  { from = 0, to = Infinity, only, redact, version }: HtmlOptions,
): Promise<readonly string[]> => {
  const session = await sessionOf(store, id)
  const chosen = only === undefined ? undefined : new Set(only)
  const isIn = (position: number): boolean =>
    position >= from && position < to && (chosen === undefined || chosen.has(position))
  const whole = from <= 0 && to >= session.len && chosen === undefined
  const redactor = redact === undefined || redact === false ? undefined : createRedactor(redact)
  const rows: ViewedRow[] = []
  const nodes: string[] = []
  const wanted = new Set<BlockId>()
  const own = new Map<BlockId, Uint8Array>() // texts changed by redaction
  let last = -1
  for (let at = 0; at < session.head.size; at += mostRows) {
    const end = Math.min(at + mostRows, session.head.size)
    for (const node of await nodesOf(store, id, at, end)) nodes.push(node)
    for (const row of await store.read(id, { from: at, to: end })) {
      if (row.kind === 'entry') last = row.index
      // A note belongs to the message before it; a note before the first message belongs to that
      // message. A partial file contains only notes that reveal nothing about the rest.
      const goes = isIn(row.kind === 'entry' ? row.index : Math.max(0, last)) && (whole || isOfPart(row))
      if (!goes) rows.push(omittedRow(row, store))
      else if (redactor !== undefined) rows.push(await redactRow(row, store, redactor, wanted, own))
      else {
        rows.push(viewedRow(row))
        for (const block of blocksIn(row, whole)) wanted.add(block)
      }
    }
  }
  const ids = [...wanted].filter((block) => !own.has(block))
  const found = await blocksOf(store, ids)
  // An altered block has no bytes: the page finds that they do not match its id.
  const blocks = Object.fromEntries(
    [...ids.map((block, index) => [block, found[index]] as const), ...own].flatMap(([block, bytes]) =>
      bytes === undefined ? [] : [[block, bytes === 'altered' ? '' : base64Of(bytes)] as const],
    ),
  )
  const shown = whole ? session : describePartly(session)
  const described = redactor === undefined ? shown : describeRedacted(shown, redactor)
  const evidence = described.id === id ? await evidenceOf(store, id) : undefined // its ledger row names the session
  return fileOf({
    indelible: 'view',
    version: 1,
    library: version,
    exported: store.now(),
    session: described,
    rows,
    nodes: nodes.join(''),
    blocks,
    ...(evidence && { evidence }),
  })
}

/** Whether a row can be in a partial file: a message, or a note with positions and kinds only. */
const isOfPart = ({ kind, body }: StoredRow): boolean => {
  if (kind === 'entry') return true
  const note = noteIn(body)
  return note !== undefined && isMark(note)
}

/** A session without its description, because a title is often its first words. */
const describePartly = ({ id, len, head, created, appended, encrypted }: ViewedSession): ViewedSession => ({
  ...{ id, len, head, created, appended, metadata: {} },
  ...(encrypted && { encrypted }),
})

/** The description of a session with secrets removed. No proof covers it. */
const describeRedacted = (session: ViewedSession, { text, json }: Redactor): ViewedSession => ({
  ...session,
  id: text(session.id),
  metadata: json(session.metadata),
  ...(session.forkedFrom && { forkedFrom: { ...session.forkedFrom, id: text(session.forkedFrom.id) } }),
})

/** A row as its leaf: it reveals nothing, and the proof still covers it. */
const omittedRow = (row: StoredRow, { hash }: Store): ViewedRow => ({
  position: row.position,
  kind: row.kind,
  index: row.index,
  leaf: row.erased ?? bytesToHex(rowLeaf(row, hash)),
  state: 'left-out',
})

/** The blocks a row references. A receipt's hold messages of the whole record, so only a whole file has them. */
const blocksIn = (row: StoredRow, whole: boolean): readonly BlockId[] => {
  if (row.erased !== undefined) return []
  if (row.kind === 'note')
    return whole && row.body.includes('"receipt"')
      ? (row.body.match(/"[\da-f]{64}"/g) ?? []).map((id) => id.slice(1, -1)).filter(isBlockId)
      : []
  const decoded = decodeRow(row.body)
  if (isLeft(decoded)) return []
  const named = decodeMessage(jsonIn(decoded.right.text))
  return [...decoded.right.blocks.map((block) => block.id), ...(isLeft(named) ? [] : attachedTo(named.right))]
}

/** A row with secrets removed; unchanged if there are none. */
const redactRow = async (
  row: StoredRow,
  store: Store,
  redactor: Redactor,
  wanted: Set<BlockId>,
  own: Map<BlockId, Uint8Array>,
): Promise<ViewedRow> => {
  if (row.erased !== undefined) return viewedRow(row)
  // Without its salt: with it, somebody could confirm guessed secrets against the leaf.
  const { salt: _, stored: __, ...unsalted } = row
  const changedRow = (body: string): ViewedRow => ({
    ...viewedRow({ ...unsalted, body }),
    leaf: bytesToHex(rowLeaf(row, store.hash)),
    state: 'redacted',
  })
  if (row.kind === 'note') {
    const note = noteIn(row.body)
    if (note === undefined) return omittedRow(row, store)
    const clean = redactor.note(note)
    return clean === note ? viewedRow(row) : changedRow(JSON.stringify(clean))
  }
  const decoded = decodeRow(row.body)
  if (isLeft(decoded)) return omittedRow(row, store)
  const message = await messageOf(store, decoded.right)
  if (message === undefined) return omittedRow(row, store)
  const clean = redactor.message(message)
  if (clean === message) {
    for (const block of blocksIn(row, false)) wanted.add(block)
    return viewedRow(row)
  }
  const encoded = encodeRow(clean, decoded.right.page, decoded.right.tagged, store.hash)
  if (isLeft(encoded)) return omittedRow(row, store)
  const { row: clear, blocks, attachments } = encoded.right
  for (const bytes of blocks) own.set(blockIdOf(bytes, store.hash), bytes)
  for (const block of attachments) wanted.add(block)
  return changedRow(clear.body)
}

const messageOf = async (store: Store, row: DecodedRow): Promise<Message | undefined> => {
  const bytes = await blocksOf(
    store,
    row.blocks.map(({ id }) => id),
  )
  const known = new Map<BlockId, Uint8Array>()
  for (const [index, { id, key }] of row.blocks.entries()) {
    const stored = bytes[index]
    if (stored === undefined || stored === 'altered') return undefined
    const found = key === undefined ? stored : store.encryption?.block(key, stored)
    if (found === undefined) return undefined
    known.set(id, found)
  }
  const history = createHistory<Message>()
  return takeMessage(history, row, known) === undefined ? history.view().at(0) : undefined
}

/** The page around the data. Only its own script and style may run or load. */
const fileOf = async (exported: ExportedView): Promise<readonly string[]> => {
  const assets = await readAssets()
  const textOf = (name: string): string => {
    const asset = assets.get(name)
    if (asset === undefined) throw new Error(`the page is incomplete: ${name} is missing; run "npm run build"`)
    return Buffer.from(asset.bytes).toString()
  }
  const script = plain(textOf('page.js').replaceAll(/<(?=!--|\/?script)/gi, '\\x3c'), '\\u')
  const style = plain(textOf('page.css').replaceAll(/<(?=\/style)/gi, '\\3c '), '\\')
  const policy = [
    "default-src 'none'",
    `script-src '${digestOf(script)}'`,
    `style-src '${digestOf(style)}'`,
    'img-src blob: data:',
    'worker-src blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types worker',
  ].join('; ')
  const data = plain(JSON.stringify(exported).replaceAll('<', '\\u003c'), '\\u')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Indelible</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"><p class="unstarted">The page did not start. Open it in a current browser with JavaScript.</p></div>
<script type="application/json" id="${exportedId}">${data}</script>
<script type="module">${script}</script>
</body>
</html>`.split('\n')
}

/**
 * Text in ASCII, using the language's escapes, so that no tool on the way can change the encoding. An escape
 * equals its character in JavaScript strings and patterns and in JSON; in CSS an escape ends with a space.
 */
const plain = (text: string, escape: '\\u' | '\\'): string =>
  // oxlint-disable-next-line no-control-regex
  text.replaceAll(/[^\n -~]/g, (letter) => {
    const code = letter.charCodeAt(0).toString(16)
    return escape === '\\' ? `\\${code} ` : `\\u${code.padStart(4, '0')}`
  })

const digestOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`
