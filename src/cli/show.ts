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

Prints a line for every message: position, role, page kind, estimated tokens
and the start of the content. Tool calls have the position of their result.
Totals and the calls without a result follow. The format of FILE is detected
from its content; - reads standard input. An argument that neither is a file nor
looks like a file name is the id of a session; with --store it always is. For a
session, notes may have changed the page kinds. Retracted messages are left out;
positions are those of the record. The time (UTC) is that of the append, or what
the file says that a message was imported from.

Formats: messages of OpenAI (chat and Responses), Anthropic and the AI SDK, as
an array, in the body of a request or answer, or one a line; bodies one a line,
as for fine-tuning; tau-bench files; SWE-agent trajectories; session files of
pi, Claude Code, Codex, Gemini CLI, opencode and Cursor; exports of Indelible.

Options:
  --pick N       which conversation, if the file has several (default 0)
  --kind KINDS   only these page kinds, separated by commas: bootstrap,
                 constraint, plan, preference, evidence, conversation
  --from N       start at position N; a negative N counts from the end
  --to N         stop before position N
  --all          the whole record, with retracted messages
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

    const { view, title, timeOf } = await namedConversation(path, call)
    const options = {
      kinds,
      from,
      to: to ?? Infinity,
      columns: terminal.columns,
      paint: terminal.paint,
      ...(timeOf && { timeOf }),
    }

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
