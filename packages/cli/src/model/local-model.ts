/**
 * The model of `indelible chat` if none is configured: a few fixed rules, labeled as such. It lets
 * people try the command on any machine.
 */
import { assistant, textOf, toolCall, toolResultsOf, type Message } from 'indelible/message'
import { scriptedModel, type Model, type ModelRequest } from 'indelible/run'
import type { Line } from 'indelible/internal/run'

const localName = 'scripted (no model, a few fixed rules)'

export const localModel = (pause: number): Model => scriptedModel(rules(), { name: localName, pause })

const answer = ({ messages }: ModelRequest): Message => {
  const said = [...messages]
  const last = said.at(-1)
  if (last?.role === 'tool') {
    const found = toolResultsOf(last)
      .map(({ content }) => content.map((part) => (part.type === 'text' ? part.text : '')).join(''))
      .join('\n')
    const lines = found.split('\n')
    return assistant(
      `I see ${lines.length} ${lines.length === 1 ? 'line' : 'lines'}. ${lines.length > 3 ? 'The first: ' : ''}${lines[0]?.slice(0, 120) ?? ''}`,
    )
  }
  const asked = last === undefined ? '' : textOf(last)
  const id = `call_${said.length}`
  const read = /\bread\s+(\S+)/i.exec(asked)?.[1]
  const searched = /\b(?:search|find)\s+(?:for\s+)?(\S+)/i.exec(asked)?.[1]
  if (read !== undefined) return assistant('I read it.', toolCall(id, 'read', { path: read }))
  if (searched !== undefined) return assistant('I look for it.', toolCall(id, 'search', { text: searched }))
  if (/\b(?:list|files|folder)\b/i.test(asked))
    return assistant('I list the folder.', toolCall(id, 'list', { path: '.' }))
  return assistant(
    `You said: ${asked.slice(0, 200)}. I am not a language model: I only know "list", "read PATH" and "search TEXT".`,
  )
}

/** The same rule for every line. */
function* rules(): Generator<Line> {
  for (;;) yield answer
}
