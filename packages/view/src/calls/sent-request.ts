/** The request of a call as a recorder saw it: its messages, tools, system text and parameters. */
import { isLeft, jsonIn } from 'indelible/internal/json'
import { decodeMessage, type Message } from 'indelible/message'
import { isBlockId, type BlockId } from 'indelible/internal/proof'
import { detailsOf } from '@indelible/recorder'
import { sentEntries } from '@indelible/recorder/internal'
import type { RequestParts } from './changed-parts.ts'
import { notesOf, type CallRecord, type ModelCall } from './model-calls.ts'
import type { FoundBlock } from '../protocol.ts'
import type { ContextMessage } from './sent-pairs.ts'

/** How the blocks of a record are read. */
interface BlockReader {
  readonly blocks: (ids: readonly BlockId[]) => Promise<readonly FoundBlock[]>
  /** The text to show in place of a block that was not found. */
  readonly missing: string
}

export interface SentRequest {
  readonly messages: readonly ContextMessage[]
  /** The same, those that were sent as recorded by their position. */
  readonly entries: readonly (number | Message)[]
  /** How many messages equal those of the call before. */
  readonly prefix: number
  /** Why the cached prefix ended, where the recorder saw it. */
  readonly broke?: string
  readonly request: RequestParts
}

/** What a call was sent; undefined if no recorder saw it. Cost: O(messages of the call and of the one before). */
export const sentRequest = async (
  record: CallRecord,
  { blocks, missing: missingWords }: BlockReader,
  call: ModelCall,
  before: ModelCall | undefined,
): Promise<SentRequest | undefined> => {
  const session = notesOf(record)
  const sent = call.receipt && sentEntries(session, call.receipt.note)
  const details = call.receipt && detailsOf(call.receipt.note, session)
  if (call.receipt === undefined || sent === undefined || details === undefined) return undefined
  const earlier = before?.receipt === undefined ? [] : (sentEntries(session, before.receipt.note) ?? [])
  const { system, tools, parameters, broke } = details
  const beside = [system, tools].filter((id) => id !== undefined)
  const ids = [...sent.filter(isBlockId), ...beside]
  const found = await blocks(ids)
  const bytes = new Map(ids.map((id, index) => [id, found[index]]))
  let prefix = 0
  // A model has a cache of its own, and providers cache tools and system first: where these changed, no message of the
  // call before is in the cache.
  const { model } = call.receipt.note
  if (before?.receipt?.note.model === model && (broke === undefined || broke.where === 'messages'))
    while (prefix < sent.length && sent[prefix] === earlier[prefix]) prefix++
  const missing = messageOfText(`This message is ${missingWords}.`)
  const entries = sent.map((entry) => {
    if (typeof entry === 'number') return entry
    const block = bytes.get(entry)
    return block === 'altered' ? alteredMessage : (messageIn(block) ?? missing)
  })
  let next = 0
  const positionOf = (entry: number | Message): number | undefined => {
    const recorded = typeof entry === 'number' ? undefined : record.entries[next]?.message
    const position = typeof entry === 'number' ? entry : recorded && hasSameContent(entry, recorded) ? next : undefined
    if (position !== undefined) next = position + 1
    return position
  }
  const valueOf = (id: BlockId): unknown => {
    const block = bytes.get(id)
    return block instanceof Uint8Array ? valueIn(block) : block === 'altered' ? alteredWords : missingWords
  }
  return {
    messages: entries.map((entry): ContextMessage => {
      const position = positionOf(entry)
      return {
        message: typeof entry === 'number' ? (record.entries[entry]?.message ?? missing) : entry,
        source: position === undefined ? { type: 'foreign' } : { type: 'clone', position },
      }
    }),
    entries,
    prefix,
    ...(broke !== undefined && { broke: broke.because }),
    request: {
      ...(model !== '' && { model }),
      ...(system !== undefined && { system: valueOf(system) }),
      ...(tools !== undefined && { tools: valueOf(tools) }),
      ...(parameters !== undefined && { parameters }),
    },
  }
}

/** Whether a sent message is a recorded one in another form: a text for a list of parts, say, or without its reasoning. */
const hasSameContent = (sent: Message, recorded: Message): boolean =>
  sent.role === recorded.role && contentText(sent) === contentText(recorded)

const contentText = ({ content }: Message): string =>
  JSON.stringify(
    content.filter(({ type }) => type !== 'reasoning'),
    (key, value: unknown) => (key === 'meta' ? undefined : value),
  )

const alteredWords = 'altered: the stored bytes are not what was recorded'

const messageOfText = (text: string): Message => ({ role: 'developer', content: [{ type: 'text', text }] })
const alteredMessage = messageOfText(`This message was ${alteredWords}.`)

const valueIn = (bytes: Uint8Array): unknown => jsonIn(new TextDecoder().decode(bytes)) ?? 'not JSON'

const messageIn = (bytes: Uint8Array | undefined): Message | undefined => {
  if (bytes === undefined) return undefined
  const message = decodeMessage(valueIn(bytes))
  return isLeft(message) ? undefined : message.right
}
