/** Whether a recorded conversation is the one that an agent's own files say. */
import type { Message } from 'indelible'

/** One thing that was said, called or answered, as text that can be compared. */
interface Saying {
  readonly text: string
  /** The agent's own words around the conversation: not everything of it is a message in its files. */
  readonly surroundings: boolean
}

const sayingsOf = (messages: Iterable<Message>): readonly Saying[] =>
  [...messages].flatMap(({ role, content }) =>
    content.flatMap((part): readonly Saying[] => {
      if (part.type === 'reasoning') return []
      const value =
        part.type === 'text'
          ? part.text.trim()
          : part.type === 'tool_call'
            ? [idOf(part.id), part.name, jsonIn(part.arguments)]
            : part.type === 'tool_result'
              ? [
                  idOf(part.callId),
                  part.content.map((resultPart) => (resultPart.type === 'text' ? resultPart.text : resultPart)),
                ]
              : part.type === 'provider'
                ? part.raw
                : part
      if (value === '') return []
      const surroundings =
        role === 'system' ||
        role === 'developer' ||
        (typeof value === 'string' && /^<system-reminder>[\s\S]*<\/system-reminder>$/.test(value))
      return [{ text: JSON.stringify([role, value], withoutOwn), surroundings }]
    }),
  )

/** Gemini CLI puts the name of the tool before the id, in its files. */
const idOf = (id: string): string => id.replace(/^.*__/, '')

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** What one side only says of a thing: the marks of the library, and nulls. */
const withoutOwn = (key: string, value: unknown): unknown => (key === 'meta' || value === null ? undefined : value)

/** How two conversations compare. */
export interface Compared {
  /** What only one of them says, but for the surroundings. Empty: they are equal. */
  readonly differences: readonly string[]
  /** How many of the agent's own words around the conversation only the record has. */
  readonly beside: number
}

/** @param recorded the messages of the record @param kept those of the agent's own files */
export const compare = (recorded: Iterable<Message>, kept: Iterable<Message>): Compared => {
  const differences: string[] = []
  let beside = 0
  const own = sayingsOf(kept)
  let at = 0
  for (const { text, surroundings } of sayingsOf(recorded)) {
    const next = own.findIndex((saying, index) => index >= at && saying.text === text)
    const between = next === -1 ? [] : own.slice(at, next).filter((saying) => !saying.surroundings)
    if (next !== -1 && (!surroundings || between.length === 0)) {
      for (const saying of between) differences.push(`only in its file: ${saying.text.slice(0, 200)}`)
      at = next + 1
    } else if (surroundings) beside++
    else differences.push(`only recorded: ${text.slice(0, 200)}`)
  }
  for (const saying of own.slice(at))
    if (!saying.surroundings) differences.push(`only in its file: ${saying.text.slice(0, 200)}`)
  return { differences, beside }
}
