/**
 * Decides whether two messages are the same, using a digest of their content, not of their spelling. Clients
 * reorder keys, drop empty fields, turn a text into a list of parts, move cache marks, and omit reasoning.
 */
import { isMadeId } from 'indelible/internal/codecs'
import { ownField, isLeft, isTooDeep, isObject, parseJson } from 'indelible/internal/json'
import type { Message, Part, ResultPart } from 'indelible/message'
import { digestOf } from 'indelible/internal/proof'
import { partialJson } from './partial-json.ts'

const identities = new WeakMap<Message, string>()

/** The digest of a message's content. Cost: O(message), once for each object. */
export const identityOf = (message: Message): string => {
  const known = identities.get(message)
  if (known !== undefined) return known
  const identity = digestedIdentity(message)
  identities.set(message, identity)
  return identity
}

const digestedIdentity = (message: Message): string => {
  const meta = ownField(message, 'meta')
  const kept = meta && ownField(meta, 'indelible')
  const original = isObject(kept) ? kept['digest'] : undefined // set if the message was recorded in a reduced form
  return typeof original === 'string'
    ? original
    : digestOf(JSON.stringify([message.role === 'developer' ? 'system' : message.role, contentOf(message.content)]))
}

/** The digests of all prefixes of a conversation, from the empty one on, used for look-ups. */
export const chainOf = (messages: Iterable<Message>, start: string = emptyChain): readonly string[] => {
  const chain = [start]
  for (const message of messages) chain.push(extendChain(chain.at(-1) as string, message))
  return chain
}

export const emptyChain: string = digestOf('indelible.recorder 1')

const links = new WeakMap<Message, { readonly chain: string; readonly link: string }>()

/** The chain after one more message. Cost: nothing if that message continued the same chain before. */
export const extendChain = (chain: string, message: Message): string => {
  const known = links.get(message)
  if (known?.chain === chain) return known.link
  const link = linkDigest(chain, identityOf(message))
  links.set(message, { chain, link })
  return link
}

/** The same, given the message's identity. */
export const linkDigest = (chain: string, identity: string): string => digestOf(chain + identity)

type MessageContent = readonly unknown[]

const contentOf = (parts: readonly (Part | ResultPart)[]): MessageContent => {
  const all: unknown[] = []
  const results = new Set<string>()
  let text = ''
  const flush = (): void => {
    if (text !== '') all.push(text)
    text = ''
  }
  for (const part of parts) {
    if (part.type === 'reasoning') continue
    if (part.type === 'text') {
      text += part.text
      continue
    }
    const content = identityContentOf(part)
    flush()
    // Gemini CLI sends a result twice after a resume.
    if (part.type === 'tool_result') {
      const text = JSON.stringify(content)
      if (results.has(text)) continue
      results.add(text)
    }
    all.push(content)
  }
  flush()
  return all
}

const identityContentOf = (part: Exclude<Part, { readonly type: 'reasoning' | 'text' }>): unknown => {
  switch (part.type) {
    case 'tool_call':
      return ['call', idOf(part.id), part.name, sameJson(part.arguments)]
    case 'tool_result':
      return ['result', idOf(part.callId), contentOf(part.content)]
    case 'refusal':
      return ['refusal', part.text]
    case 'image':
    case 'file':
      return [part.type, 'data' in part.source ? part.source.data : sortKeys(part.source)]
    default:
      return sortKeys(part)
  }
}

/** Generated ids count the preceding calls, so they change when calls are left out; they are ignored. */
const idOf = (id: string): string => (isMadeId(id) ? '' : id)

/** JSON with sorted keys, because some clients rewrite the arguments of a call, and complete those that broke off. */
const sameJson = (text: string): unknown => {
  const parsed = parseJson(text === '' ? '{}' : text)
  const value = isLeft(parsed) ? (partialJson(text) ?? text) : parsed.right
  return isTooDeep(value) ? text : sortKeys(value)
}

const sortKeys = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sortKeys)
    : isObject(value)
      ? Object.fromEntries(
          Object.keys(value)
            .toSorted()
            .filter((key) => key !== 'meta' && value[key] !== null)
            .map((key) => [key, sortKeys(value[key])]),
        )
      : value
