/**
 * Messages made from others with Immer: a new value shares with the given one everything that it leaves as it is. It is
 * frozen here and not by Immer, which would freeze what it shares as well: of a conversation that was never recorded,
 * that is its owner's.
 */
import { Immer, type Draft } from 'immer'
import { arrayOf, freeze } from '../json/index.ts'
import type { Message, Part, ToolCallPart, ToolResultPart } from './message.ts'

/** The call under another id: itself, if it has that id. */
export const renamedCall = (part: ToolCallPart, id: string): ToolCallPart =>
  id === part.id ? part : edited(part, (draft) => void (draft.id = id))

/** The result for the call with another id: itself, if it is for that call. */
export const renamedResult = (part: ToolResultPart, id: string): ToolResultPart =>
  id === part.callId ? part : edited(part, (draft) => void (draft.callId = id))

/** The message with other parts: itself, if they are its own. `content` becomes the message's, frozen. */
export const withContent = (message: Message, content: Part[]): Message => {
  const parts = arrayOf(content)
  return same(parts, message.content)
    ? message
    : edited(message, (draft) => void (draft.content = parts as Draft<Message>['content']))
}

const edited = <T extends object>(value: T, recipe: (draft: Draft<T>) => void): T =>
  freeze(immer.produce(value, recipe))

const immer = /* @__PURE__ */ new Immer({ autoFreeze: false })

const same = (left: readonly Part[], right: readonly Part[]): boolean => {
  if (left.length !== right.length) return false
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false
  return true
}
