/** What a call was sent, as it was recorded or as the worker of the page derives it. */
import type { ContextSource, DerivedBy } from 'indelible/context'
import { isLeft, isObject, parseJson } from 'indelible/json/kit'
import { decodeMessage, type Message } from 'indelible/message'
import { residencyLevels, type ResidencyLevel } from 'indelible/pages'
import { isBlockId, type BlockId } from 'indelible/proof/kit'
import { detailsOf } from '@indelible/recorder'
import { sentEntries } from '@indelible/recorder/kit'
import { notesOf, placeOf, type ModelCall } from './calls.ts'
import type { ContextMessage, SentContext } from './derive-contexts.ts'
import type { SessionRecord } from './record.ts'
import type { Source } from './source.ts'
import { workerOf } from './worker-client.ts'

/** What a request has beside its messages, in the order in which providers cache it. */
export const requestFields = ['tools', 'system', 'parameters'] as const

export interface ShownContext {
  readonly messages: readonly ContextMessage[]
  /** How much of a message of the record is in it. */
  readonly levelOf: (position: number) => ResidencyLevel
  /** How many messages equal those of the call before. */
  readonly prefix: number
  /** The tokens of the messages, and of those of the prefix. It costs a look at all of them, in the worker. */
  readonly sums: () => Promise<{ readonly tokens: number; readonly cached: number }>
  /** Why the prefix ended, where a recorder saw it. */
  readonly broke?: string
  /** What a recorded request had beside its messages. */
  readonly request?: { readonly [name in (typeof requestFields)[number]]?: unknown }
  /** What is known of a context that was derived. */
  readonly derived?: Omit<SentContext, 'messages' | 'levels'>
}

/** What a call was sent; undefined, if nobody recorded it and it can't be derived again. */
export const sentContext = async (
  record: SessionRecord,
  call: ModelCall,
  before: ModelCall | undefined,
): Promise<ShownContext | undefined> => {
  const note = call.receipt?.note
  if (note === undefined) return undefined
  if (detailsOf(note, notesOf(record)) !== undefined) return recordedContext(record, call, before)
  const again = await workerOf(record).ask('again', call.len, {
    call: placeOf(record, call),
    before: before && placeOf(record, before),
    digest: note.contextDigest,
    model: note.model,
    by: isObject(note.details?.['derived']) ? (note.details['derived'] as unknown as DerivedBy) : undefined,
  })
  return again && contextOf(record, again)
}

/** The messages that a recorder saw. */
const recordedContext = async (
  record: SessionRecord,
  call: ModelCall,
  before: ModelCall | undefined,
): Promise<ShownContext | undefined> => {
  const session = notesOf(record)
  const { source } = record
  const entries = call.receipt && sentEntries(session, call.receipt.note)
  const details = call.receipt && detailsOf(call.receipt.note, session)
  if (entries === undefined || details === undefined) return undefined
  const earlier = before?.receipt === undefined ? [] : (sentEntries(session, before.receipt.note) ?? [])
  const { system, tools, parameters, broke } = details
  const beside = [system, tools].filter((id) => id !== undefined)
  const ids = [...entries.filter(isBlockId), ...beside]
  const found = await source.blocks(ids)
  const bytes = new Map(ids.map((id, index) => [id, found[index]]))
  let prefix = 0
  // Providers cache tools and system first: where these changed, no message of the call before is in the cache.
  if (broke === undefined || broke.where === 'messages')
    while (prefix < entries.length && entries[prefix] === earlier[prefix]) prefix++
  const missing = messageOfText(`This message is ${missingWords(source)}.`)
  const messages = entries.map((entry) => {
    if (typeof entry === 'number') return entry
    const block = bytes.get(entry)
    return block === 'altered' ? alteredMessage : (messageIn(block) ?? missing)
  })
  const view = record.view()
  const present = new Set<number>()
  let next = 0
  const positionOf = (one: number | Message): number | undefined => {
    const recorded = typeof one === 'number' ? undefined : view.at(next)
    const position = typeof one === 'number' ? one : recorded && hasSameContent(one, recorded) ? next : undefined
    if (position !== undefined) {
      present.add(position)
      next = position + 1
    }
    return position
  }
  const positions = messages.map(positionOf)
  const valueOf = (id: BlockId): unknown => {
    const block = bytes.get(id)
    return block instanceof Uint8Array ? jsonIn(block) : block === 'altered' ? alteredWords : missingWords(source)
  }
  return {
    messages: messages.map((one, index) => {
      const position = positions[index]
      return {
        message: typeof one === 'number' ? (record.entries[one]?.message ?? missing) : one,
        source: position === undefined ? { type: 'foreign' } : { type: 'clone', position },
      }
    }),
    levelOf: (position) => (present.has(position) ? 'full' : 'pointer'),
    prefix,
    sums: () => workerOf(record).ask('sums', call.len, { messages, prefix }),
    ...(broke !== undefined && { broke: broke.because }),
    request: {
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
const missingWords = ({ exported }: Source): string => (exported ? 'not in this file' : 'missing from the store')

const messageOfText = (text: string): Message => ({ role: 'developer', content: [{ type: 'text', text }] })
const alteredMessage = messageOfText(`This message was ${alteredWords}.`)

const jsonIn = (bytes: Uint8Array): unknown => {
  const parsed = parseJson(new TextDecoder().decode(bytes))
  return isLeft(parsed) ? 'not JSON' : parsed.right
}

const messageIn = (bytes: Uint8Array | undefined): Message | undefined => {
  if (bytes === undefined) return undefined
  const message = decodeMessage(jsonIn(bytes))
  return isLeft(message) ? undefined : message.right
}

/** What a policy sends, after what it has sent for the call before; a sentence where the budget is too small. */
export const derivedContext = async (
  record: SessionRecord,
  call: ModelCall,
  before: ModelCall | undefined,
  policy: string,
  budget: number,
): Promise<ShownContext | string> => {
  const derived = await workerOf(record).ask('context', call.len, {
    call: placeOf(record, call),
    before: before && placeOf(record, before),
    policy,
    budget,
  })
  return typeof derived === 'string' ? derived : contextOf(record, derived)
}

const contextOf = (record: SessionRecord, { messages, levels, ...derived }: SentContext): ShownContext => {
  return {
    messages: messages.map((one): ContextMessage =>
      typeof one === 'number'
        ? {
            message: record.entries[one]?.message as Message,
            source: { type: 'clone', position: one } satisfies ContextSource,
          }
        : one,
    ),
    levelOf: (position) => residencyLevels[levels[position] ?? -1] ?? 'pointer',
    prefix: derived.prefix,
    sums: async () => ({ tokens: derived.tokens, cached: derived.stableTokens }),
    derived,
  }
}
