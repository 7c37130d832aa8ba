/** `indelible record`: records any agent, between it and its provider. */
import { randomBytes } from 'node:crypto'
import { isLoopback } from '@indelible/recorder/internal/proxy'
import { startProxy, type Proxy } from '@indelible/recorder/proxy'
import { Misuse, Unreadable, wholeNumber, type Command, type Terminal } from '../terminal/command.ts'
import { storeOption } from '../sources/place.ts'
import { onStop, runProgram } from '../terminal/program.ts'
import { environment, fillAddresses, providerNames, upstreamsOf } from './providers.ts'
import { beginRecording } from './recording.ts'
import { sumCauses, type ScopeSummary } from './recorders.ts'
import { causeTexts, dollarsText, share } from '@indelible/view/internal'
import { countText, shellWord } from '../terminal/screen.ts'
import type { RecorderSummary } from '@indelible/recorder/internal'
import type { Upstream } from '@indelible/recorder/internal/proxy'

export const record: Command = {
  name: 'record',
  synopsis: 'record -- COMMAND…',
  purpose: 'record the conversations of any agent, unchanged',
  usage: ['record [options] -- COMMAND [ARGUMENT…]', 'record --listen HOST:PORT [options]'],
  about: `Runs COMMAND with a proxy between it and its model provider, and
records each of its conversations as a session. COMMAND finds the proxy by the
variables OPENAI_BASE_URL, OPENAI_API_BASE, ANTHROPIC_BASE_URL,
ANTHROPIC_API_URL, GOOGLE_GEMINI_BASE_URL, GOOGLE_VERTEX_BASE_URL and
CODE_ASSIST_ENDPOINT. If a variable is already set, the proxy forwards the calls
to that address. The calls pass through unchanged. If recording fails, they
continue, and a message says so. For programs that read no variable,
{OPENAI_BASE_URL} (and so on) in the arguments of COMMAND is replaced with the
address:
  indelible record -- codex -c openai_base_url={OPENAI_BASE_URL}
The address contains the proxy's secret. Other users of the machine can see the
arguments of programs, and could then call the proxy while COMMAND runs. Prefer
the variables, which they can't see.

It records calls of OpenAI Chat Completions and Responses, of Anthropic Messages
and of Gemini. Other calls are forwarded and counted. It never stores headers,
or request fields that hold a key (api_key, authorization). It does store the
text of messages: --redact removes keys from it. HTTPS_PROXY and NO_PROXY are
respected.

Each call is first written to a spool, a file beside the store that only you can
read (STORE-spool-…; of a PostgreSQL database, in your data folder), and emptied
once the call is stored. If the recorder is killed, the next one stores the
remaining calls. With --key-file the spool is encrypted. Its limit is 256 MiB.
With --redact or --no-content there is no spool, and a kill loses the open
calls. A power loss can lose the last writes.

The exit code is that of COMMAND; 127 if there is no such program, 126 if it
can't be run. At the end a summary goes to standard error.

With --listen the proxy runs until you stop it, for programs that you start
yourself. They use http://HOST:PORT/openai, http://HOST:PORT/anthropic and
http://HOST:PORT/gemini as the address of their provider. Without a token it
refuses requests from web pages, and requests to any host name but this
machine's, such as a container's name for it. Give a token for these.`,
  options: {
    listen: { value: 'HOST:PORT', help: 'run as a proxy. HOST other than loopback needs --token' },
    token: {
      value: 'TOKEN',
      help: 'the path of each call must begin with it (default: INDELIBLE_TOKEN, which is hidden from other users)',
    },
    upstream: {
      value: 'NAME=URL',
      many: true,
      help: `send the calls of a provider (${providerNames}) to this address; repeatable`,
    },
    'scope-header': {
      value: 'NAME',
      help: 'record the calls with each value of this request header in a separate scope',
    },
    redact: { help: 'remove text that looks like an API key, a token, or a password in an address' },
    'no-content': { help: 'record only lengths, digests and figures, without any text' },
    sample: { value: 'PERCENT', help: 'the percentage of conversations to record (default 100)' },
    'keep-days': {
      value: 'N',
      help: 'remove recorded sessions that have not changed for N days: at the start, and every hour',
    },
    strict: { help: 'exit 1 if a call could not be recorded' },
    ...storeOption,
  },
  examples: ['indelible record -- claude -p "fix the build"'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const listen = parseListenOption(values['listen'])
    const [command, ...args] = positionals
    if (command === '' || (command === undefined) === (listen === undefined))
      throw new Misuse('record needs a COMMAND after --, or --listen HOST:PORT')
    const token = values['token'] ?? (terminal.env['INDELIBLE_TOKEN'] || undefined)
    if (token !== undefined && !/^[\w-]{8,}$/.test(String(token)))
      throw new Misuse('--token takes at least 8 letters, digits, _ and -')
    if (listen !== undefined && !isLoopback(listen.host) && token === undefined)
      throw new Misuse(`other machines can reach --listen ${listen.host}: add --token`)
    const upstreams = upstreamsOf(values['upstream'], terminal)
    const sample = wholeNumber('--sample', values['sample'], 100)
    if (sample < 0 || sample > 100) throw new Misuse('--sample takes a percentage from 0 to 100')
    const days = wholeNumber('--keep-days', values['keep-days'], undefined)
    if (days !== undefined && days < 1) throw new Misuse('--keep-days takes at least 1')
    const recording = await beginRecording(call)
    let code: number
    let summaries: readonly ScopeSummary[]
    try {
      const proxy = await startListening({
        ...(listen ?? { host: '127.0.0.1', port: 0 }),
        token: typeof token === 'string' ? token : listen === undefined ? randomBytes(12).toString('hex') : '',
        upstreams,
        recorderOf: recording.recorderOf,
      })
      try {
        code =
          command === undefined
            ? await untilStopped(proxy, upstreams, terminal)
            : await runProgram(command, fillAddresses(args, proxy), environment(proxy, terminal), terminal)
      } finally {
        await proxy.close()
      }
    } finally {
      summaries = await recording.settled()
    }
    terminal.tell(summaryLines(summaries))
    const lost = summaries.reduce((sum, summary) => sum + summary.lost, 0)
    return code === 0 && lost > 0 && values['strict'] === true ? 1 : code
  },
}

