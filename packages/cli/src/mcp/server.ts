/** Serves the tools of `indelible mcp` on standard input and output. */
import { statSync } from 'node:fs'
import { PassThrough, type Readable } from 'node:stream'
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { isObject } from 'indelible/internal/json'
import type { Store } from 'indelible/store'
import { scopeOf, unreadableOf, valueOrUnreadable } from '../sources/place.ts'
import { fileOfStore, openStore, storeOptionOf } from '../sources/store.ts'
import { Misuse, Unreadable, type Call } from '../terminal/command.ts'
import { version } from '../terminal/version.ts'
import { ReadableSessions, type Bounds } from './readable-sessions.ts'
import { cutText, instructions, tools, type Source, type Tool } from './tools.ts'

/** Serve until the client closes standard input. */
export const serve = async (call: Call, bounds: Bounds): Promise<void> => {
  const { terminal } = call
  const opened = new OpenedSource(call, bounds)
  const newServer = (): Server => {
    const server = new Server({ name: 'indelible', version: version() }, { capabilities: { tools: {} }, instructions })
    server.setRequestHandler('tools/list', () => ({ tools: tools.map(({ definition }) => definition) }))
    server.setRequestHandler('tools/call', async ({ params }) => {
      const { name, arguments: args = {}, _meta: meta } = params
      const tool = tools.find(({ definition }) => definition.name === name)
      if (tool === undefined)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${cutText(name, mostOfName)}`)
      const ignored = ignoredText(tool, args)
      try {
        const text = await tool.answer(args, { ...(await opened.source()), asking: askingIn(meta) })
        return { content: [{ type: 'text' as const, text: text + ignored }] }
      } catch (error) {
        const reason = unreadableOf(error)
        if (!(reason instanceof Unreadable) && !(reason instanceof Misuse)) throw reason
        const text = cutText(reason.message, mostOfReason) + ignored
        return { content: [{ type: 'text' as const, text }], isError: true }
      }
    })
    return server
  }
  // The terminal writes lines of JSON, which need no other form on the wire.
  const output = new PassThrough({ encoding: 'utf8' }).setMaxListeners(0)
  const written = terminalLines(output, terminal)
  const transport = new StdioServerTransport(terminal.input as Readable, output)
  const closed = new Promise<void>((resolve) => terminal.input.once('end', resolve).once('close', resolve))
  if (terminal.asks)
    terminal.tell(['serves a program on standard input and output; "indelible mcp --install PROGRAM" adds it to one'])
  const served = serveStdio(newServer, {
    transport,
    onerror: ({ message }) => terminal.tell([`ignored: ${cutText(message.replaceAll(/\s+/g, ' '), mostOfReason)}`]),
  })
  await closed
  await served.close()
  output.end()
  await written
  await opened.close()
}

/** The most characters of a name in an error, and of an error: it repeats what the call sent. */
const mostOfName = 100
const mostOfReason = 1000

/** A sentence about arguments that a tool does not have; empty if there are none. */
const ignoredText = ({ definition: { name, inputSchema } }: Tool, args: object): string => {
  const known = inputSchema.properties ?? {}
  const ignored = Object.keys(args).filter((each) => !Object.hasOwn(known, each))
  if (ignored.length === 0) return ''
  const shown = ignored.slice(0, 5).map((each) => JSON.stringify(cutText(each, mostOfName)))
  return `\nIgnored: ${name} takes ${Object.keys(known).join(', ')}, not ${shown.join(', ')}.`
}

/** Write what arrives as lines of JSON to the terminal. */
const terminalLines = async (output: Readable, terminal: Call['terminal']): Promise<void> => {
  for await (const text of output) await terminal.printJsonLines(String(text).trimEnd().split('\n'))
}

/** The id of the conversation that asks, where a program sends it (Codex). */
export const askingIn = (meta: unknown): string | undefined => {
  if (!isObject(meta)) return undefined
  const { threadId } = meta as { readonly threadId?: unknown }
  return typeof threadId === 'string' ? threadId : undefined
}

/** The store, opened at the first call and again if its file was replaced. */
class OpenedSource {
  readonly #call: Call
  readonly #bounds: Bounds
  #opened: { readonly store: Store; readonly sessions: ReadableSessions; readonly file: string } | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(call: Call, bounds: Bounds) {
    this.#call = call
    this.#bounds = bounds
  }

  /** One call at a time opens and refreshes. */
  source(): Promise<Omit<Source, 'asking'>> {
    const next = this.#last.then(() => this.#refreshed())
    this.#last = next.catch(() => {})
    return next
  }

  async #refreshed(): Promise<Omit<Source, 'asking'>> {
    const { values, terminal } = this.#call
    const file = this.#fileNow()
    if (this.#opened?.file !== file) await this.close()
    if (this.#opened === undefined) {
      const { store } = await openStore(storeOptionOf(values, terminal), 'read', terminal)
      const scoped = scopeOf(store, values['scope'])
      this.#opened = { store: scoped, sessions: new ReadableSessions(scoped, this.#bounds, terminal), file }
    }
    await this.#opened.sessions.refresh()
    return this.#opened
  }

  /** Names the file that the store's path leads to now. */
  #fileNow(): string {
    const { values, terminal } = this.#call
    const path = fileOfStore(values, terminal)
    if (path === undefined) return 'in PostgreSQL'
    const stats = statSync(path, { throwIfNoEntry: false })
    return `${stats?.dev}:${stats?.ino}`
  }

  async close(): Promise<void> {
    const store = this.#opened?.store
    this.#opened = undefined
    if (store !== undefined) await valueOrUnreadable(store.close())
  }
}
