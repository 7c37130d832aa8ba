/** `indelible record`: any agent, recorded between it and its provider. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { callDollars, pricesOf } from '../context/index.ts'
import { removeRecorded } from '../evidence/index.ts'
import { isLeft } from '../json/index.ts'
import { createRecorder, type Recorder, type RecorderSummary } from '../recorder/index.ts'
import { decompress, startProxy, type Proxy, type Upstream } from '../recorder/proxy/index.ts'
import { listSessions } from '../session/index.ts'
import type { Store } from '../store/index.ts'
import { Misuse, Unreadable, wholeNumber, type Call, type Command, type Terminal } from './command.ts'
import { answer, storeHelp, storeOption, withStore } from './place.ts'
import { onTerminate, programEnded } from './program.ts'
import { counted } from './screen.ts'

/** For each provider: the address of its API, and the variables by which programs are told another. */
const providers = [
  { name: 'openai', url: 'https://api.openai.com/v1', variables: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'] },
  { name: 'anthropic', url: 'https://api.anthropic.com', variables: ['ANTHROPIC_BASE_URL', 'ANTHROPIC_API_URL'] },
] as const

export const record: Command = {
  name: 'record',
  synopsis: 'record -- COMMAND…',
  purpose: 'record the conversations of any agent, unchanged',
  help: `Usage: indelible record [options] -- COMMAND [ARGUMENT…]
       indelible record --listen HOST:PORT [options]

Runs COMMAND with a proxy between it and its model provider, and records each of
its conversations as a session. COMMAND finds the proxy by the variables
OPENAI_BASE_URL, OPENAI_API_BASE, ANTHROPIC_BASE_URL and ANTHROPIC_API_URL. A
value that one of them already has is where the proxy sends the calls on to. The
calls go through unchanged; if recording fails, they go on and you are told.

Recorded: calls of OpenAI Chat Completions and Responses and of Anthropic
Messages. Other calls pass and are counted. Authorization headers and cookies
are never stored. HTTPS_PROXY and NO_PROXY are honoured.

The exit code is that of COMMAND. At the end a summary goes to standard error.

With --listen the proxy runs until you stop it, for programs that you start
yourself. They use http://HOST:PORT/openai and http://HOST:PORT/anthropic as
the address of their provider.

Options:
  --listen HOST:PORT    run as a proxy. HOST other than loopback needs --token
  --token TOKEN         what the path of each call must begin with
  --upstream NAME=URL   send the calls of a provider (openai, anthropic)
                        elsewhere; may be given twice
  --scope-header NAME   record each value of this request header in a scope of
                        its own
  --no-content          record lengths, digests and figures, and no text
  --sample PERCENT      record so many of a hundred conversations (default 100)
  --keep-days N         remove recorded sessions that nothing was appended to
                        for N days: at the start, and every hour
  --strict              exit 1 if a call could not be recorded
${storeHelp}
  -h, --help            print this help

Example:
  indelible record -- claude -p "fix the build"
`,
  options: {
    listen: { type: 'string' },
    token: { type: 'string' },
    upstream: { type: 'string', multiple: true },
    'scope-header': { type: 'string' },
    'no-content': { type: 'boolean' },
    sample: { type: 'string' },
    'keep-days': { type: 'string' },
    strict: { type: 'boolean' },
    ...storeOption,
  },
  run: async (call) => {
    const { values, positionals, terminal } = call
    const listen = listenOf(values['listen'])
    const [command, ...args] = positionals
    if ((command === undefined) === (listen === undefined))
      throw new Misuse('record needs a COMMAND behind --, or --listen HOST:PORT')
    const token = values['token']
    if (token !== undefined && !/^[\w-]{8,}$/.test(String(token)))
      throw new Misuse('--token takes at least 8 letters, digits, _ and -')
    if (listen !== undefined && !isLoopback(listen.host) && token === undefined)
      throw new Misuse(`--listen ${listen.host} can be reached by others: give --token too`)
    const upstreams = upstreamsOf(values['upstream'], terminal)
    const sample = wholeNumber('--sample', values['sample'], 100)
    if (sample < 0 || sample > 100) throw new Misuse('--sample takes a percentage from 0 to 100')
    const days = wholeNumber('--keep-days', values['keep-days'], undefined)
    if (days !== undefined && days < 1) throw new Misuse('--keep-days takes at least 1')
    return withStore(call, { make: true }, async (store) => {
      const recorders = new Recorders(store, call, sample)
      if (days !== undefined) await removeOld(store, days, terminal)
      const proxy = await listening({
        ...(listen ?? { host: '127.0.0.1', port: 0 }),
        token: typeof token === 'string' ? token : listen === undefined ? randomBytes(12).toString('hex') : '',
        upstreams,
        recorderOf: (request) => recorders.of(request),
      })
      const timer = days === undefined ? undefined : setInterval(() => void removeOld(store, days, terminal), 3_600_000)
      let code: number
      try {
        code =
          command === undefined
            ? await untilStopped(proxy, upstreams, terminal)
            : await programEnded(command, args, environment(proxy, terminal), terminal)
      } finally {
        clearInterval(timer)
        await proxy.close()
        await recorders.settled()
      }
      terminal.tell(summaryLines(recorders.summaries()))
      const lost = recorders.summaries().reduce((sum, one) => sum + one.lost, 0)
      return code === 0 && lost > 0 && values['strict'] === true ? 1 : code
    })
  },
}

interface Place {
  readonly host: string
  readonly port: number
}

const listenOf = (given: unknown): Place | undefined => {
  if (given === undefined) return undefined
  const [, host, port] = /^(\[[0-9a-fA-F:]+\]|[^:]+):(\d{1,5})$/.exec(String(given)) ?? []
  if (host === undefined || Number(port) > 65_535) throw new Misuse(`--listen takes HOST:PORT, not "${String(given)}"`)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)

const upstreamsOf = (given: unknown, { env }: Terminal): readonly Upstream[] => {
  const named = new Map<string, string>()
  for (const one of (Array.isArray(given) ? given : []) as readonly string[]) {
    const [, name, url] = /^([a-z]+)=(https?:\/\/.+)$/.exec(one) ?? []
    if (
      name === undefined ||
      url === undefined ||
      !URL.canParse(url) ||
      !providers.some((known) => known.name === name)
    )
      throw new Misuse(`--upstream takes openai=URL or anthropic=URL, not "${one}"`)
    named.set(name, url)
  }
  return providers.map(({ name, url, variables }) => ({
    name,
    url: (named.get(name) ?? variables.map((variable) => env[variable]).find((value) => value) ?? url).replace(
      /\/+$/,
      '',
    ),
  }))
}

const listening = async (options: Parameters<typeof startProxy>[0]): Promise<Proxy> => {
  try {
    return await startProxy(options)
  } catch (cause) {
    throw new Unreadable(`${options.host}:${options.port} can't be listened on: ${(cause as Error).message}`)
  }
}

const environment = (proxy: Proxy, { env }: Terminal): { readonly [name: string]: string | undefined } => ({
  ...env,
  ...Object.fromEntries(
    providers.flatMap(({ name, variables }) => variables.map((variable) => [variable, proxy.urlOf(name)])),
  ),
  // The proxy itself is reached directly.
  NO_PROXY: [env['NO_PROXY'] ?? env['no_proxy'], '127.0.0.1', 'localhost'].filter(Boolean).join(','),
})

/** A recorder for each scope. */
class Recorders {
  readonly #store: Store
  readonly #terminal: Terminal
  readonly #header: string | undefined
  readonly #content: boolean
  readonly #sample: number
  readonly #all = new Map<string, Recorder>()
  #told = 0

  constructor(store: Store, { values, terminal }: Call, sample: number) {
    this.#store = store
    this.#terminal = terminal
    this.#header = typeof values['scope-header'] === 'string' ? values['scope-header'].toLowerCase() : undefined
    this.#content = values['no-content'] !== true
    this.#sample = sample / 100
  }

  of({ headers }: IncomingMessage): Recorder | undefined {
    const found = this.#header === undefined ? undefined : headers[this.#header]
    const scope = Array.isArray(found) ? found[0] : found
    const known = this.#all.get(scope ?? '')
    if (known !== undefined) return known
    const store = scope === undefined || scope === '' ? undefined : this.#store.scoped(scope)
    if (store !== undefined && isLeft(store)) {
      this.#tell(`a call is not recorded: ${JSON.stringify(scope)} can't be a scope`)
      return undefined
    }
    const recorder = createRecorder({
      store: store?.right ?? this.#store,
      content: this.#content,
      sample: this.#sample,
      decompress,
      onNotice: ({ url, reason }) => this.#tell(`a call of ${url.replace(/\?.*$/s, '')} is not recorded: ${reason}`),
    })
    this.#all.set(scope ?? '', recorder)
    return recorder
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#all.values()].map((recorder) => recorder.settled()))
  }

  summaries(): readonly RecorderSummary[] {
    return [...this.#all.values()].map((recorder) => recorder.summary())
  }

  #tell(line: string): void {
    this.#told++
    if (this.#told <= 20) this.#terminal.tell([`indelible: ${line}`])
  }
}

const untilStopped = async (proxy: Proxy, upstreams: readonly Upstream[], terminal: Terminal): Promise<number> => {
  await terminal.print(upstreams.map(({ name, url }) => `${proxy.urlOf(name)}  goes to ${url}`))
  await new Promise<void>((resolve) => {
    const ends = [terminal.onInterrupt(() => done()), onTerminate(() => done())]
    const done = (): void => {
      for (const end of ends) end()
      resolve()
    }
  })
  return 0
}

const removeOld = async (store: Store, days: number, terminal: Terminal): Promise<void> => {
  const before = Date.now() - days * 86_400_000
  let after: string | undefined
  let removed = 0
  do {
    const page = await answer(listSessions(store, { limit: 1000, ...(after !== undefined && { after }) }))
    for (const { id, appended, metadata } of page.sessions)
      if (appended < before && metadata['recorder'] !== undefined) {
        await answer(removeRecorded(store, id, { reason: `older than ${days} days`, by: 'indelible record' }))
        removed++
      }
    after = page.next
  } while (after !== undefined)
  if (removed > 0) terminal.tell([`${counted(removed, 'session')} older than ${days} days removed`])
}

/** What was recorded, for people. */
const summaryLines = (summaries: readonly RecorderSummary[]): readonly string[] => {
  const sum = (of: (summary: RecorderSummary) => number): number => summaries.reduce((all, one) => all + of(one), 0)
  const sessions = summaries.flatMap((one) => one.sessions)
  const calls = sum((one) => one.calls)
  const [input, output, cached] = (['input', 'output', 'cacheRead'] as const).map((kind) =>
    sum(({ usage }) => usage[kind]),
  ) as [number, number, number]
  const dollars = summaries
    .flatMap(({ models }) => [...models])
    .map(([model, usage]) => {
      const prices = pricesOf(model)
      return prices === undefined ? undefined : callDollars(prices, usage)
    })
  const known = dollars.filter((one) => one !== undefined)
  const lines = [
    `recorded: ${counted(calls, 'call')} in ${counted(sessions.length, 'session')}${sum((one) => one.failed) > 0 ? `, ${sum((one) => one.failed)} failed` : ''}`,
  ]
  if (input + output > 0)
    lines.push(
      `tokens: ${input.toLocaleString('en')} in (${input === 0 ? 0 : Math.round((cached / input) * 100)} % from cache), ${output.toLocaleString('en')} out${known.length > 0 ? `, about $${known.reduce((all, one) => all + one, 0).toFixed(4)}${known.length < dollars.length ? ' without models of unknown price' : ''}` : ''}`,
    )
  const breaks = summaries.flatMap((one) => one.breaks)
  lines.push(...breaks.slice(0, 5).map(({ session, because }) => `cache break in ${session}: ${because}`))
  if (breaks.length > 5) lines.push(`and ${breaks.length - 5} more cache breaks`)
  const passed = sum((one) => one.passed)
  if (passed > 0) lines.push(`${counted(passed, 'other request')} passed`)
  const lost = sum((one) => one.lost)
  if (lost > 0) lines.push(`${counted(lost, 'call')} not recorded whole`)
  lines.push(...sessions.slice(0, 10).map((id) => `  indelible show ${id}`))
  if (sessions.length > 10) lines.push('  …')
  return lines
}
