/** `indelible show`: a recorded conversation, in a file or in a store, as a timeline. */
import { existsSync } from 'node:fs'
import { isPageKind, pageKinds, type PageKind } from '../pages/index.ts'
import { readSession } from '../session/index.ts'
import { createHistory } from '../history/index.ts'
import type { Message } from '../message/index.ts'
import { Misuse, wholeNumber, type Call, type Command } from './command.ts'
import { oneFile, pickOf, readConversation, type Conversation } from './input.ts'
import { answer, storeHelp, storeOption, withStore } from './place.ts'
import { counted } from './screen.ts'
import { defaultStorePath } from './store.ts'
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

    const { view, title } = isFile(path, values) ? await readConversation(path, values, terminal) : await storedConversation(path, call)
    const options = { kinds, from, to: to ?? view.length, columns: terminal.columns, colour: terminal.colour }

    if (values['json'] === true) return terminal.print(timelineJson(view, options))
    await terminal.print([title, ''])
    return terminal.print(timeline(view, options))
  },
}

/** Whether a file is meant: it is there, it is called like one, or there is no store yet that could have it as a session. */
const isFile = (path: string, values: Call['values']): boolean =>
  values['store'] === undefined && (path === '-' || existsSync(path) || /[/\\]|\.\w+$/.test(path) || !existsSync(defaultStorePath()))

/** A session as a view whose pages are what the notes have made of them. */
const storedConversation = (id: string, call: Call): Promise<Conversation> =>
  withStore(call, {}, async (store) => {
    const session = await answer(readSession(store, id))
    const pages = session.pages()
    const history = createHistory<Message>()
    for (const message of session.view()) history.append(message, pages[history.len])
    const notes = session.notes().length
    return { view: history.view(), title: `${id}: ${session.state === 'sealed' ? 'sealed session' : 'session'}, ${counted(session.len, 'message')}${notes === 0 ? '' : `, ${counted(notes, 'note')}`}` }
  })

const pageKindsOf = (given: unknown): readonly PageKind[] => {
  if (typeof given !== 'string') return []
  return given.split(',').map((kind) => {
    if (!isPageKind(kind)) throw new Misuse(`--kind: "${kind}" is not a page kind; expected ${pageKinds.join(', ')}`)
    return kind
  })
}
