/** When a tool call is the same as another (the name, and the arguments as JSON), and which calls are made again. */
import { toolCallsOf, type Message, type ToolCallPart } from '../message/index.ts'

/** Of calls, whether they are made again: what was done twice is done a third time, and only the latest answer holds. */
export interface Standing {
  /** Each of them was made again later. */
  readonly outdated: boolean
  /** One of them was made before, and not since. */
  readonly repeated: boolean
}

/** The calls of a record, as they are read. */
export interface Repeats {
  /** Take a message that stands at a position. */
  readonly add: (message: Message, position: number) => void
  /** Read what was added, so that nobody who asks has to wait for it. */
  readonly read: () => void
  /** Of calls, by their keys, that stand before a position: how they stand. Cost: the calls added since it was read last. */
  readonly standing: (keys: readonly string[], to: number) => Standing
}

export const repeats = (): Repeats => {
  const added: { readonly message: Message; readonly position: number }[] = []
  const known = new Map<string, { readonly count: number; readonly last: number }>()
  const read = (): void => {
    for (const { message, position } of added.splice(0))
      for (const call of toolCallsOf(message)) {
        const key = callKey(call)
        known.set(key, { count: (known.get(key)?.count ?? 0) + 1, last: position })
      }
  }
  return {
    add: (message, position) => void (message.role === 'assistant' && added.push({ message, position })),
    read,
    standing: (keys, to) => {
      if (keys.length === 0) return neverRepeated
      read()
      const found = keys.map((key) => known.get(key))
      return {
        outdated: found.every((call) => call !== undefined && call.last >= to),
        repeated: found.some((call) => call !== undefined && call.count > 1 && call.last < to),
      }
    },
  }
}

/** How what is no call stands. */
export const neverRepeated: Standing = Object.freeze({ outdated: false, repeated: false })

/** The keys of the calls of messages. */
export const callKeys = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap((message) => toolCallsOf(message).map(callKey))

/** Equal for calls that ask the same. Found out once for each recorded call. */
export const callKey = (call: ToolCallPart): string => {
  const known = keys.get(call)
  if (known !== undefined) return known
  const key = keyOf(call)
  keys.set(call, key)
  return key
}

const keys = new WeakMap<ToolCallPart, string>()

const keyOf = ({ name, arguments: given }: ToolCallPart): string => {
  try {
    return `${name} ${JSON.stringify(sorted(JSON.parse(given)))}`
  } catch {
    return `${name} ${given.trim()}`
  }
}

const sorted = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => [name, sorted(field)]),
  )
}
