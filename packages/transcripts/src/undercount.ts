/** Token counts that can't be true: Claude Code writes some answers with the count from the start of their stream. */
import type { Message } from 'indelible/message'

/** The characters of a token, at most: about 4 are usual. */
const mostCharacters = 8

/** Whether an answer plainly holds more tokens than were counted. */
export const isUndercounted = (answer: readonly Message[], output: number): boolean => {
  let characters = 0
  for (const { content } of answer)
    for (const part of content)
      characters += part.type === 'text' ? part.text.length : part.type === 'tool_call' ? part.arguments.length : 0
  return characters > output * mostCharacters
}
