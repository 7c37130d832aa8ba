/** A proxy between programs and their model providers, which shows a recorder what goes by. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { Duplex } from 'node:stream'
import type { Either } from 'fp-ts/lib/Either.js'
import { whyRefused } from '../guard/index.ts'
import { isLeft, left } from 'indelible/json/kit'
import type { ObservedCall } from '../observed-call.ts'
import type { Recorder } from '../recorder.ts'
import { apiOf } from '../wire.ts'
import { openConnections } from './connections.ts'
import { forward, refuse } from './forward.ts'
import { headerOf } from './headers.ts'
import { targetOf, type Refusal, type Target, type Upstream } from './target.ts'
import { hasBody, refuseSocket, tunnel, wantsWebSocket, withoutUpgrade } from './upgrade.ts'

/** How a proxy works. */
export interface ProxyOptions {
  /** The address to listen on. Other machines can reach every address but loopback: set a token for these. */
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
  /**
   * The first part of every path, so that nobody else on the machine can use the proxy; empty: none. Without one,
   * requests of other sites in a browser are refused with 403: their `host` must lead to this machine, and their
   * `origin` be the proxy.
   */
  readonly token: string
  /** The providers that calls may go to. */
  readonly upstreams: readonly Upstream[]
  /** The recorder of a request; undefined: it is not recorded. */
  readonly recorderOf: (request: IncomingMessage) => Pick<Recorder, 'observe'> | undefined
}

/** A proxy that listens. */
export interface Proxy {
  /** The port that it listens on. */
  readonly port: number
  /** The proxy's address for an upstream, by its name. */
  readonly urlOf: (name: string) => string
  /** Take no new calls, and end those that run. */
  readonly close: () => Promise<void>
}

/**
 * Start a proxy. Calls and their answers pass through byte for byte, without delay. Hop-by-hop headers (`connection`
 * and others), `host` and the framing of a body are its own: `transfer-encoding` is `chunked` or refused with 501, and
 * a path that leaves the provider's address is refused with 400. HTTP_PROXY, HTTPS_PROXY and NO_PROXY are honoured by
 * Node 22.21 and 24.5 and later. WebSockets go through and are not recorded, but for those of a path whose posts are:
 * they are refused with 426, and clients that would have a conversation there post it. Other upgrades are ignored.
 *
 * @throws Error if it can't listen there
 */
export const startProxy = async ({ host, port, token, upstreams, recorderOf }: ProxyOptions): Promise<Proxy> => {
  const connections = openConnections()
  const start = token === '' ? '/' : `/${token}/`
  /** The answers that are not whole. */
  const open = new Set<ServerResponse>()

  const allowed = ({ url = '', headers }: IncomingMessage): Either<Refusal, Target> => {
    const reason = token === '' ? whyRefused(headers, host, hostname()) : undefined
    return reason === undefined ? targetOf(url, start, upstreams) : left({ status: 403, reason: `refused: ${reason}` })
  }

  /** The traffic continues even if the recorder fails. */
  const observe = (incoming: IncomingMessage, { url }: Target): ObservedCall | undefined => {
    try {
      return recorderOf(incoming)?.observe({
        method: incoming.method ?? 'GET',
        url: url.href,
        header: (name) => headerOf(incoming, name),
      })
    } catch {
      return undefined
    }
  }

  // Nodes before 24.9 don't know the option: there the listener of upgrades puts the others back.
  const server = createServer({ shouldUpgradeCallback: wantsWebSocket }, (incoming, outgoing) => {
    open.add(outgoing)
    outgoing.on('close', () => open.delete(outgoing))
    const target = allowed(incoming)
    if (isLeft(target)) return refuse(incoming, outgoing, target.left)
    try {
      forward(incoming, outgoing, target.right, connections, () => observe(incoming, target.right))
    } catch (cause) {
      // Such as what Node's client refuses to send. No request ends the process.
      if (outgoing.headersSent) outgoing.destroy()
      else refuse(incoming, outgoing, { status: 400, reason: `the request can't be forwarded: ${String(cause)}` })
    }
  })
  server.requestTimeout = 0 // a model may think for long, and so may a client
  const sockets = new Set<Duplex>()

  const upgraded = (incoming: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const target = allowed(incoming)
    if (isLeft(target)) return refuseSocket(socket, target.left.status)
    if (hasBody(incoming)) return refuseSocket(socket, 400)
    // A conversation over a WebSocket could not be recorded. Codex and others then post their requests.
    if (apiOf({ method: 'POST', url: target.right.url.href }) !== undefined) return refuseSocket(socket, 426)
    observe(incoming, target.right) // it is counted
    tunnel(incoming, socket, head, target.right, connections)
  }
  server.on('upgrade', (incoming, socket, head) => {
    // Bytes written now would land in the middle of another answer.
    if ([...open].some(({ req }) => req.socket === socket)) return void socket.destroy()
    if (!wantsWebSocket(incoming)) {
      withoutUpgrade(incoming, socket, head)
      server.emit('connection', socket)
      return
    }
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    try {
      upgraded(incoming, socket, head)
    } catch {
      refuseSocket(socket, 400)
    }
  })
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    if ([...open].some(({ req, headersSent }) => req.socket === socket && headersSent)) return void socket.destroy()
    if (code === 'HPE_PAUSED_H2_UPGRADE') refuseSocket(socket, 505, 'it speaks HTTP/1.1, and this client HTTP/2')
    else refuseSocket(socket, statusOf(code))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: found } = server.address() as AddressInfo
  const name = host.includes(':') ? `[${host}]` : host
  return {
    port: found,
    urlOf: (upstream) => `http://${name}:${found}${start}${upstream}`,
    close: async () => {
      server.closeAllConnections()
      for (const socket of sockets) socket.destroy() // Node's server forgets those that were upgraded
      await new Promise((resolve) => server.close(resolve))
      connections.close()
    },
  }
}

/** The status for what can't be parsed, as Node's server chooses it. */
const statusOf = (code: string | undefined): number =>
  code === 'HPE_HEADER_OVERFLOW'
    ? 431
    : code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW'
      ? 413
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 408
        : 400
