/** What a call was sent, only where its receipt's digest proves it. */
import { isObject } from 'indelible/internal/json'
import { system, type Message } from 'indelible/message'
import { digestOf } from 'indelible/internal/proof'
import type { PageKind } from 'indelible/pages'
import { toSentMessage } from '@indelible/recorder/internal'
import { Deriver } from './derive-contexts.ts'
import { placeOf, type CallRecord, type ModelCall } from './model-calls.ts'
import type { SentRequest } from './sent-request.ts'
import type { DerivedBy } from 'indelible/internal/context'
import type { ReceiptNote } from 'indelible/internal/notes'

/** What a call's receipt says of how its context was derived. */
export const sentBy = (
  record: CallRecord,
  call: ModelCall,
  { contextDigest: digest, model, details }: ReceiptNote,
  before: ModelCall | undefined,
): Parameters<Deriver['again']>[0] => ({
  ...{ call: placeOf(record, call), before: before && placeOf(record, before), digest, model },
  by: isObject(details?.['derived']) ? (details['derived'] as unknown as DerivedBy) : undefined,
})

/**
 * The request of a call as JSON; a clause that says why not, if it is not known exactly.
 *
 * @param request what a recorder saw; undefined if none did: what a run was sent is derived again
 * @param kindOf the page kind that a message was recorded with
 * @param instructions what took the place of the context's leading system messages; undefined if that can't be read
 */
export const sentCall = (
  record: CallRecord,
  call: ModelCall,
  before: ModelCall | undefined,
  request: SentRequest | undefined,
  kindOf: (position: number) => PageKind | undefined,
  instructions: string | undefined,
): object | string => {
  const note = call.receipt?.note
  if (note === undefined) return 'the file that it was imported from does not say'
  if (request === undefined) {
    const deriver = new Deriver()
    deriver.add(
      record.entries.map(({ message, position }) => [message, kindOf(position) ?? 'conversation'] as const),
      record.notes,
    )
    const again = deriver.again(sentBy(record, call, note, before))
    if (again === undefined) return 'its messages were not recorded, and can’t be derived again from its receipt'
    const messages = again.messages.map((entry) =>
      typeof entry === 'number' ? record.entries[entry]?.message : entry.message,
    )
    if (note.instructions === undefined) return { source: 'derived', messages }
    if (instructions === undefined) return 'the instructions that its receipt names are missing or altered'
    return { source: 'derived', messages: instructed(messages, instructions) }
  }
  const recorded = request.entries.map((entry) => (typeof entry === 'number' ? record.entries[entry]?.message : entry))
  if (recorded.some(isChanged)) return 'texts were redacted or left out when it was recorded'
  const messages = recorded.map((message) => toSentMessage(message as Message))
  const { system = null, tools = null } = request.request
  const digests = messages.map((message) => digestOf(JSON.stringify(message)))
  if (digestOf(JSON.stringify([system, tools, digests])) !== note.contextDigest)
    return 'what is recorded has another digest: part of it is erased, damaged, missing or redacted, or the provider had it from an earlier call'
  return { source: 'recorded', ...request.request, messages }
}

/** Whether a recorder keeps the digest of the original beside a message that it changed. */
const isChanged = (message: Message | undefined): boolean => {
  const ours = message?.meta?.['indelible']
  return isObject(ours) && ours['digest'] !== undefined
}

/** The messages with instructions in place of the leading system messages; an empty text only takes those away. */
const instructed = (
  messages: readonly (Message | undefined)[],
  instructions: string,
): readonly (Message | undefined)[] => {
  const rest = messages.findIndex((message) => message?.role !== 'system')
  return [...(instructions === '' ? [] : [system(instructions)]), ...(rest === -1 ? [] : messages.slice(rest))]
}
