/** `indelible rerun SESSION -- COMMAND`: runs a program again, with the record in the place of its provider. */
import { realpathSync } from 'node:fs'
import type { SessionInfo } from 'indelible/session'
import type { Store } from 'indelible/store'
import { decompress } from '@indelible/recorder/internal/proxy'
import { ignorable, serveFetch, type Ignored } from '@indelible/recorder/internal/replay'
import { confirm, Misuse, mustConfirm, Unreadable, wholeNumber, type Call, type Command } from '../terminal/command.ts'
import { storeOption, withStore } from '../sources/place.ts'
import { sessionOrAdvice } from '../sources/sessions.ts'
import { isRecordedHere } from '../record/recorded-here.ts'
import { environment, fillAddresses } from '../record/providers.ts'
import { runProgram } from '../terminal/program.ts'
import { countText, oneLine, shellWord } from '../terminal/screen.ts'
import { copyFolder } from './folder-copy.ts'
import { answersOf } from './rerun-answers.ts'
import { recordedToolCalls, rerunSessions } from './rerun-sessions.ts'

export const rerun: Command = {
  name: 'rerun',
  synopsis: 'rerun SESSION -- COMMAND…',
  purpose: 'run an agent again, answered from its record',
  usage: ['rerun SESSION [options] -- COMMAND [ARGUMENT…]'],
  about: `Runs COMMAND with a proxy that answers its model calls from the record of
SESSION, and calls no provider. Each call must be as recorded: the same model,
system text, tools, parameters and messages. At the first call that is not,
COMMAND and what it has started are ended, the difference is printed, and the
exit code is 1. The sessions that the same program recorded beside SESSION, such
as those of its sub-agents, answer their calls, too.

COMMAND finds the proxy as with "indelible record": by the variables
OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL and so on, or by
{OPENAI_BASE_URL} in its arguments.

The tool calls in the recorded answers are executed for real. They are listed
first, and you are asked. COMMAND works in a copy of this folder of at most 256
MiB, which is removed afterwards; the copy protects files that are named by a
path from this folder, and nothing else on the machine. In the answers, the path
of the recorded folder is replaced with that of the copy. A session that was not
recorded on this machine, by you, needs --trust-session.

With --from N, the calls before N ("indelible show SESSION --calls" numbers them)
are answered from the record. Call N and those after it go to the provider, and
are recorded in a fork of SESSION.`,
  options: {
    ignore: {
      value: 'LIST',
      help: `what may differ: ${ignorable.join(', ')}, with commas in between (default: nothing; in a copy, the folder)`,
    },
    here: { help: 'run COMMAND in this folder, not in a copy' },
    'trust-session': { help: 'run the tool calls of a session that was not recorded on this machine' },
    yes: { help: 'do not ask before COMMAND is run' },
    from: { value: 'N', help: 'answer the calls before call N from the record, and send the others to the provider' },
    model: { value: 'MODEL', help: 'with --from: the model that answers' },
    upstream: {
      value: 'URL',
      help: 'with --from: the address of the provider (default: as with "indelible record")',
    },
    ...storeOption,
  },
  examples: ['indelible rerun 0b0f5e8a --ignore dates -- claude -p "fix the build"'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const [name, command, ...args] = positionals
    if (name === undefined || name === '' || command === undefined || command === '')
      throw new Misuse('rerun needs a SESSION, and a COMMAND after --')
    const from = wholeNumber('--from', values['from'], undefined, 1)
    for (const option of ['model', 'upstream'])
      if (values[option] !== undefined && from === undefined) throw new Misuse(`--${option} goes with --from N`)
    const isHere = values['here'] === true
    const ignore = ignoredOf(values['ignore'], isHere)
    return withStore(call, {}, async (store) => {
      const id = await sessionOrAdvice(store, name, terminal)
      const sessions = await rerunSessions(store, id)
      await checkTrust(store, sessions, call)
      await confirmToolCalls(store, sessions, call)
      const answers = await answersOf(store, sessions, from, ignore, call)
      const here = realpathSync(terminal.path('.'))
      const copy = isHere ? undefined : await copyFolder(here)
      const folder = copy?.path ?? here
      const ended = new AbortController()
      try {
        // The first part of a path names the provider.
        const server = await serveFetch(
          (url, init) => {
            const [, provider = '', path = ''] =
              /^([a-z]+)(\/.*)$/s.exec(String(url).replace('http://127.0.0.1/', '')) ?? []
            return provider === ''
              ? Promise.resolve(Response.json({ error: { message: 'there is no provider here' } }, { status: 404 }))
              : answers.answer(new Request(`http://${provider}${path}`, init), provider)
          },
          decompress,
          () => {
            if (answers.difference() !== undefined) ended.abort()
          },
        )
        const addresses = { urlOf: (provider: string) => `${server.url}/${provider}` }
        try {
          const env = { ...environment(addresses, terminal), PWD: folder }
          const code = await runProgram(command, fillAddresses(args, addresses), env, terminal, folder, ended.signal)
          return (await answers.close()) ? code : 1
        } finally {
          await server.close()
        }
      } finally {
        copy?.remove()
      }
    })
  },
}

const ignoredOf = (value: unknown, isHere: boolean): readonly Ignored[] => {
  const names = typeof value === 'string' ? value.split(',').map((name) => name.trim()) : []
  const unknown = names.find((name) => !ignorable.includes(name as Ignored))
  if (unknown !== undefined) throw new Misuse(`--ignore takes ${ignorable.join(', ')}, not "${unknown}"`)
  return [...new Set([...(names as Ignored[]), ...(isHere ? [] : ['folder' as const])])]
}

/** Throws Unreadable if the tool calls of a session may be somebody else's. */
const checkTrust = async (
  store: Store,
  sessions: readonly SessionInfo[],
  { values, terminal }: Call,
): Promise<void> => {
  if (values['trust-session'] === true) return
  for (const { id } of sessions)
    if (!(await isRecordedHere(store, id, terminal.env)))
      throw new Unreadable(
        `session ${id} was not recorded on this machine with "indelible record", or has changed since, so its tool calls may be anybody's. Read it first ("indelible show ${shellWord(id)}"), then add --trust-session; nothing was run`,
      )
}

/** Lists the tool calls, and asks. Throws Unreadable if the user does not want them to be run. */
const confirmToolCalls = async (store: Store, sessions: readonly SessionInfo[], call: Call): Promise<void> => {
  const { terminal, values } = call
  const calls = (await Promise.all(sessions.map(({ id }) => recordedToolCalls(store, id)))).flat()
  if (calls.length === 0) return
  terminal.tell([
    `The recorded answers call ${countText(calls.length, 'tool')}. COMMAND will execute these calls for real:`,
    ...calls.map(({ name, arguments: input }) => `  ${oneLine(name)} ${oneLine(input)}`),
  ])
  if (values['yes'] === true) return
  mustConfirm('rerun', call)
  await confirm(terminal, 'Run COMMAND?', 'nothing was run')
}
