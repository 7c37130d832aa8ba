/** The calls of a transcript, each with its place in the conversation and what the file shows before it. */
import { isObject, present, type JsonObject } from 'indelible/internal/json'
import {
  lineEvidence,
  packCalls,
  summedCalls,
  type Evidence,
  type LineChange,
  type PackedCalls,
} from 'indelible/internal/usage'
import type { UsageCall } from 'indelible/usage'
import { callUsageOf } from './call-usage.ts'
import { ClaudeRequests, type RequestDifference, type SentRequest } from './claude-requests.ts'
import { objectIn, textIn } from '../format/origin.ts'
import { sourceTimeOf } from './source-time.ts'
import type { Transcript } from '../transcript.ts'

/** Where a transcript's calls are found. */
type Source = Pick<Transcript, 'messages' | 'notes' | 'origin'>

/**
 * The calls that a file counts, in its order. Those whose answers are not in the conversation (compactions, other branches) are a
 * chain of their own. Cost: O(messages + notes)
 */
const callsOf = ({ messages, notes, origin }: Source): readonly UsageCall[] => {
  const { calls = [], metadata } = origin
  const positions = answersIn(messages)
  const { agentId, isSidechain, parent_thread_id: parent } = metadata
  const isAgent = typeof agentId === 'string' || isSidechain === true || typeof parent === 'string'
  const placed = calls.map((call) => ({ call, position: positions.get(nameOf(call))?.next().value }))
  const hasPlaces = placed.some(({ position }) => position !== undefined)
  const requests = new ClaudeRequests(typeof agentId === 'string' ? agentId : undefined)
  let [last, next] = [-1, 0]
  let isAside = false
  let level: string | undefined
  let request: SentRequest | undefined
  const found: UsageCall[] = []
  for (const { call, position } of placed) {
    const own = { ...call, seenIn: 'lines' as const, ...(isAgent && { isAgent }) }
    if (position === undefined) {
      isAside = true
      found.push(hasPlaces ? { ...own, chain: 'aside' } : own)
      continue
    }
    const answer = messages[position]
    let change: LineChange | undefined
    let levelBefore = level
    for (; next < notes.length && (notes[next]?.position ?? 0) <= position; next++) {
      const note = notes[next]?.note
      const line = lineIn(note)
      const seen = line && requests.read(line)
      level = (line && textIn(line, 'thinkingLevel')) ?? level
      if ((notes[next]?.position ?? 0) <= last) continue
      if (note?.type === 'summary' || seen === 'compaction') change = 'compaction'
      else if (note?.type === 'retraction') change ??= 'messages'
      else change ??= seen
    }
    const effort = textIn(objectIn(answer?.meta ?? {}, 'claude-code'), 'effort')
    if (level === undefined) levelBefore = effort
    level = effort ?? level
    if (isAside && last >= 0) change ??= 'rewind'
    if (last >= 0 && level !== levelBefore) change ??= 'effort'
    if (last >= 0 && versionIn(answer) !== versionIn(messages[last])) change ??= 'system'
    const requestBefore = request
    request = requests.answered(answer)
    const compared = requestBefore && request && requests.compare(requestBefore, request)
    const before = messages[position - 1]
    const sent = before === undefined || before.role === 'assistant' ? undefined : sourceTimeOf(before)
    const began = request === undefined || Number.isNaN(request.at) ? sent : request.at
    found.push({
      ...own,
      position,
      ...(began !== undefined && call.at !== undefined && began <= call.at && { began }),
      ...present({ evidence: last < 0 ? undefined : evidenceOf(missReason(answer), change, compared) }),
      ...(request !== undefined && compared?.isWhole !== false && { seenIn: 'requests' as const }),
    })
    isAside = false
    last = position
  }
  return found
}

/** The evidence for a change before an answer: what both requests prove, what the provider reports, or what the lines show. */
const evidenceOf = (
  reported: LineChange | undefined,
  seen: LineChange | undefined,
  compared: RequestDifference | undefined,
): Evidence | undefined => {
  const isMoved = seen === 'compaction' || (seen === 'rewind' && (reported ?? compared?.cause) === 'messages')
  if (compared?.cause !== undefined && (reported ?? compared.cause) === compared.cause)
    return lineEvidence(isMoved ? seen : compared.cause, 'proved', compared.message)
  if (reported !== undefined) return lineEvidence(isMoved ? seen : reported, 'reported')
  return seen === undefined || compared?.isWhole === true ? undefined : lineEvidence(seen)
}

/**
 * Why the provider's cache was missed, as it reports beside an answer. Other reasons name no change.
 *
 * Source  platform.claude.com/docs/en/build-with-claude/cache-diagnostics (2026-11-29)
 */
const missReason = (answer: Source['messages'][number] | undefined): LineChange | undefined => {
  const diagnostics = objectIn(objectIn(answer?.meta ?? {}, 'anthropic-response'), 'diagnostics')
  const type = textIn(objectIn(diagnostics, 'cache_miss_reason'), 'type')
  return type !== undefined && Object.hasOwn(missReasons, type) ? missReasons[type] : undefined
}

const missReasons: { readonly [reason: string]: LineChange } = {
  model_changed: 'model',
  tools_changed: 'tools',
  system_changed: 'system',
  messages_changed: 'messages',
}

/** A line of Claude Code or of pi that is no message. */
const lineIn = (note: Transcript['notes'][number]['note'] | undefined): JsonObject | undefined =>
  note?.type === 'application' &&
  (note.namespace === 'claude-code' || note.namespace === 'pi-session') &&
  isObject(note.content)
    ? note.content
    : undefined

/** The version of Claude Code that wrote an answer, if it is another one than that of the file's first line. */
const versionIn = (answer: Source['messages'][number] | undefined): string | undefined =>
  textIn(objectIn(answer?.meta ?? {}, 'claude-code'), 'version')

/** The calls of a transcript, or their sums where its file has no more. */
export const spentIn = (transcript: Source): readonly UsageCall[] => {
  const calls = callsOf(transcript)
  return calls.length > 0 ? calls : summedCalls(transcript.origin)
}

/** The calls as a stored session has them; undefined without any. */
export const packedCallsOf = (transcript: Source): PackedCalls | undefined => {
  const calls = callsOf(transcript)
  return calls.length === 0 ? undefined : packCalls(calls)
}

/** The positions of counted answers, by what names their calls. Of an answer in several messages the last counts. */
const answersIn = (messages: Source['messages']): ReadonlyMap<string, Iterator<number, undefined>> => {
  const last = new Map<string, number>()
  const found = messages.map((message, position) => {
    const use = callUsageOf(message)
    if (use?.key !== undefined) last.set(use.key, position)
    return use
  })
  const positions = new Map<string, number[]>()
  for (const [position, use] of found.entries()) {
    if (use === undefined || (use.key !== undefined && last.get(use.key) !== position)) continue
    const name = nameOf(use)
    const there = positions.get(name)
    if (there === undefined) positions.set(name, [position])
    else there.push(position)
  }
  return new Map([...positions].map(([name, at]) => [name, at.values()]))
}

const nameOf = ({ model, usage }: Pick<UsageCall, 'model' | 'usage'>): string =>
  [model, usage?.input, usage?.cacheRead ?? 0, usage?.cacheWrite ?? 0, usage?.output].join(' ')
