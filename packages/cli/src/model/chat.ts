/** `indelible chat`: a small agent in a terminal, on a durable session. */
import { randomUUID } from 'node:crypto'
import { isLeft } from 'indelible/internal/json'
import { faultMessage } from 'indelible'
import { assistant, system, textOf, toolCall, type Message } from 'indelible/message'
import { scriptedModel, turn as takeTurn, type Model, type RunStream, type Tool, type TurnFault } from 'indelible/run'
import { openOrCreateSession, openSession, pending, type Session } from 'indelible/session'
import type { Store } from 'indelible/store'
import { modelFromOptions } from './chat-model.ts'
import { withPlace } from '../sources/advice.ts'
import { Misuse, Unreadable, type Command, type Terminal } from '../terminal/command.ts'
import { folderTools } from './folder-tools.ts'
import { onTerminate } from '../terminal/program.ts'
import { countText, oneLine, shellWord } from '../terminal/screen.ts'
import { scopeOf, storeOption, withKeysOf, withOpened } from '../sources/place.ts'
import { idsFrom, ambiguousText } from '../sources/sessions.ts'
import { storeOptionOf, openStore } from '../sources/store.ts'

export const chat: Command = {
  name: 'chat',
  synopsis: 'chat',
  purpose: 'chat with a small agent, recorded step by step',
  usage: ['chat [options]'],
  about: `Starts a small agent in the terminal. It can list, read and search one
folder, and it changes nothing. It keeps the conversation in a durable session:
each step is on disk before the next one starts. Ctrl-C interrupts an answer and
keeps the part that has arrived, marked as interrupted; Ctrl-C again quits. A SIGTERM does both. With
--session the chat continues where it ended. Your first message creates the
session. In a terminal, ID may be the beginning of an id, as for other commands;
elsewhere it must be complete, so that a script never writes into the wrong
session.

Without an API key, a few fixed rules answer, and say that they are not a model.`,
  options: {
    model: {
      value: 'NAME',
      help: 'a model of Anthropic or OpenAI (ANTHROPIC_API_KEY or OPENAI_API_KEY must be set), or of a server (--base-url)',
    },
    type: {
      value: 'TYPE',
      help: 'openai, openai_compatible, openai_responses_compatible, anthropic or anthropic_compatible (default: by the name)',
    },
    'base-url': { value: 'URL', help: 'the address of a compatible server' },
    session: { value: 'ID', help: 'continue this session, or start one with this id if there is none' },
    ...storeOption,
    folder: { value: 'DIR', help: 'the folder that the tools see (default: the current one)' },
    budget: { value: 'N', help: 'the maximum tokens of a request (default 100000)' },
    demo: { help: 'play an example conversation' },
  },
  examples: ['indelible chat --model claude-opus-5 --session notes'],
  run: async ({ values, terminal }) => {
    const demo = values['demo'] === true
    const budget = Number(values['budget'] ?? 100_000)
    if (!Number.isInteger(budget) || budget <= 0)
      throw new Misuse(`--budget takes a whole number of tokens, not "${String(values['budget'])}"`)
    const model = demo
      ? scriptedModel(demoLines, { name: 'scripted (a demonstration, no model)', pause: 25 })
      : await modelFromOptions({ values, terminal })
    const tools = await toolsOf(values['folder'], terminal)
    await withOpened(await openStore(storeOptionOf(values, terminal), true, terminal), (whole, name) =>
      withKeysOf({ values, terminal }, whole, async (keyed) => {
        const store = scopeOf(keyed, values['scope'])
        const given = values['session']
        const id = typeof given === 'string' ? await resolveSessionId(store, given, terminal) : randomUUID()
        let session = await openIfPresent(store, id)
        const state = session === undefined ? 'new session' : 'session'
        await terminal.print([
          `${state} ${id} in ${name}${session === undefined ? '' : `, after ${countText(session.len, 'message')}`}`,
          `model ${model.name}; tools: list, read, search`,
        ])
        if (session !== undefined) await printOpenCalls(session, terminal)
        const begin = async (): Promise<Session> => (session ??= await newSession(store, id))
        const talk: Talk = { begin, model, tools, budget, terminal }
        await (demo ? play(talk) : converse(talk))
        if (session === undefined) return terminal.say('\nyou said nothing, so no session was created\n')
        await terminal.print(['', `${countText(session.len, 'message')} in session ${id}; continue with:`])
        await terminal.printWhole([`  ${withPlace(`indelible chat --session ${shellWord(id)}`, values, [chat])}`])
      }),
    )
  },
}

interface Talk {
  /** Returns the session. A new one is created on the user's first message. */
  readonly begin: () => Promise<Session>
  readonly model: Model
  readonly tools: readonly Tool[]
  readonly budget: number
  readonly terminal: Terminal
}

const instructions =
  'You are a helpful agent in a terminal. You can look into one folder with the tools list, read and search. Answer briefly.'

const toolsOf = async (folder: unknown, terminal: Terminal): Promise<readonly Tool[]> => {
  const path = typeof folder === 'string' ? folder : '.'
  try {
    return await folderTools(terminal.path(path))
  } catch {
    throw new Unreadable(`${path}: there is no such folder`)
  }
}

/**
 * The id of the session to continue, or of a new one. At a terminal the beginning of an id is
 * enough, as in other commands, because the user sees the whole id.
 */
