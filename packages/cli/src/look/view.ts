/** `indelible view`: shows the sessions of a store as a page in the browser. */
import { describeSession } from 'indelible/session'
import { startView, type View } from '@indelible/view'
import { Misuse, Unreadable, wholeNumber, type Command, type Terminal } from '../terminal/command.ts'
import { valueOrUnreadable, storeOption, withStore } from '../sources/place.ts'
import { onStop, openInBrowser } from '../terminal/program.ts'
import { sessionOrAdvice } from '../sources/sessions.ts'
import { defaultStorePath, storeName, storeOptionOf } from '../sources/store.ts'
import { trustOf, trustOptions } from '../sources/trust.ts'
import { version } from '../terminal/version.ts'

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
    const name = storeName(storeOptionOf(values, terminal) ?? defaultStorePath(terminal.env))
    await withStore(call, {}, async (store) => {
      const id = named === undefined ? undefined : await sessionOrAdvice(store, named, terminal)
      if (id !== undefined) await valueOrUnreadable(describeSession(store, id))
      const served = await startView({ store, name, version: version(), host, port, ...(trust && { trust }) }).catch(
        (cause: Error) => {
          const reason = listenErrors[(cause as NodeJS.ErrnoException).code ?? '']?.(host, port)
          throw new Unreadable(reason ?? cause.message)
        },
      )
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
    })
  },
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
  const lines = terminal.asks ? terminal.lines('') : undefined
  if (lines !== undefined) terminal.tell(['press Enter for a new address, Ctrl-C to stop'])
  lines?.on('line', () => void terminal.print([served.open(path)]))
  lines?.on('SIGINT', () => ended.abort())
  await new Promise<void>((stop) => ended.signal.addEventListener('abort', () => stop()))
  lines?.close()
}
