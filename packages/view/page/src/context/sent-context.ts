/** What a call was sent, as it was recorded or as the worker of the page derives it. */
import type { ContextSource } from 'indelible/context'
import { defaultPrices } from 'indelible/internal/prices'
import type { Message } from 'indelible/message'
import { residencyLevels, type ResidencyLevel } from 'indelible/pages'
import { detailsOf } from '@indelible/recorder'
import type { RequestParts } from '../../../src/calls/changed-parts.ts'
import { countedIn, notesOf, placeOf, type ModelCall } from '../../../src/calls/model-calls.ts'
import type { ContextMessage } from '../../../src/calls/sent-pairs.ts'
import { sentBy } from '../../../src/calls/sent-call.ts'
import { sentRequest } from '../../../src/calls/sent-request.ts'
import type { SentContext } from '../../../src/calls/derive-contexts.ts'
import type { SessionRecord } from '../data/record.ts'
import { workerOf } from './worker-client.ts'

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
  readonly request?: RequestParts
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
  const again = await workerOf(record).ask('again', call.len, sentBy(record, call, note, before))
  if (again === undefined || before === undefined || modelOf(before, record) === note.model)
    return again && contextOf(record, again)
  // Another model has a cache of its own.
  return contextOf(record, { ...again, prefix: 0, stableTokens: 0, cost: again.tokens * defaultPrices.fresh })
}

const modelOf = (call: ModelCall, record: SessionRecord): string | undefined =>
  (call.receipt?.note ?? countedIn(record, call))?.model

/** The messages that a recorder saw. */
const recordedContext = async (
  record: SessionRecord,
  call: ModelCall,
  before: ModelCall | undefined,
): Promise<ShownContext | undefined> => {
  const { source } = record
  const missing = source.exported ? 'not in this file' : 'missing from the store'
  const sent = await sentRequest(record, { blocks: source.blocks, missing }, call, before)
  if (sent === undefined) return undefined
  const { messages, entries, prefix, broke, request } = sent
  const present = new Set(
    messages.flatMap((message) => (message.source.type === 'clone' ? [message.source.position] : [])),
  )
  return {
    messages,
    levelOf: (position) => (present.has(position) ? 'full' : 'pointer'),
    prefix,
    sums: () => workerOf(record).ask('sums', call.len, { messages: entries, prefix }),
    ...(broke !== undefined && { broke }),
    request,
  }
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
    messages: messages.map((entry): ContextMessage =>
      typeof entry === 'number'
        ? {
            message: record.entries[entry]?.message as Message,
            source: { type: 'clone', position: entry } satisfies ContextSource,
          }
        : entry,
    ),
    levelOf: (position) => residencyLevels[levels[position] ?? -1] ?? 'pointer',
    prefix: derived.prefix,
    sums: async () => ({ tokens: derived.tokens, cached: derived.stableTokens }),
    derived,
  }
}
