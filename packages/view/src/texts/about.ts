/** The description of a session and its last activity. Also used by the page, so it must not need Node. */
import { isObject, type JsonObject } from 'indelible/internal/json'
import { textOf, type Message } from 'indelible/message'
import { usageDollars } from 'indelible/internal/prices'
import type { SessionInfo } from 'indelible/session'
import type { UsageCall } from 'indelible/usage'
import { dayOf, summedCalls } from 'indelible/internal/usage'
import type { Overview } from '../protocol.ts'

/** The information from an imported session's file. */
export const importedFrom = ({ metadata }: Pick<SessionInfo, 'metadata'>): JsonObject =>
  isObject(metadata['from']) ? metadata['from'] : {}

/** The title given by a user, or by the imported file. */
export const titleOf = (info: Pick<SessionInfo, 'metadata'>): string | undefined => {
  const title = info.metadata['title'] ?? importedFrom(info)['title']
  return typeof title === 'string' && title.trim() !== '' ? title : undefined
}

/** The program's own id of the session that a sub-agent's session was started from; undefined for other sessions. */
export const parentIdOf = (info: Pick<SessionInfo, 'id' | 'metadata'>): string | undefined => {
  const from = importedFrom(info)
  const { agentId, parent_thread_id, parent_id, parentID } = isObject(from['metadata']) ? from['metadata'] : {}
  // Claude Code writes the parent's id beside the agent's own.
  const parent = (typeof agentId === 'string' ? from['id'] : undefined) ?? parent_thread_id ?? parent_id ?? parentID
  return typeof parent === 'string' ? parent : /^(.+)\.agent-[^.]+$/.exec(info.id)?.[1]
}

/** The names by which a program refers to a session: those of the session's file, and its id here. */
export const namesOf = (info: Pick<SessionInfo, 'id' | 'metadata'>): readonly string[] => {
  const from = importedFrom(info)
  const { agentId } = isObject(from['metadata']) ? from['metadata'] : {}
  return [typeof agentId === 'string' ? agentId : from['id'], info.id].filter((name) => typeof name === 'string')
}

/** A thing, its parent, the parent of that, and so on; a circle of parents ends. */
export const ancestryOf = <T>(of: T, parentOf: (entry: T) => T | undefined): readonly T[] => {
  const found = new Set<T>()
  for (let at: T | undefined = of; at !== undefined && !found.has(at); at = parentOf(at)) found.add(at)
  return [...found]
}

/** The folder that a program worked in; undefined if its file does not say it. */
export const workFolderOf = (info: Pick<SessionInfo, 'metadata'>): string | undefined => {
  const imported = importedFrom(info)['metadata']
  const { cwd, directory } = { ...info.metadata, ...(isObject(imported) && imported) }
  const folder = cwd ?? directory
  return typeof folder === 'string' && namesIn(folder).length > 0 ? folder : undefined
}

const namesIn = (folder: string): readonly string[] => folder.split(/[/\\]/).filter((name) => name !== '')

/** The name of the project in a folder: the folder's last name, and names above it where others end alike. */
export const projectIn = (folder: string, others: Iterable<string> = []): string => {
  const names = namesIn(folder)
  const rest = Array.from(others, namesIn).filter((other) => other.join('/') !== names.join('/'))
  let count = 1
  const shown = (of: readonly string[]): string => of.slice(-count).join('/')
  while (count < names.length && rest.some((other) => shown(other) === shown(names))) count++
  return shown(names)
}

/** The tokens of a session's receipts and of the file that it was imported from; of a fork, its own. Undefined if not known. */
export const tokensOf = ({
  tokens,
  forkedFrom,
  metadata,
}: Pick<SessionInfo, 'tokens' | 'forkedFrom' | 'metadata'>): number | undefined => {
  const uses = forkedFrom === undefined ? summedCalls(metadata['from']) : []
  if (tokens === undefined && uses.length === 0) return undefined
  return uses.reduce((sum, { usage }) => sum + (usage?.input ?? 0) + (usage?.output ?? 0), tokens ?? 0)
}

/** How to read a session that the Claude Agent SDK wrote, which has no messages; undefined for other sessions. */
export const claudeAgentText = ({ metadata, len }: Pick<SessionInfo, 'metadata' | 'len'>): string | undefined =>
  len === 0 && isObject(metadata['claude-agent'])
    ? 'the Claude Agent SDK wrote this session: its lines are notes, which commands do not read as messages. `readSession` of claudeSessionStore (@indelible/claude-agent) reads its conversation'
    : undefined

/**
 * When the last message was written, in milliseconds since 1970, never after the session's last
 * append. For an imported conversation without appends, it is the time in the imported file.
 */
