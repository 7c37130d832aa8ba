/** What a call was sent, or would have been sent by a policy: derived here by the library. */
import { deriveContext, paged, window, type ContextSource, type DerivedContext, type Policy } from 'indelible/context'
import { isLeft, parseJson } from 'indelible/json/kit'
import { decodeMessage, type Message } from 'indelible/message'
import type { ResidencyLevel } from 'indelible/pages'
import { isBlockId } from 'indelible/proof/kit'
import { detailsOf } from '@indelible/recorder'
import { sentEntries } from '@indelible/recorder/kit'
import { faultMessage } from 'indelible'
import { momentOf, notesOf, type ModelCall } from './calls.ts'
import type { SessionRecord } from './record.ts'
import type { Source } from './source.ts'

export const policies: readonly Policy[] = [paged(), window]

/** One message of a context, and where it comes from. */
export interface SawMessage {
  readonly message: Message
  /** `foreign`: the record has no such message; the program that called wrote it. */
  readonly source: ContextSource | { readonly type: 'foreign' }
}

export interface SawContext {
  readonly messages: readonly SawMessage[]
  /** How much of a message of the record is in it. */
  readonly levelOf: (position: number) => ResidencyLevel
  /** How many messages equal those of the call before. */
  readonly prefix: number
  /** Why the prefix ended, where a recorder saw it. */
  readonly broke?: string
  /** What a recorded request had beside its messages. */
  readonly request?: { readonly system?: unknown; readonly tools?: unknown; readonly parameters?: unknown }
  readonly derived?: DerivedContext
}

/** The messages that a recorder saw; undefined where none did. */
export const recordedContext = async (
  record: SessionRecord,
  call: ModelCall,
  before: ModelCall | undefined,
): Promise<SawContext | undefined> => {
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
  const present = new Set(entries)
  let prefix = 0
  // Providers cache tools and system first: where these changed, no message of the call before is in the cache.
  if (broke === undefined || broke.where === 'messages')
    while (prefix < entries.length && entries[prefix] === earlier[prefix]) prefix++
  const missing = missingMessage(source)
  return {
    messages: entries.map((entry) =>
      typeof entry === 'number'
        ? { message: record.view().at(entry) ?? missing, source: { type: 'clone', position: entry } }
        : { message: messageIn(bytes.get(entry)) ?? missing, source: { type: 'foreign' } },
    ),
    levelOf: (position) => (present.has(position) ? 'full' : 'pointer'),
    prefix,
    ...(broke !== undefined && { broke: broke.because }),
    request: {
      ...(system !== undefined && { system: jsonIn(bytes.get(system)) }),
      ...(tools !== undefined && { tools: jsonIn(bytes.get(tools)) }),
      ...(parameters !== undefined && { parameters }),
    },
  }
}

const missingMessage = ({ exported }: Source): Message => ({
  role: 'developer',
  content: [
    { type: 'text', text: exported ? 'This message is not in this file.' : 'This message is missing from the store.' },
  ],
})

const jsonIn = (bytes: Uint8Array | undefined): unknown => {
  const parsed = bytes === undefined ? undefined : parseJson(new TextDecoder().decode(bytes))
  return parsed === undefined || isLeft(parsed) ? 'It is not here.' : parsed.right
}

const messageIn = (bytes: Uint8Array | undefined): Message | undefined => {
  if (bytes === undefined) return undefined
  const message = decodeMessage(jsonIn(bytes))
  return isLeft(message) ? undefined : message.right
}

/** What a policy sends, after what it has sent for the call before; a sentence where the budget is too small. */
export const derivedContext = (
  record: SessionRecord,
  call: ModelCall,
  before: ModelCall | undefined,
  policy: Policy,
  budget: number,
): SawContext | string => {
  const previous = before === undefined ? undefined : derive(record, before, policy, budget, undefined)
  const derived = derive(record, call, policy, budget, typeof previous === 'string' ? undefined : previous)
  if (typeof derived === 'string') return derived
  return {
    messages: Array.from({ length: derived.messages.length }, (_, index) => ({
      message: derived.messages.at(index) as Message,
      source: derived.sources.at(index) as ContextSource,
    })),
    levelOf: (position) => derived.residency.at(position) ?? 'pointer',
    prefix: derived.stablePrefix,
    derived,
  }
}

/** The first of the calls whose context is of the same epoch as that of `index`. Cost: O(log calls) contexts. */
export const epochStart = (
  record: SessionRecord,
  calls: readonly ModelCall[],
  index: number,
  policy: Policy,
  budget: number,
): ModelCall | undefined => {
  const epochAt = (at: number): number => {
    const derived = derive(record, calls[at] as ModelCall, policy, budget, undefined)
    return typeof derived === 'string' ? -1 : derived.epoch
  }
  const own = epochAt(index)
  if (policy.choose !== 'epochs' || own <= 0) return undefined
  let [low, high] = [0, index]
  while (low < high) {
    const middle = (low + high) >> 1
    if (epochAt(middle) < own) low = middle + 1
    else high = middle
  }
  return calls[low]
}

/** One context after another, each continuing the one before. */
export const derive = (
  record: SessionRecord,
  call: ModelCall,
  policy: Policy,
  budget: number,
  previous: DerivedContext | undefined,
): DerivedContext | string => {
  const { conversation, notes } = momentOf(record, call)
  const derived = deriveContext(conversation, { budget, policy, notes, ...(previous && { previous }) })
  return isLeft(derived) ? faultMessage(derived.left) : derived.right
}
