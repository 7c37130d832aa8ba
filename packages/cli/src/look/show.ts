/** `indelible show`: a recorded conversation, in a file or in a store, as a timeline. */
import { present } from 'indelible/internal/json'
import { isPageKind, pageKinds, type PageKind } from 'indelible/pages'
import { pairCalls } from 'indelible/message'
import { withPlace } from '../sources/advice.ts'
import { append } from '../change/append.ts'
import { Misuse, wholeNumber, type Call, type Command } from '../terminal/command.ts'
import { readableConversation } from '../sources/conversation.ts'
import { conversationOfCall, pickOf } from '../sources/input.ts'
import { messagePage } from './message-page.ts'
import { showCall, showCalls } from './show-call.ts'
import { positionIn, storeOption } from '../sources/place.ts'
import { stateLines } from './run-state.ts'
import { timeline, timelineJson } from '../terminal/timeline.ts'

export const show: Command = {
  name: 'show',
  synopsis: 'show FILE|SESSION',
  purpose: 'print a recorded conversation as a timeline',
  usage: [
    'show [options] [FILE | SESSION]',
    'show [options] FILE|SESSION N|N-M',
    'show [SESSION] --calls',
    'show [SESSION] --call N [--sent]',
    'show [SESSION] --follow [--from N] [--json]',
    'show FILE --check [--json]',
  ],
  about: `Prints a line for every message: position, role, page kind, estimated
tokens and the start of the content. Tool calls have the position of their
result. Totals and the calls without a result follow. The format of FILE is
detected from its content; - reads standard input. With --store the argument is
a session id. Without it, it is one if it is neither a file nor looks like a
file name. Without an argument it is the latest session. For a session, notes may have changed the page kinds. Retracted messages are
not printed; positions are those of the record. The time (UTC) is that of the
append, or, for an imported message, the time in its file. Of a damaged
message only the reason is printed, and the exit code is 1. If the shared
messages of an encrypted fork can't be read any more, only its own messages are
printed.

With N the message at that position is printed whole, with the notes on it; N-M are several, and N- is all from N on. On a
terminal they go through a pager (PAGER, else less) if they are longer than the screen. A negative N counts from the end.

With --calls each model call of a session is a line: the message that answered it (- for none), the tokens, the cost at list
prices, and why the provider's cache broke. "?" is a number that was not reported, or a cost whose price is unknown; "+ ?" means at
least; * marks the dearest. With --call the N-th model call of a session, or the dearest, is printed: what it cost, how much of
its input was cached, whether the provider's cache broke and why, and how its request differs from that of the call before.
With --sent its messages are printed in the form of the record, without cache marks, its tools and system text as they were sent.
Of a run of this library the messages are derived again. Both are printed only if the receipt's digest proves them.

With --follow it prints the last rows of a session, then each new row as soon as a process of this machine stores it (with
PostgreSQL: a process of any machine). A row is a message or a note, and its position counts both; times are in UTC. The
text of a damaged row is not shown, and makes the exit code 1. The command ends when the session is sealed, or with Ctrl-C.

With --check it reports the format and the origin of FILE, its damaged lines, the values that were changed while reading,
and unpaired tool calls and results, which a provider would refuse. Of an export of Indelible it also computes the Merkle
root of the rows, and compares it with the root that the export ends with. The exit code is 1 if a line is damaged, if the
rows of an export have another root, or if FILE can't be read. "indelible verify" checks a session.

Formats: messages of OpenAI (chat and Responses), Anthropic and the AI SDK, as
an array, in the body of a request or answer, or one per line; bodies one per line,
as for fine-tuning; tau-bench files; SWE-agent trajectories; session files of
pi, Claude Code, Codex, Gemini CLI, opencode and Cursor; exports of Indelible.`,
  options: {
    pick: { value: 'N', help: 'which conversation, if the file has several (default 0)' },
    kind: {
      value: 'KINDS',
      help: 'only these page kinds, separated by commas: bootstrap, constraint, plan, preference, evidence, conversation',
    },
    from: {
      value: 'N',
      help: 'start at position N, or with --follow at row N (default -10); a negative N counts from the end',
    },
    to: { value: 'N', help: 'stop before position N' },
    calls: { help: 'a line for each model call of a session: tokens, cost, and why the cache broke' },
    call: {
      value: 'N',
      help: 'the N-th model call of a session, from 1; a negative N counts from the end; "dearest" is the one that cost most',
    },
    sent: { help: 'with --call: only its request, as one JSON object; exit code 1 if it is not known exactly' },
    follow: { help: 'the last rows of a session, and each new one as it is stored' },
    check: { help: 'what is wrong with a file' },
    all: { help: 'the whole record, with retracted messages' },
    full: {
      help: 'with N: also print data for programs: meta, raw parts, base64; with --call: all of a long difference, and long lines whole',
    },
    json: {
      help: 'one JSON object per line, for programs; of a damaged message: { position, at, damaged }; with --follow: { position, kind, index, at, message }, or note or damaged instead of message',
    },
    ...storeOption,
  },
  forms: {
    '': ['pick', 'kind', 'from', 'to', 'all', 'full', 'json', ...Object.keys(storeOption)],
    calls: ['json', ...Object.keys(storeOption)],
    call: ['sent', 'full', 'json', ...Object.keys(storeOption)],
    follow: ['from', 'json', ...Object.keys(storeOption)],
    check: ['pick', 'json'],
  },
  examples: [
    'indelible show session.jsonl --kind evidence --from -20',
    'indelible show 0f3c8a1d --call 3',
    'indelible show notes --follow --from 0 --json',
    'indelible show session.jsonl --check',
  ],
  run: async (call) => {
    const { values, positionals, terminal } = call
    if (values['follow'] === true) return (await import('./follow.ts')).followSession(call)
    if (values['check'] === true) return (await import('./check-file.ts')).checkFile(call)
    const name = conversationOfCall('show', positionals.slice(0, 1))
    const at = positionals[1] === undefined ? undefined : rangeOf(positionals[1])
    if (positionals.length > 2)
      throw new Misuse(`show takes one FILE or SESSION and one N or N-M, but got: ${positionals.join(', ')}`)
    const number =
      values['call'] === 'dearest'
        ? 'dearest'
        : wholeNumber('--call', values['call'], undefined, undefined, ' or "dearest"')
    if (number === 0) throw new Misuse('show --call counts calls from 1')
    if ([number, at, values['calls']].filter((value) => value !== undefined).length > 1)
      throw new Misuse('show takes only one of N, --call N and --calls')
    if (at === undefined && number === undefined && values['full'] === true)
      throw new Misuse('show --full takes N or N-M: the positions of messages')
    const kinds = pageKindsOf(values['kind'])
    const from = wholeNumber('--from', values['from'], 0)
    const to = wholeNumber('--to', values['to'], undefined)
    pickOf(values)

    if (values['calls'] === true) return showCalls(name, call)
    if (number !== undefined) return showCall(name, number, call)
    if (at !== undefined) return showMessage(name, at, call)
    const { view, title, timeOf, session, lease, damaged } = await readableConversation(name, call)
    const options = {
      kinds,
      from,
      to: to ?? Infinity,
      columns: terminal.columns,
      paint: terminal.paint,
      ...present({ timeOf, damaged }),
    }

    if (values['json'] === true) return terminal.printJsonLines(timelineJson(view, options))
    await terminal.print([title, ''])
    await terminal.print(timeline(view, options))
    if (session === undefined) return
    const state = stateLines(session, lease, terminal.columns, terminal.paint)
    await terminal.print(Array.from(state, (line) => withPlace(line, values, [append, show])))
  },
}

