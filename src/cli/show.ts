/** `indelible show`: a recorded conversation, in a file or in a store, as a timeline. */
import { isPageKind, pageKinds, type PageKind } from '../pages/index.ts'
import { Misuse, wholeNumber, type Command } from './command.ts'
import { namedConversation } from './conversation.ts'
import { oneFile, pickOf } from './input.ts'
import { storeHelp, storeOption } from './place.ts'
import { timeline, timelineJson } from './timeline.ts'

export const show: Command = {
  name: 'show',
  synopsis: 'show FILE|SESSION',
  purpose: 'print a recorded conversation as a timeline',
  help: `Usage: indelible show [options] FILE
       indelible show [options] SESSION

Reads a conversation into an append-only history and prints it: position, role,
page kind, estimated tokens and a line of content for every message, tool calls
with the position of their result, then totals and the calls nobody answered.
The format of FILE is found out by its content; - reads standard input. What is
not the path of a file, nor called like one, is the id of a session; with
--store it always is. Its page kinds are shown as its notes have made them.
What was retracted is left out; positions are those of the record.

Formats: messages of OpenAI (chat and Responses), Anthropic and the AI SDK, as
an array, in the body of a request or answer, or one a line; bodies one a line,
as for fine-tuning; tau-bench files; SWE-agent trajectories; session files of
pi, Claude Code, Codex, Gemini CLI, opencode and Cursor; exports of Indelible.

Options:
  --pick N       the conversation to show, in a file of several (default 0)
  --kind KINDS   only these page kinds, separated by commas: bootstrap,
                 constraint, plan, preference, evidence, conversation
  --from N       only from position N on; a negative N counts from the end
  --to N         only up to, not including, position N
  --all          retracted messages, too: the whole record
  --json         one JSON object a line, for programs
${storeHelp}
  -h, --help     print this help

Example:
  indelible show session.jsonl --kind evidence --from -20
`,
  options: {
    pick: { type: 'string' },
    kind: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    all: { type: 'boolean' },
    json: { type: 'boolean' },
    ...storeOption,
  },
  run: async (call) => {
    const { values, positionals, terminal } = call
    const path = oneFile('show', positionals)
    const kinds = pageKindsOf(values['kind'])
    const from = wholeNumber('--from', values['from'], 0)
    const to = wholeNumber('--to', values['to'], undefined)
    pickOf(values)

    const { view, title } = await namedConversation(path, call)
    const options = { kinds, from, to: to ?? Infinity, columns: terminal.columns, paint: terminal.paint }

    if (values['json'] === true) return terminal.printJson(timelineJson(view, options))
    await terminal.print([title, ''])
    return terminal.print(timeline(view, options))
  },
}

const pageKindsOf = (given: unknown): readonly PageKind[] => {
  if (typeof given !== 'string') return []
  return given.split(',').map((kind) => {
    if (!isPageKind(kind)) throw new Misuse(`--kind: "${kind}" is not a page kind; expected ${pageKinds.join(', ')}`)
    return kind
  })
}
