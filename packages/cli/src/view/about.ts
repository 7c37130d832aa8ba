/** What a session is about and when something was said in it last. The page has it, too: nothing here needs Node. */
import { isObject, type JsonObject } from 'indelible/json/kit'
import { textOf, type Message } from 'indelible/message'
import { usageDollars } from 'indelible/context/kit'
import type { SessionInfo } from 'indelible/session'
import type { CallUse } from 'indelible/session/kit'
import type { Overview } from './protocol.ts'

/** What the file says that a session was imported from. */
export const importedFrom = ({ metadata }: Pick<SessionInfo, 'metadata'>): JsonObject =>
  isObject(metadata['from']) ? metadata['from'] : {}

/** The title that somebody gave a session, or that its file had. */
export const titleOf = (info: Pick<SessionInfo, 'metadata'>): string | undefined => {
  const title = info.metadata['title'] ?? importedFrom(info)['title']
  return typeof title === 'string' && title.trim() !== '' ? title : undefined
}

/**
 * When something was said last, in milliseconds since 1970, never after its last append: of an imported conversation that
 * nothing was appended to, the time that its file tells.
 */
export const activityOf = (
  info: Pick<SessionInfo, 'created' | 'appended' | 'metadata'> & { readonly forkedFrom?: unknown },
): number => {
  const { ended } = importedFrom(info)
  const isAsImported = info.appended <= info.created && info.forkedFrom === undefined
  const time = typeof ended === 'string' && isAsImported ? Date.parse(ended) : NaN
  return Number.isNaN(time) ? info.appended : Math.min(time, info.appended)
}

/** The tokens and the US dollars of calls; no dollars, where a price is not known or nobody counted tokens. */
export const spendingOf = (uses: readonly CallUse[]): Pick<Overview, 'input' | 'output' | 'dollars'> => {
  const counted = uses.flatMap(({ model, calls, usage }) => (usage === undefined ? [] : [{ model, calls, usage }]))
  const sum = (of: (use: (typeof counted)[number]) => number): number => counted.reduce((all, use) => all + of(use), 0)
  const dollars = sum(({ model, usage, calls }) => usageDollars(model, usage, calls) ?? NaN)
  return {
    input: sum(({ usage }) => usage.input),
    output: sum(({ usage }) => usage.output),
    ...(counted.length > 0 && !Number.isNaN(dollars) && { dollars }),
  }
}

/** What programs put before the words of a user: XML-like blocks, as Claude Code and Codex write them. */
const preamble = /^\s*<([a-z][\w-]*)(?![\w-])[^>]*>[\s\S]*?<\/\1>/i

/** A text that a script gave as a JSON string, as what it says. */
const plainOf = (text: string): string =>
  (/\\n/.test(text) && !text.trim().includes('\n')
    ? text
        .trim()
        .replace(/^["\\]+|["\\]+$/g, '')
        .replaceAll('\\n', '\n')
    : text
  ).trim()

/** Without what programs put before it; empty, if it is all of a program, or a /command alone. */
const ownIn = (text: string): string => {
  let own = text
  while (preamble.test(own)) own = own.replace(preamble, '')
  return /^\s*(?:<|# AGENTS\.md|\/\S+\s*$)/.test(own) || !/\p{L}/u.test(own) ? '' : own.trim()
}

/** Texts that a program writes for each session alike. */
const alike = /^\s*(?:# AGENTS\.md|<environment_context>|\/\S+\s*$)/

/** Whether the user says something in these messages that no program wrote. */
export const hasOwnWords = (messages: Iterable<Message>): boolean =>
  Array.from(messages).some((message) => message.role === 'user' && ownIn(plainOf(textOf(message))) !== '')

/**
 * The first words of the user that no program wrote and that are more than a /command; without any, what the program wrote
 * for the user, without its tags; without a user, what anybody says first. Empty, where nobody speaks.
 */
export const firstWordsOf = (messages: Iterable<Message>): string => {
  let [byProgram, byHabit, byOthers] = ['', '', '']
  for (const message of messages) {
    const text = plainOf(textOf(message).slice(0, 20_000))
    const own = message.role === 'user' ? ownIn(text) : ''
    if (own !== '') return own
    if (message.role !== 'user') byOthers ||= text
    else if (alike.test(text)) byHabit ||= text
    else byProgram ||= text.replaceAll(/<\/?[a-z][\w-]*>/gi, ' ').trim()
  }
  return byProgram || byHabit || byOthers
}
