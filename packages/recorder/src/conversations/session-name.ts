/** The titles and the ids of recorded sessions. */
import type { Message } from 'indelible/message'
import type { ParsedRequest } from '../requests/wire.ts'

/** The characters of a title. */
const mostTitle = 80

/** The user's first line, cut after a word. Text inside an element is the client's own, such as `<environment>`. */
export const titleOf = (messages: readonly Message[]): string | undefined => {
  const texts = messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => content.flatMap((part) => (part.type === 'text' ? [part.text.trim()] : [])))
    .filter((text) => text !== '')
  const text = texts.find((candidate) => !/^<([\w-]+)>[^]*<\/\1>$/.test(candidate)) ?? texts[0]
  const line = text?.split('\n')[0]?.trimEnd()
  if (line === undefined || line.length <= mostTitle) return line?.toWellFormed()
  const cut = line.slice(0, mostTitle - 1)
  const words = /\s/.test(line.charAt(mostTitle - 1)) ? cut : cut.replace(/\s+\S*$/, '')
  return `${words.trimEnd().toWellFormed()}…`
}

/** The id of a new session: with the client's name for the conversation, if it has one. */
export const newId = ({ client }: ParsedRequest): string => {
  const name = client?.replaceAll(/[^\w.:-]/g, '-').slice(0, 100)
  return name === undefined || name === '' ? `recorded-${randomHex()}` : `${name}-${randomHex()}`
}

/** The id of a fork: that of its original, with another end if the original is a fork. */
export const forkId = (original: string): string => `${original.replace(/\.fork-[0-9a-f]+$/, '')}.fork-${randomHex()}`

declare const crypto: { readonly randomUUID: () => string }

const randomHex = (): string => crypto.randomUUID().slice(0, 8)