interface Place {
  readonly host: string
  readonly port: number
}

const parseListenOption = (value: unknown): Place | undefined => {
  if (value === undefined) return undefined
  const [, host, port] = /^(\[[0-9a-fA-F:]+\]|[^:]+):(\d{1,5})$/.exec(String(value)) ?? []
  if (host === undefined || Number(port) > 65_535) throw new Misuse(`--listen takes HOST:PORT, not "${String(value)}"`)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

const startListening = async (options: Parameters<typeof startProxy>[0]): Promise<Proxy> => {
  try {
    return await startProxy(options)
  } catch (cause) {
    throw new Unreadable(`can't listen on ${options.host}:${options.port}: ${(cause as Error).message}`)
  }
}

/** A URL for display. */
const withoutPassword = (url: string): string => {
  const shown = new URL(url)
  shown.username = shown.password = ''
  return shown.href.replace(/\/$/, '')
}

const untilStopped = async (proxy: Proxy, upstreams: readonly Upstream[], terminal: Terminal): Promise<number> => {
  const stopped = new Promise<void>((resolve) => {
    const end = onStop(terminal, () => {
      end()
      resolve()
    })
  })
  await terminal.print(upstreams.map(({ name, url }) => `${proxy.urlOf(name)}  goes to ${withoutPassword(url)}`))
  await stopped
  return 0
}

/** The summary of the recording, for people. */
export const summaryLines = (summaries: readonly ScopeSummary[]): readonly string[] => {
  const sum = (of: (summary: RecorderSummary) => number): number =>
    summaries.reduce((all, summary) => all + of(summary), 0)
  const sessions = summaries.flatMap(({ sessions, scope, breaks }) =>
    sessions.map((id) => {
      const broke = breaks.find(({ session }) => session === id)
      return `${shellWord(id)}${broke === undefined ? '' : ` --call ${broke.call}`}${scope === undefined ? '' : ` --scope ${shellWord(scope)}`}`
    }),
  )
  const calls = sum((summary) => summary.calls)
  const removed = summaries.reduce((all, summary) => all + (summary.removed ?? 0), 0)
  const count = sessions.length + removed + sum((summary) => summary.moreSessions)
  const [input, output, cached] = (['input', 'output', 'cacheRead'] as const).map((kind) =>
    sum(({ usage }) => usage[kind]),
  ) as [number, number, number]
  const lost = sum((summary) => summary.lost)
  // A dead thread can't report its recordings.
  const lines =
    calls === 0 && lost > 0
      ? []
      : [
          calls === 0 && count === 0
            ? 'nothing was recorded'
            : `recorded: ${countText(calls, 'call')} in ${countText(count, 'session')}${sum((summary) => summary.failed) > 0 ? `, ${sum((summary) => summary.failed)} failed` : ''}${removed === 0 ? '' : `; ${countText(removed, 'session')} ${removed === 1 ? 'was' : 'were'} removed since`}`,
        ]
  if (input + output > 0) {
    const money = sum((summary) => summary.dollars)
    const isIncomplete = sum((summary) => summary.unpriced) > 0
    const without = isIncomplete ? ' without models of unknown price' : ''
    const text =
      money > 0
        ? `, ${money < 0.0001 ? '' : 'about '}${dollarsText(money)}${without}`
        : isIncomplete
          ? ', price unknown'
          : ''
    lines.push(
      `tokens: ${input.toLocaleString('en')} in (${share(cached, input)} from cache), ${output.toLocaleString('en')} out${text}`,
    )
  }
  const causes = [...sumCauses(summaries)].toSorted(([, a], [, b]) => b.dollars - a.dollars || b.tokens - a.tokens)
  if (causes.length > 0)
    lines.push(
      `paid for: ${causes.map(([cause, { tokens, dollars }]) => `${causeTexts[cause]} ${dollars > 0 ? dollarsText(dollars) : countText(tokens, 'token')}`).join('; ')}`,
    )
  const silent = sum((summary) => summary.silent)
  if (silent > 0) lines.push(`${countText(silent, 'call')} without token counts: the provider sent none`)
  const breaks = summaries.flatMap((summary) => summary.breaks)
  lines.push(
    ...breaks.slice(0, 5).map(({ session, call, because }) => `cache break in ${session}, call ${call}: ${because}`),
  )
  const moreBreaks = Math.max(0, breaks.length - 5) + sum((summary) => summary.moreBreaks)
  if (moreBreaks > 0) lines.push(`and ${moreBreaks} more cache breaks`)
  const passed = sum((summary) => summary.passed)
  if (passed > 0) lines.push(`${countText(passed, 'other request')} forwarded`)
  const unanswered = sum((summary) => summary.unanswered)
  if (lost > unanswered) lines.push(`${countText(lost - unanswered, 'call')} not recorded`)
  if (unanswered > 0) lines.push(`${countText(unanswered, 'call')} recorded without the answer`)
  lines.push(...sessions.slice(0, 10).map((id) => `  indelible show ${id}`))
  if (count - removed > Math.min(10, sessions.length)) lines.push('  …')
  return lines
}
