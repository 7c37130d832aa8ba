/**
 * Aider's history, `.aider.chat.history.md`: Markdown, with each line of the user behind `####`, what Aider itself says behind
 * `>`, and the model's answer between them. Aider ends both kinds of lines with two spaces, which tell them from headings and
 * quotes of an answer; of what it says in several lines, only the first is behind `>`, and only the last ends so. A file has
 * several chats; each is a conversation.
 *
 * Source  Aider-AI/aider, aider/io.py (`append_chat_history`) and aider/utils.py (2026-09); files of version 0.86.2
 */
import type { Message } from 'indelible/message'
import { right } from 'indelible/internal/json'
import type { Conversation } from '../format/found-conversation.ts'
import { textPart } from '../format/entry-lines.ts'
import { OriginDraft } from '../format/origin.ts'

const start = /^# aider chat started at (.+?)\s*$/

/** Whether a text is such a history. */
export const isAiderHistory = (text: string): boolean =>
  start.test(text.slice(0, 400).trimStart().split('\n', 1)[0] ?? '')

export const aiderConversations = (text: string): readonly Conversation[] => {
  const chats: { readonly started: string; readonly lines: string[] }[] = []
  for (const line of text.split(/\r?\n/)) {
    const found = start.exec(line)
    if (found !== null) chats.push({ started: found[1] as string, lines: [] })
    else chats.at(-1)?.lines.push(line)
  }
  return chats.map(({ started, lines }) => {
    const origin = new OriginDraft()
    origin.time(started)
    const messages = messagesOf(lines, origin)
    return { format: 'aider', origin, losses: [], decode: () => right({ messages, losses: [] }) }
  })
}

const messagesOf = (lines: readonly string[], origin: OriginDraft): readonly Message[] => {
  const messages: Message[] = []
  let kind: 'user' | 'assistant' | 'aider' | undefined
  let content: string[] = []
  /** What Aider says since the last message; it is kept with the next one. */
  let beside: string[] = []
  const flush = (): void => {
    const text = content.join('\n').trim()
    if (kind === 'aider') beside = beside.concat(content)
    else if (kind !== undefined && text !== '') {
      messages.push({
        role: kind,
        content: [textPart(text)],
        ...(beside.length > 0 && { meta: { aider: { said: beside.join('\n') } } }),
      })
      beside = []
    }
    content = []
  }
  const hasEnds = lines.some((line) => /^####.* {2}$/.test(line))
  /** Until which line Aider says what it began to say. */
  let until = -1
  for (const [at, line] of lines.entries()) {
    const isUser = at > until && (line.startsWith('#### ') || line === '####') && (!hasEnds || line.endsWith('  '))
    if (at > until && !isUser && /^>(?: |$)/.test(line)) until = hasEnds ? endOfRemark(lines, at) : at
    const isAider = at <= until
    const next = isUser ? 'user' : isAider ? 'aider' : line.trim() === '' ? (kind ?? 'assistant') : 'assistant'
    if (next !== kind) flush()
    kind = next
    const words = isUser ? line.slice(5) : isAider ? line.replace(/^> ?/, '') : line
    content.push(isUser || isAider ? words.replace(/ {2}$/, '') : words)
    const model = isAider ? /^(?:Main m|M)odel: (\S+)/.exec(words)?.[1] : undefined
    if (model !== undefined) origin.model(model)
  }
  flush()
  const last = messages.at(-1)
  if (beside.length > 0 && last !== undefined)
    messages[messages.length - 1] = { ...last, meta: { ...last.meta, 'aider-after': { said: beside.join('\n') } } }
  else if (beside.length > 0) origin.metadata = { said: beside.join('\n') }
  return messages
}

/** The last line of what Aider says from a line on, which ends with two spaces; -1 if a blank line is before: an answer quotes. */
const endOfRemark = (lines: readonly string[], from: number): number => {
  for (let at = from; at < lines.length && lines[at]?.trim() !== ''; at++) if (lines[at]?.endsWith('  ')) return at
  return -1
}