const resolveSessionId = async (store: Store, given: string, { asks }: Terminal): Promise<string> => {
  if (given === '') throw new Misuse('--session takes an ID')
  const ids = asks ? await idsFrom(store, given) : []
  if (ids.length > 1 && !ids.includes(given)) throw new Unreadable(ambiguousText(ids, given))
  return ids.length === 1 ? (ids[0] as string) : given
}

const openIfPresent = async (store: Store, id: string): Promise<Session | undefined> => {
  const opened = await openSession(store, id)()
  if (!isLeft(opened)) return opened.right
  if (opened.left._tag === 'NoSuchLog') return undefined
  throw new Unreadable(faultMessage(opened.left))
}

const newSession = async (store: Store, id: string): Promise<Session> => {
  const begun = { metadata: { title: 'chat' }, messages: [system(instructions)] }
  const made = await openOrCreateSession(store, id, begun)()
  if (isLeft(made)) throw new Unreadable(faultMessage(made.left))
  return made.right
}

/** Report an interrupted session. The next turn settles the calls that a crash left open. */
const printOpenCalls = async (session: Session, terminal: Terminal): Promise<void> => {
  const { steps, calls } = pending(session)
  if (steps.length > 0 || calls.length > 0)
    await terminal.print(['this session was interrupted; its finished parts are kept'])
}

/** One turn: the user's message, and everything until the model has answered. */
const turn = async (talk: Talk, input: string, going: (stream: RunStream<TurnFault>) => void): Promise<void> => {
  const { model, tools, budget, terminal } = talk
  const dim = (text: string): string => terminal.paint('dim', text)
  const session = await talk.begin()
  const stream = takeTurn(session, input, { model, tools, budget, holder: 'indelible chat', whenBusy: 'wait' })
  going(stream)
  for await (const event of stream) {
    if (event.type === 'model_event' && event.event.type === 'text_delta') terminal.say(event.event.text)
    else if (event.type === 'tool_call_start')
      terminal.say(dim(`\n▸ ${oneLine(`${event.call.name} ${event.call.arguments}`).slice(0, 120)}`))
    else if (event.type === 'tool_result')
      terminal.say(dim(`\n◂ ${summaryOf(textOf({ role: 'tool', content: event.result.content }))}\n`))
    else if (event.type === 'interrupted')
      terminal.say(
        dim(`\n[interrupted; ${event.partialText === '' ? 'no text had arrived' : 'the text so far is kept'}]\n`),
      )
  }
  const ended = await stream.result()()
  await terminal.print(['', ...(isLeft(ended) ? [faultMessage(ended.left)] : [])])
}

const summaryOf = (text: string): string => {
  const lines = text.split('\n').length
  return `${oneLine(text).slice(0, 80)}${lines > 1 ? ` (${lines} lines)` : ''}`
}

/** Read lines from the terminal until it ends. Ctrl-C interrupts the current work, or quits if there is none. */
const converse = async (talk: Talk): Promise<void> => {
  const { terminal } = talk
  const lines = terminal.lines(`${terminal.paint('bold', 'you>')} `)
  /** The latest turn. One that has ended accepts no interrupt. */
  let stream: RunStream<TurnFault> | undefined
  let quitting = false
  /** The answer that Ctrl-C interrupted: it may not be stored yet at the next Ctrl-C. */
  let cut: RunStream<TurnFault> | undefined
  const interrupt = (): void => {
    if (stream !== cut && stream?.interrupt({ behavior: 'saveMarked' }) === true) return void (cut = stream)
    quitting = true
    if (stream !== cut) stream?.cancel()
    lines.close()
  }
  let open = true
  lines.on('close', () => void (open = false)) // the input may end while an answer streams
  lines.on('SIGINT', interrupt)
  const ignore = terminal.onInterrupt(interrupt)
  const ignoreTermination = onTerminate(() => {
    quitting = true
    stream?.interrupt({ behavior: 'saveMarked' })
    lines.close()
  })
  try {
    if (terminal.asks) lines.prompt()
    for await (const line of lines) {
      if (line.trim() !== '') await turn(talk, line, (going) => void (stream = going))
      if (quitting) break
      if (terminal.asks && open) lines.prompt()
    }
  } finally {
    ignore()
    ignoreTermination()
    lines.close()
  }
}

const demoLines: readonly Message[] = [
  assistant('I look around first.', toolCall('demo_1', 'list', { path: '.' })),
  assistant(
    'There it is. I read it, and something that is not there.',
    toolCall('demo_2', 'read', { path: 'package.json' }),
    toolCall('demo_3', 'read', { path: '../secrets' }),
  ),
  assistant('It is a package; the other path leads out of the folder, so I was not let there.'),
  assistant(
    'Well, it is a long story, and I am going to tell all of it, from the very beginning, when the first version was',
  ),
  assistant('As you like. In short: a record that nothing can rewrite.'),
]

/** The demo: two questions; the user's next message interrupts the second answer. */
const play = async (talk: Talk): Promise<void> => {
  talk.terminal.say('\nyou> What is in this folder?\n')
  await turn(talk, 'What is in this folder?', () => {})
  talk.terminal.say('\nyou> Tell me its story.\n')
  await turn(talk, 'Tell me its story.', (stream) => {
    setTimeout(() => {
      talk.terminal.say('\n\nyou (interrupting)> In one sentence, please.\n')
      stream.interrupt({ behavior: 'saveMarked', message: 'In one sentence, please.' })
    }, 300)
  })
}
