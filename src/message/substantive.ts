/** Decides which user messages start a turn: not those that only ask to continue. */
import { ownField } from '../json/index.ts'
import { indelibleMetaOf } from './answer.ts'
import { isText } from './guards.ts'
import type { Message } from './message.ts'

/**
 * Whether a user message asks for something new. A message that only says to continue ("continue",
 * "ok, go ahead", "yes please") does not. Neither does the note of an interrupted run
 * (`pending(session).messages`): the earlier question still applies. Images and files always count.
 */
export const isSubstantive = (message: Message): boolean => {
  if (message.role !== 'user' || saysInterrupted(message)) return false
  let text = ''
  for (const part of message.content) {
    if (isText(part)) text += ` ${part.text.trim().replaceAll(/\s+/g, ' ')}`
    else if (part.type !== 'tool_result') return true
    if (text.length > longestGoAhead) return true
  }
  const words = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}' ]+/gu, ' ')
    .trim()
  return words !== '' && !goAheadPhrase.test(words.replace(/ +/g, ' '))
}

/** Whether a message contains the user's own words: not only tool results or the note of an interrupted run. */
export const isSpoken = (message: Message): boolean => {
  if (message.role !== 'user' || saysInterrupted(message)) return false
  for (const part of message.content)
    if (part.type !== 'tool_result' && !(isText(part) && part.text.trim() === '')) return true
  return false
}

const saysInterrupted = (message: Message): boolean => ownField(indelibleMetaOf(message), 'interrupted') === true

/** A longer text is more than a request to continue. */
const longestGoAhead = 80

const goAheadPhrase =
  /^(?:(?:ok(?:ay)?|k|y|ye[ps]|yeah|sure|alright|right|good|great|nice|perfect|fine|cool|thanks?|thank you|please|now|then|and|so|continue|resume|proceed|next|more|go|go on|go ahead|go for it|keep going|carry on|do it|do that|do so|try again|again|hey|hi|hello|status|weiter|ja|continua|continuez|oui|sí|si|sigue|继续|好的?|続けて|はい)(?: |$))+$/u
