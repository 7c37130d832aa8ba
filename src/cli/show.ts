/** `indelible show FILE`: read a recorded conversation into a history and print its timeline. */
import { isPageKind, pageKinds, type PageKind } from '../pages/index.ts'
import { Misuse, wholeNumber, type Command } from './command.ts'
import { oneFile, readConversation } from './input.ts'
import { timeline, timelineJson } from './timeline.ts'

export const show: Command = {
  name: 'show',
  synopsis: 'show FILE',
  purpose: 'print a recorded conversation as a timeline',
  help: `Usage: indelible show [options] FILE

Reads a conversation into an append-only history and prints it: position, role,
page kind, estimated tokens and a line of content for every message, tool calls
with the position of their result, then totals and the calls nobody answered.
FILE is found out by its content; - reads standard input.

Formats: messages of OpenAI (chat and Responses), Anthropic and the AI SDK, as
an array or in the body of a request or answer; tau-bench files; SWE-agent
trajectories; session files of pi, Claude Code and Codex; exports of Indelible.

Options:
  --pick N       the conversation to show, in a file of several (default 0)
  --kind KINDS   only these page kinds, separated by commas: bootstrap,
                 constraint, plan, preference, evidence, conversation
  --from N       only from position N on; a negative N counts from the end
  --to N         only up to, not including, position N
  --json         one JSON object a line, for programs
  -h, --help     print this help

Example:
  indelible show session.jsonl --kind evidence --from -20
`,
  options: {
    pick: { type: 'string' },
    kind: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    json: { type: 'boolean' },
  },
  run: async ({ values, positionals, terminal }) => {
    const path = oneFile('show', positionals)
    const kinds = pageKindsOf(values['kind'])
    const from = wholeNumber('--from', values['from'], 0)
    const to = wholeNumber('--to', values['to'], undefined)

    const { view, title } = await readConversation(path, values, terminal)
    const options = { kinds, from, to: to ?? view.length, columns: terminal.columns, colour: terminal.colour }

    if (values['json'] === true) return terminal.print(timelineJson(view, options))
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
