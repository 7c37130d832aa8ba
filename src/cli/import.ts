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

Stores every conversation of the files as a session: messages, page kinds and
notes, one row each under one Merkle tree. The store is made if it is not there.
Files are in any format that "show" reads; - reads standard input. An export of
Indelible gives the record that it was made from, with the same head.

A session is called as the file says that its conversation is; where there is
such a session already, it is left as it is, and the exit code is 1: --id gives
another name. If the file says none, or holds several conversations, sessions
are called like the file, with a number where that is taken (chat-2).

With --from, the sessions that PROGRAM keeps on this machine. PROGRAM is one of:
${programs.join(', ')}.
What is new since the last time is appended; nothing is stored twice. An answer
that is still being written waits for the next time. A conversation in which
somebody went back goes on in a fork, under its id with a number.

Options:
  --from PROGRAM the program whose sessions are imported
  --watch        with --from: go on until Ctrl-C, as sessions grow
  --id NAME      the id of the new session, if FILE holds one conversation
  --pick N       only this conversation, in a file of several (default: all)
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
          throw new Misuse('--id names one session, and there are several conversations: choose one with --pick')
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
      `${nameOf(path)}: ${counted(transcript.damage.length, 'damaged line')}; "indelible check" names them`,
    ])
}

/** What is known of a session, for programs. */
export const described = ({ id, len, head, created, metadata, forkedFrom }: SessionInfo): object => ({
  id,
  len,
  head: headText(head),
  created: new Date(created).toISOString(),
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