export const activityOf = (
  info: Pick<SessionInfo, 'created' | 'appended' | 'metadata'> & { readonly forkedFrom?: unknown },
): number => {
  const { ended } = importedFrom(info)
  const isAsImported = info.appended <= info.created && info.forkedFrom === undefined
  const time = typeof ended === 'string' && isAsImported ? Date.parse(ended) : NaN
  return Number.isNaN(time) ? info.appended : Math.min(time, info.appended)
}

/** A place in a log, as all commands and the page print it: its row, which counts notes too, and its message. */
export const placeText = ({
  row,
  position,
}: {
  readonly row: number
  readonly position?: number | undefined
}): string => `row ${row}${position === undefined ? '' : ` (message ${position})`}`

/** The tokens and the cost of calls. */
type Spending = Pick<Overview, 'input' | 'output' | 'dollars' | 'unpriced' | 'undercounted'>

/** The tokens and US dollars of calls; no dollars if no price is known. */
export const spendingOf = (uses: readonly UsageCall[]): Spending => {
  const counted = uses.flatMap((use) => {
    const { model, calls: count = 1, isLong, usage } = use
    return usage === undefined ? [] : [{ model, calls: isLong === true ? 1 : count, count, day: dayOf(use), usage }]
  })
  const sum = (of: (use: (typeof counted)[number]) => number): number => counted.reduce((all, use) => all + of(use), 0)
  const isPriced = ({ model, usage, calls, day }: (typeof counted)[number]): boolean =>
    usageDollars(model, usage, calls, day) !== undefined
  const unpriced = sum((use) => (isPriced(use) ? 0 : Math.max(1, use.count)))
  return {
    input: sum(({ usage }) => usage.input),
    output: sum(({ usage }) => usage.output),
    ...(uses.some((use) => use.isUndercounted === true || (use.usage === undefined && use.isFailed !== true)) && {
      undercounted: true as const,
    }),
    ...(counted.some(isPriced) && {
      dollars: sum(({ model, usage, calls, day }) => usageDollars(model, usage, calls, day) ?? 0),
    }),
    ...(unpriced > 0 && { unpriced }),
  }
}

/** The XML-like blocks that programs such as Claude Code and Codex put before a user's text. */
const preamble = /^\s*<([a-z][\w-]*)(?![\w-])[^>]*>[\s\S]*?<\/\1>/i

/** The blocks that Cursor and Cline put around a user's text. */
const userBlock = /^\s*<(user_query|user_input|task)(?:\s[^>]*)?>([\s\S]*?)(?:<\/\1>|$)/i

/** The decoded text, if a script passed it as a JSON string. */
const plainOf = (text: string): string =>
  (/\\n/.test(text) && !text.trim().includes('\n')
    ? text
        .trim()
        .replace(/^["\\]+|["\\]+$/g, '')
        .replaceAll('\\n', '\n')
        .replaceAll(/\\u([\da-f]{4})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    : text
  ).trim()

/** A text without such blocks; empty if a program wrote all of it, or it is only a /command. */
const ownTextIn = (text: string): string => {
  let own = text
  while (preamble.test(own) && !userBlock.test(own)) own = own.replace(preamble, '')
  own = userBlock.exec(own)?.[2] ?? own
  return /^\s*(?:<|# AGENTS\.md|\/\S+\s*$)/.test(own) || !/\p{L}/u.test(own) ? '' : own.trim()
}

/** Texts that a program writes in every session. */
const programText = /^\s*(?:# AGENTS\.md|<environment_context>|\/\S+\s*$)/

/** Whether the user wrote some of the text in these messages. */
export const hasOwnWords = (messages: Iterable<Message>): boolean =>
  Array.from(messages).some((message) => message.role === 'user' && ownTextIn(plainOf(textOf(message))) !== '')

/**
 * The user's first own words beyond a /command. If there are none, the text that the program wrote for
 * the user, without its tags; without a user, the first text of anyone. Empty if there is no text.
 */
export const firstWordsOf = (messages: Iterable<Message>): string => {
  let [byProgram, byHabit, byOthers] = ['', '', '']
  for (const message of messages) {
    const text = plainOf(textOf(message).slice(0, 20_000))
    const own = message.role === 'user' ? ownTextIn(text) : ''
    if (own !== '') return own
    if (message.role !== 'user') byOthers ||= text
    else if (programText.test(text)) byHabit ||= text
    else byProgram ||= text.replaceAll(/<\/?[a-z][\w-]*>/gi, ' ').trim()
  }
  return byProgram || byHabit || byOthers
}
