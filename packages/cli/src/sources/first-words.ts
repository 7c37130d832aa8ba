/** What a session is about, in a few words: its title, or the first thing that its user said. */
import { isLeft, isObject } from 'indelible/json/kit'
import type { Message } from 'indelible/message'
import { readRange, type SessionInfo } from 'indelible/session'
import type { Store } from 'indelible/store'
import { oneLine } from '../terminal/screen.ts'
import { plainText } from '../terminal/timeline.ts'

/** The title that somebody gave a session, or that its file had. */
export const titleOf = ({ metadata }: Pick<SessionInfo, 'metadata'>): string | undefined => {
  const from = metadata['from']
  const title = metadata['title'] ?? (isObject(from) ? from['title'] : undefined)
  return typeof title === 'string' && title !== '' ? oneLine(title) : undefined
}

/** The first words of the user; of anybody, where the first messages have none of the user. Empty, where nobody speaks. */
export const firstWords = async (store: Store, { id, len }: Pick<SessionInfo, 'id' | 'len'>): Promise<string> => {
  if (len === 0) return ''
  for (const [from, to] of [
    [0, 3],
    [3, 12],
  ] as const) {
    const read = await readRange(store, id, from, to)()
    if (isLeft(read)) return ''
    const said = [...read.right.view].map(({ role, content }) => ({ role, text: wordsIn(content) }))
    const user = said.find(({ role, text }) => role === 'user' && text !== '')
    if (user !== undefined) return user.text
    if (to >= len || to === 12) return said.find(({ text }) => text !== '')?.text ?? ''
  }
  return ''
}

/** What programs put before the words of a user: XML-like blocks, as Claude Code and Codex write them. */
const preamble = /^\s*<([a-z][\w-]*)(?![\w-])[^>]*>[\s\S]*?<\/\1>/i

const wordsIn = (content: Message['content']): string => {
  const text = content.flatMap((part) => (part.type === 'text' ? [plainText(part)] : [])).join(' ')
  let rest = text.slice(0, 20_000)
  while (preamble.test(rest)) rest = rest.replace(preamble, '')
  return oneLine(rest).trim() || oneLine(text)
}
