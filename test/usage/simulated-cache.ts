/** A provider's prompt cache that follows its published rules, and sessions with planted causes of cache misses. */
import type { Usage } from '../../src/notes/internal.ts'
import type { UsageCall } from '../../src/usage/index.ts'
import type { UsageCause } from '../../src/usage/internal.ts'

const minute = 60_000

/** The events that a session can have before a call. */
export const events = [
  'plain',
  'tools',
  'system',
  'messages',
  'compaction',
  'pause',
  'model',
  'effort',
  'missed',
] as const
export type Event = (typeof events)[number]

export interface Step {
  readonly event: Event
  /** The tokens of the content that is new in the request. */
  readonly fresh: number
  readonly output: number
  /** Milliseconds from the last answer to the request, without a planted pause. */
  readonly wait: number
}

export interface Rules {
  readonly models: readonly [string, string]
  readonly lifetime: number
  /** Whether the prefix is kept for an hour, which is counted apart. */
  readonly isHour: boolean
  /** The size of blocks; 1 where written tokens are counted. */
  readonly block: number
  readonly fewest: number
  readonly countsWrites: boolean
}

export const anthropic: Rules = {
  models: ['claude-opus-4-5', 'claude-haiku-4-5'],
  ...{ lifetime: 5 * minute, isHour: false, block: 1, fewest: 0, countsWrites: true },
}
export const anthropicHour: Rules = { ...anthropic, lifetime: 60 * minute, isHour: true }
export const openai: Rules = {
  models: ['gpt-5.2', 'gpt-5-mini'],
  ...{ lifetime: 10 * minute, isHour: false, block: 128, fewest: 1024, countsWrites: false },
}

/** The cause that the account must give for what is sent again after an event; undefined where nothing may be. */
export const causeOfEvent: { readonly [event in Event]: UsageCause | undefined } = {
  ...{ plain: undefined, tools: 'tools', system: 'system', messages: 'messages', compaction: 'compaction' },
  ...{ pause: 'expired', model: 'model', effort: 'effort', missed: 'missed' },
}

/** The calls of a session, as a recorder has them: with the change that it saw in the requests. */
export const simulate = (steps: readonly Step[], rules: Rules): readonly UsageCall[] =>
  simulateRequests(steps, rules).map(({ call }) => call)

/** The calls, each with the names of the pieces that it sent: tools (or the effort), system, messages. */
export const simulateRequests = (
  steps: readonly Step[],
  rules: Rules,
): readonly { readonly call: UsageCall; readonly sent: readonly string[] }[] => {
  /** The parts of the request, in order. Equal names mean equal bytes. */
  let request: (readonly [name: string, tokens: number])[] = [
    ['tools 0', 3000],
    ['system 0', 2000],
  ]
  const cached = new Map<string, number>() // the end of a prefix by its content, and until when it is kept
  let [model, now, version] = [rules.models[0], 1_767_225_600_000, 0]
  const calls: { call: UsageCall; sent: readonly string[] }[] = []
  for (const { event, fresh, output, wait } of steps) {
    version += 1
    const isFirst = calls.length === 0
    const named = (at: number, name: string): void => {
      request = request.map((piece, index) => (index === at ? [`${name} ${version}`, piece[1]] : piece))
    }
    if (event === 'tools') named(0, 'tools')
    if (event === 'system') named(1, 'system')
    if (event === 'effort') named(0, 'effort')
    if (event === 'messages') named(Math.min(2, request.length - 1), 'edited')
    if (event === 'compaction') request = [...request.slice(0, 1), [`summary ${version}`, 1500]]
    if (event === 'model') model = rules.models[model === rules.models[0] ? 1 : 0]
    request = [...request, [`message ${version}`, fresh]]
    now += event === 'pause' && !isFirst ? rules.lifetime + 1 + wait : wait
    const began = now
    const ends = endsOf(request, model)
    const read = event === 'missed' ? 0 : readFrom(cached, ends, began, rules)
    const input = ends.at(-1)?.tokens ?? 0
    const tail = rules.countsWrites ? Math.min(3, fresh) : 0
    for (const { key } of ends) cached.set(key, began + rules.lifetime)
    const written = rules.countsWrites ? Math.max(0, input - read - tail) : 0
    const usage: Usage = {
      ...{ input, output, cacheRead: Math.min(read, input - tail), cacheWrite: written },
      ...(rules.isHour && { cacheWriteHour: written }),
    }
    now += 2000
    const cause = event === 'pause' || event === 'model' || event === 'missed' ? undefined : causeOfEvent[event]
    const call: UsageCall = {
      ...{ model, usage, began, at: now, seenIn: 'requests' },
      ...(cause !== undefined &&
        !isFirst && { evidence: { cause: cause as 'tools', because: 'it changed', known: 'proved' } }),
    }
    calls.push({ call, sent: request.map(([name]) => name) })
    request = [...request, [`answer ${version}`, output]]
  }
  return calls
}

interface End {
  readonly key: string
  readonly tokens: number
}

/** The prefixes of a request: each piece ends one. */
const endsOf = (request: readonly (readonly [string, number])[], model: string): readonly End[] => {
  const ends: End[] = []
  let [key, tokens] = [model, 0]
  for (const [name, size] of request) {
    key += `\n${name}`
    tokens += size
    ends.push({ key, tokens })
  }
  return ends
}

/** The tokens of the longest prefix that is cached, in whole blocks. */
const readFrom = (
  cached: ReadonlyMap<string, number>,
  ends: readonly End[],
  now: number,
  { block, fewest, countsWrites }: Rules,
): number => {
  const found = ends.findLast(({ key }) => (cached.get(key) ?? 0) >= now)
  const tokens = found === undefined ? 0 : Math.floor(found.tokens / block) * block
  return tokens < fewest ? 0 : Math.max(0, tokens - (countsWrites ? 3 : 0))
}
