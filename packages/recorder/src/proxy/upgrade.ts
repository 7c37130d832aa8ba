/** Upgrades: a WebSocket is tunneled on a separate connection; any other upgrade is handled as an ordinary request. */
import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Connections } from './connections.ts'
import { answerHeaders, headersFor, pairs, reasonIn } from './headers.ts'
import { bodyOf, type Target } from './target.ts'

/** Whether a request asks for a WebSocket; other upgrades may be ignored. Source: RFC 9110, 7.8; RFC 6455, 4.1 */
export const wantsWebSocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  (headers.upgrade ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .includes('websocket')

/** Whether a request has a body. A WebSocket handshake has none. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0

/** Put a request back into its connection without its upgrade. `head` is the data after its headers. */
export const withoutUpgrade = (
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void => {
  const lines = pairs(rawHeaders).flatMap(([name, value]) =>
    name.toLowerCase() === 'upgrade' ? [] : [`${name}: ${value}`],
  )
  const start = [`${method} ${url} HTTP/${httpVersion}`, ...lines, '', ''].join('\r\n')
  socket.unshift(Buffer.concat([Buffer.from(start, 'latin1'), head]))
}

/** Tunnel a WebSocket. `head` is the data that the client sent after its headers. */
export const tunnel = (
  incoming: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  to: Target,
  { askAlone }: Connections,
): void => {
  const asking = askAlone(to, {
    headers: { ...headersFor(incoming, to.url.host, {}), connection: 'upgrade', upgrade: 'websocket' },
  })
  asking.on('upgrade', (answer, upstream, rest) => {
    socket.write(headOf(101, 'Switching Protocols', answer.rawHeaders), 'latin1')
    socket.write(rest)
    upstream.write(head)
    upstream.on('error', () => socket.destroy())
    upstream.on('close', () => socket.destroy())
    socket.on('close', () => upstream.destroy())
    if (socket.destroyed) upstream.destroy()
    else upstream.pipe(socket).pipe(upstream)
  })
  asking.on('response', (answer) => {
    // The provider refused it.
    const headers = [...answerHeaders(answer), 'connection', 'close']
    socket.write(headOf(answer.statusCode as number, reasonIn(answer), headers), 'latin1')
    answer.on('error', () => socket.destroy())
    answer.pipe(socket)
  })
  asking.on('error', () => refuseSocket(socket, 502))
  socket.on('close', () => asking.destroy())
  asking.end()
}

/** Answer a connection that is not an ordinary request, and close it. */
export const refuseSocket = (socket: Duplex, status: number, reason?: string): void => {
  const body = reason === undefined ? '' : bodyOf(reason)
  const headers = ['connection', 'close', 'content-length', String(Buffer.byteLength(body))]
  if (socket.writable) socket.end(headOf(status, STATUS_CODES[status] ?? '', headers) + body)
}

const headOf = (status: number, reason: string, headers: readonly string[]): string =>
  [`HTTP/1.1 ${status} ${reason}`, ...pairs(headers).map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n')
