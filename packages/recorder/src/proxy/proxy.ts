/** A proxy between programs and their model providers that passes the traffic to a recorder. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { Duplex } from 'node:stream'
import type { Either } from 'fp-ts/lib/Either.js'
import { whyRefused } from '../guard/index.ts'
import { isLeft, left, optionsOf, type OptionNames } from 'indelible/internal/json'
import type { ObservedCall } from '../observed-call.ts'
import type { Recorder } from '../recorder.ts'
import { apiOf } from '../requests/wire.ts'
import { openConnections } from './connections.ts'
import { forward, refuse } from './forward.ts'
import { headerOf } from './headers.ts'
import { targetOf, type Refusal, type Target, type Upstream } from './target.ts'
import { hasBody, refuseSocket, tunnel, wantsWebSocket, withoutUpgrade } from './upgrade.ts'

/** The options of a proxy. */
export interface ProxyOptions {
  /** The address to listen on. Except for loopback addresses, other machines can reach it: set a token then. */
  readonly host: string
  /** The port. 0: any free one. */
  readonly port: number
  /**
   * The first part of every path, so that nobody else on the machine can use the proxy; empty for
   * none. Without a token, browser requests from other sites are refused with 403: their `host`
   * must be this machine, and their `origin` the proxy.
   */
  readonly token: string
  /** The providers that calls may go to. */
  readonly upstreams: readonly Upstream[]
  /** The recorder for a request; undefined if it is not recorded. */
  readonly recorderOf: (request: IncomingMessage) => Pick<Recorder, 'observe'> | undefined
}

/** A running proxy. */
export interface Proxy {
  /** The port that it listens on. */
  readonly port: number
  /** The proxy's URL for an upstream. */
  readonly urlOf: (name: string) => string
  /** Stop accepting calls, and end the running ones. */
  readonly close: () => Promise<void>
}

/**
 * Start a proxy. Calls and their answers pass through byte for byte, without delay. Hop-by-hop headers (`connection`
 * and others), `host` and the framing of a body are its own: `transfer-encoding` is `chunked` or refused with 501,
 * and a path that leaves the provider's address is refused with 400. HTTP_PROXY, HTTPS_PROXY and NO_PROXY are
 * honored on Node 22.21 and 24.5 and later. WebSockets pass through unrecorded, except on a path whose posts are
 * recorded: there they are refused with 426, and clients post their requests instead. Other upgrades are ignored.
 *
 * @throws Error if it can't listen on the address
 */
export const startProxy = async (options: ProxyOptions): Promise<Proxy> => {
  const { host, port, token, upstreams, recorderOf } = optionsOf('startProxy', options, optionNames)
  for (const name of ['host', 'port', 'token', 'upstreams', 'recorderOf'] as const)
    if (options[name] === undefined) throw new TypeError(`startProxy needs the option \`${name}\``)
  const connections = openConnections()
  const start = token === '' ? '/' : `/${token}/`
  /** Answers that are not complete. */
  const open = new Set<ServerResponse>()

  const admitRequest = ({ url = '', headers }: IncomingMessage): Either<Refusal, Target> => {
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

  // Node before 24.9 ignores this option; there the upgrade listener puts other upgrades back.
  const server = createServer({ shouldUpgradeCallback: wantsWebSocket }, (incoming, outgoing) => {
    open.add(outgoing)
    outgoing.on('close', () => open.delete(outgoing))
    const target = admitRequest(incoming)
    if (isLeft(target)) return refuse(incoming, outgoing, target.left)
    try {
      forward(incoming, outgoing, target.right, connections, () => observe(incoming, target.right))
    } catch (cause) {
      // For example, Node's client refuses to send it. No request may end the process.
      if (outgoing.headersSent) outgoing.destroy()
      else refuse(incoming, outgoing, { status: 400, reason: `the request can't be forwarded: ${String(cause)}` })
    }
  })
  server.requestTimeout = 0 // a model may take long to answer, and a client long to send
  const sockets = new Set<Duplex>()

  const onUpgrade = (incoming: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const target = admitRequest(incoming)
    if (isLeft(target)) return refuseSocket(socket, target.left.status)
    if (hasBody(incoming)) return refuseSocket(socket, 400)
    // A conversation over a WebSocket can't be recorded. Codex and other clients then post their requests.
    if (apiOf({ method: 'POST', url: target.right.url.href }) !== undefined) return refuseSocket(socket, 426)
    observe(incoming, target.right) // only to count it
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
      onUpgrade(incoming, socket, head)
    } catch {
      refuseSocket(socket, 400)
    }
  })
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    if ([...open].some(({ req, headersSent }) => req.socket === socket && headersSent)) return void socket.destroy()
    if (code === 'HPE_PAUSED_H2_UPGRADE')
      refuseSocket(socket, 505, 'this proxy speaks HTTP/1.1, but the client sent HTTP/2')
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
      const broken = [...open].map((outgoing) => new Promise((resolve) => outgoing.on('close', resolve)))
      server.closeAllConnections()
      for (const socket of sockets) socket.destroy() // Node's server does not track upgraded sockets
      await new Promise((resolve) => server.close(resolve))
      connections.close()
      // The end of each open call is reported before this resolves: `close` of a request follows that of its answer.
      await Promise.all(broken)
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

/** The status for input that can't be parsed, as in Node's server. */
const statusOf = (code: string | undefined): number =>
  code === 'HPE_HEADER_OVERFLOW'
    ? 431
    : code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW'
      ? 413
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 408
        : 400

const optionNames: OptionNames<ProxyOptions> = {
  host: true,
  port: true,
  token: true,
  upstreams: true,
  recorderOf: true,
}
