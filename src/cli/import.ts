/** `indelible import FILE…` and `--from PROGRAM`: recorded conversations become sessions. */
import { basename } from 'node:path'
import { isLeft } from '../json/index.ts'
import { importTranscript, type SessionInfo } from '../session/index.ts'
import type { Store } from '../store/index.ts'
import type { Transcript } from '../transcript/index.ts'
import { programs } from './agent-sessions.ts'
import { Misuse, type Call, type Command } from './command.ts'
import { importFrom } from './import-from.ts'
import { nameOf, pickOf, transcriptsOf } from './input.ts'
import { answer, headText, storeHelp, storeOption, withStore } from './place.ts'
import { counted } from './screen.ts'

export const importFiles: Command = {
  name: 'import',
  synopsis: 'import FILE…',
  purpose: 'store recorded conversations as sessions',
  help: `Usage: indelible import [options] FILE…
       indelible import --from PROGRAM [--watch] [options]

Stores every conversation of the files as a session: its messages, page kinds
and notes become rows of one log under one Merkle tree. A store that does not
exist is created. FILE may have any format that "show" reads; - reads standard
input. Importing an export of Indelible gives the same record and the same head.

The id of the session is the id that the file gives. If the store already has a
session with that id, it is not changed and the exit code is 1: choose another
id with --id. If the file gives no id, or has several conversations, the file
name becomes the id, with a number if it is taken (chat-2).

--from imports the sessions that PROGRAM keeps on this machine. PROGRAM is one
of: ${programs.join(', ')}.
Each run appends the messages that are new since the last run; nothing is stored
twice. An answer that is still being written waits for the next run. If the user
went back in a conversation, it continues in a fork: the same id with a number.

Options:
  --from PROGRAM import the sessions of this program
  --watch        with --from: keep importing as sessions grow, until Ctrl-C
  --id NAME      the id of the new session, if FILE has one conversation
  --pick N       import only conversation N of the file (default: all)
  --json         one JSON object for each session, for programs
${storeHelp}
  -h, --help     print this help

Example:
  indelible import session.jsonl
  indelible import --from claude-code --watch
`,
  options: {
    from: { type: 'string' },
    watch: { type: 'boolean' },
    id: { type: 'string' },
    pick: { type: 'string' },
    json: { type: 'boolean' },
    ...storeOption,
  },
  run: async (call) => {
    const { values, positionals, terminal } = call
    if (values['from'] !== undefined) {
      const other = positionals[0] ?? ['id', 'pick'].find((name) => values[name] !== undefined)
      if (other !== undefined) throw new Misuse('--from finds the sessions by itself: it takes no FILE, --id or --pick')
      return withStore(call, { make: true }, (store) => importFrom(call, store))
    }
    if (values['watch'] === true) throw new Misuse('--watch goes with --from PROGRAM')
    if (positionals.length === 0)
      throw new Misuse('import needs a FILE: the conversation to read, or - for standard input')
    const only = values['pick'] === undefined ? undefined : pickOf(values)
    const begin = async (path: string) => {
      const read = await transcriptsOf(path, terminal)
      return { read, first: await read({ pick: only ?? 0 }) }
    }
    // Before the store: a FILE that can't be read makes none.
    const begun = await begin(positionals[0] as string)
    await withStore(call, { make: true }, async (store) => {
      for (const [index, path] of positionals.entries()) {
        const { read, first } = index === 0 ? begun : await begin(path)
        const several = only === undefined && first.count > 1
        if ((several || positionals.length > 1) && values['id'] !== undefined)
          throw new Misuse('--id names one session, but the input has several conversations: choose one with --pick')
        for (let pick = first.pick; pick < (several ? first.count : first.pick + 1); pick++) {
          const transcript = pick === first.pick ? first : await read({ pick })
          await importOne(call, store, path, transcript, several)
        }
      }
    })
  },
}

const importOne = async (
  { values, terminal }: Call,
  store: Store,
  path: string,
  transcript: Transcript,
  several: boolean,
): Promise<void> => {
  const given = typeof values['id'] === 'string' ? values['id'] : several ? undefined : transcript.origin.id
  const rows = transcript.messages.length + transcript.notes.length
  const importAs = async (id: string): Promise<SessionInfo> => {
    const bar = terminal.progress(`storing ${id}`, rows, 'rows')
    const imported = await importTranscript(store, transcript, { id, progress: bar.at })()
    bar.end()
    // Another process took the id that was free: the next one, unless the id was asked for.
    if (isLeft(imported) && imported.left._tag === 'LogExists' && given === undefined)
      return importAs(await freeId(store, transcript, path, several))
    return answer(async () => imported)
  }
  const info = await importAs(given ?? (await freeId(store, transcript, path, several)))
  if (values['json'] === true) return terminal.printJson([JSON.stringify(described(info))])
  await terminal.print([
    `${info.id}: ${counted(info.len, 'message')} of ${nameOf(path)} (${transcript.format}), head ${headText(info.head)}`,
  ])
  if (transcript.damage.length > 0)
    terminal.tell([
      `${nameOf(path)}: ${counted(transcript.damage.length, 'damaged line')}; "indelible check" lists them`,
    ])
}

/** What is known of a session, for programs. */
export const described = ({
  id,
  len,
  head,
  created,
  appended,
  metadata,
  forkedFrom,
  erasable,
}: SessionInfo): object => ({
  id,
  len,
  head: headText(head),
  created: new Date(created).toISOString(),
  appended: new Date(appended).toISOString(),
  ...(erasable && { erasable }),
  ...(forkedFrom && { forkedFrom }),
  metadata,
})

/** The name of the file that the conversation is in, with a number if that is taken. */
const freeId = async (store: Store, { pick }: Transcript, path: string, several: boolean): Promise<string> => {
  const name = (
    path === '-'
      ? 'conversation'
      : basename(path).replace(/\.(?:openai-chat|pi-session|swe-agent)?\.?(?:jsonl?|ndjson)$/i, '')
  ).replaceAll(/\p{Cc}/gu, '')
  const wanted = (several ? `${name}-${pick}` : name).slice(0, 60) || 'conversation'
  for (let number = 1; ; number++) {
    const id = number === 1 ? wanted : `${wanted}-${number}`
    const there = await store.info(id)()
    if (isLeft(there)) return id // the import says what is wrong, if it is something else than that there is none
  }
}
