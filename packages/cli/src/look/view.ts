/** `indelible view`: shows the sessions of a store as a page in the browser. */
import { existsSync } from 'node:fs'
import { describeSession, listSessions } from 'indelible/session'
import type { Store } from 'indelible/store'
import { startView, type View, type ViewOptions } from '@indelible/view'
import { Misuse, Unreadable, wholeNumber, type Call, type Command, type Terminal } from '../terminal/command.ts'
import { valueOrUnreadable, storeOption, withStore } from '../sources/place.ts'
import { onStop, openInBrowser } from '../terminal/program.ts'
import { tellLastResult } from '../keep/last-result.ts'
import { scopesBeside, sessionOrAdvice } from '../sources/sessions.ts'
import { defaultStorePath, storeName, storeOptionOf } from '../sources/store.ts'
import { trustOf, trustOptions } from '../sources/trust.ts'
import { version } from '../terminal/version.ts'
import type { MachineStore } from './machine-store.ts'

export const view: Command = {
  name: 'view',
  synopsis: 'view [SESSION]',
  purpose: 'look at sessions in the browser',
  usage: ['view [options] [SESSION]'],
  about: `Serves a page that shows the sessions of a store, opens it in the
browser, and prints its address. The address works once; the browser then keeps
a key. The page only reads. Ctrl-C stops the server. The browser gets the
address from a file that only you can read, because other users can see the
arguments of programs.

As long as your own store has no sessions, the page shows the latest ones that
agents keep on this machine: it reads their files, and stores nothing.

The server listens on 127.0.0.1, which only this machine can reach. With --host
other machines can reach it too: anyone with an address that nobody has opened
yet can read the whole store. The connection is not encrypted.

With --trust the page verifies the signatures of the ledger with these keys;
without it, you can paste keys in the proof's window.`,
  options: {
    port: { value: 'N', help: 'the port (default: any free one)' },
    host: {
      value: 'HOST',
      help: 'the address to listen on (default 127.0.0.1); 0.0.0.0 is every address of this machine',
    },
    ...trustOptions,
    'no-open': { help: 'print the address without opening a browser' },
    ...storeOption,
  },
  examples: ['indelible view --no-open --port 8080'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const [named] = positionals
    if (positionals.length > 1) throw new Misuse(`view takes one SESSION, but got ${positionals.length}`)
    const port = wholeNumber('--port', values['port'], 0)
    if (port < 0 || port > 65_535) throw new Misuse('--port takes a number from 0 to 65535')
    const host = typeof values['host'] === 'string' ? values['host'] : '127.0.0.1'
    const trust = trustOf(values, terminal)
    const path = storeOptionOf(values, terminal)
    await tellLastResult(call)
    const serve: Serve = (store, name, id) =>
      serveUntilStopped({ store, name, version: version(), host, port, ...(trust && { trust }) }, id, call)
    if (path === undefined && values['scope'] === undefined && (await isNewStore(call))) {
      const { machineStore } = await import('./machine-store.ts')
      const machine = await machineStore(named, terminal)
      if (machine !== undefined) return showMachine(machine, serve, terminal)
    }
    await withStore(call, {}, async (store) => {
      const id = named === undefined ? undefined : await sessionOrAdvice(store, named, terminal)
      if (id !== undefined) await valueOrUnreadable(describeSession(store, id))
      await serve(store, storeName(path ?? defaultStorePath(terminal.env)), id)
    })
  },
}

type Serve = (store: Store, name: string, id: string | undefined) => Promise<void>

/** Whether the user's default store is missing or has no session. */
const isNewStore = async (call: Call): Promise<boolean> =>
  !existsSync(defaultStorePath(call.terminal.env)) ||
  withStore(call, {}, async (store) => {
    const { sessions } = await valueOrUnreadable(listSessions(store, { limit: 1 }))
    return sessions.length === 0 && (await scopesBeside(store)).length === 0
  })

/** Show the sessions of this machine's agents, of which nothing is stored. */
const showMachine = async ({ store, id, readRest }: MachineStore, serve: Serve, terminal: Terminal): Promise<void> => {
  const { importAdvice } = await import('../sources/machine-sessions.ts')
  terminal.tell([`nothing is stored yet, so the page shows what agents keep here; ${await importAdvice(terminal.env)}`])
  const ended = new AbortController()
  const rest = readRest(ended.signal)
  try {
    await serve(store, 'the sessions of this machine, not stored', id)
  } finally {
    ended.abort()
    await rest
  }
}

/** Serve the page, print its address, and open it in the browser. */
const serveUntilStopped = async (
  options: ViewOptions,
  id: string | undefined,
  { values, terminal }: Call,
): Promise<void> => {
  const { host = '', port = 0 } = options
  const served = await startView(options).catch((cause: Error) => {
    const reason = listenErrors[(cause as NodeJS.ErrnoException).code ?? '']?.(host, port)
    throw new Unreadable(reason ?? cause.message)
  })
  // A signal during printing ends the page too, so that its file is removed.
  const ended = new AbortController()
  const ends = [onStop(terminal, () => ended.abort())]
  try {
    const path = id === undefined ? '' : `s/${encodeURIComponent(id)}`
    const address = served.open(path)
    await terminal.print([address])
    if (values['no-open'] !== true && !ended.signal.aborted) ends.push(openInBrowser(address))
    await untilStopped(served, path, terminal, ended)
  } finally {
    for (const end of ends) end()
    await served.close()
  }
}

/** Why a server can't listen, with advice. */
const listenErrors: { readonly [code: string]: ((host: string, port: number) => string) | undefined } = {
  EADDRINUSE: (host, port) =>
    `port ${port} of ${host} is in use, perhaps by another view; choose another with --port, or omit --port for any free one`,
  EACCES: (_, port) => `port ${port} needs special rights on this machine; choose one from 1024 on with --port`,
  EADDRNOTAVAIL: (host) => `--host ${host} is not an address of this machine`,
  ENOTFOUND: (host) => `--host ${host} is not an address of this machine`,
}

/** Serve until Ctrl-C. Enter on a terminal prints another address, because each works once. */
const untilStopped = async (served: View, path: string, terminal: Terminal, ended: AbortController): Promise<void> => {
  if (ended.signal.aborted) return
  const lines = terminal.asks ? terminal.lines() : undefined
  if (lines !== undefined) terminal.tell(['press Enter for a new address, Ctrl-C to stop'])
  lines?.on('line', () => void terminal.print([served.open(path)]))
  lines?.on('SIGINT', () => ended.abort())
  await new Promise<void>((stop) => ended.signal.addEventListener('abort', () => stop()))
  lines?.close()
}