/** Given positions; a negative first one counts from the end. */
interface GivenRange {
  readonly first: number
  /** Undefined: to the end. */
  readonly last: number | undefined
}

/** `3`, `3-5`, `3-`, `-2` or `-2-`. Throws Misuse. */
const rangeOf = (text: string): GivenRange => {
  const [, from, dash, to] = /^(-?\d{1,15})(?:(-)(\d{1,15})?)?$/.exec(text) ?? []
  if (from === undefined) throw new Misuse(`show: N takes a position such as 3, 3-5, 3- or -1, not "${text}"`)
  const [first, last] = [Number(from), dash === undefined ? Number(from) : to === undefined ? undefined : Number(to)]
  if (to !== undefined && (first < 0 || Number(to) < first))
    throw new Misuse(`show: N-M takes the first and the last position, counted from 0, not "${text}"`)
  return { first, last }
}

/** Whole messages; on a terminal through a pager if they are longer than the screen. */
const showMessage = async (name: string | undefined, range: GivenRange, call: Call): Promise<void> => {
  const { values, terminal } = call
  const found = await readableConversation(name, { ...call, values: { ...values, all: true } }, range.first)
  const { view, timeOf, left, damaged, notes = [] } = found
  const { length } = view
  const position = positionIn(name ?? 'the latest session', length, range.first)
  const { paint, columns } = terminal
  const end = range.last === range.first ? position + 1 : Math.min(length, (range.last ?? length) + 1)
  if (values['json'] === true)
    return terminal.printJsonLines(
      timelineJson(view, { kinds: [], from: position, to: end, columns, paint, ...present({ timeOf, damaged }) }),
    )
  const page = {
    view,
    calls: pairCalls(view),
    left,
    notes,
    full: values['full'] === true,
    columns: terminal.shows ? columns : Infinity,
    paint,
    ...present({ timeOf, damaged }),
  }
  function* pages(): Generator<string> {
    for (let at = position; at < end; at++) {
      if (at > position) yield ''
      yield* messagePage({ ...page, position: at })
    }
  }
  return terminal.page(pages())
}

const pageKindsOf = (values: unknown): readonly PageKind[] => {
  if (typeof values !== 'string') return []
  return values.split(',').map((kind) => {
    if (!isPageKind(kind)) throw new Misuse(`--kind: "${kind}" is not a page kind; expected ${pageKinds.join(', ')}`)
    return kind
  })
}
