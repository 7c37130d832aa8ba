/** A `fetch` as a server on loopback, for clients and programs that take only an address. */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { checkArgument, optionsOf } from 'indelible/internal/json'
import { reasonOf } from 'indelible/internal/task'
import { decompressBytes, isIdentity, mostPlain, type Decompress } from '../answers/body.ts'
import type { Fetch } from '../fetch.ts'
import { whyRefused } from '../guard/index.ts'
import { apiOf } from '../requests/wire.ts'
import { refusalHeaders } from './fetch.ts'

/**
 * Start a server on this machine that answers with a replaying `fetch`, for clients that take no `fetch` of their own, such as
 * Gemini's. Its address has a secret, so that no other program finds it; requests of web pages are refused, and so are
 * WebSockets.
 *
 * @param fetch answers the requests. It is not closed with the server
 * @param options `upstream`: the provider's address, where calls that are recorded go. Default: for calls of Gemini's API, its address
 * @returns the address for the client, and a function that ends the server and its open answers
 * @throws TypeError for anything but a function and these options
 * @example
 * const server = await startReplayServer(fetch)
 * const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: server.url } })
 * await server.close()
 */
export const startReplayServer = async (
  fetch: Fetch,
  options: { readonly upstream?: string } = {},
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> => {
  checkArgument('startReplayServer', typeof fetch === 'function', 'a function like `fetch`', fetch)
  const { upstream } = optionsOf('startReplayServer', options, { upstream: true })
  const isUrl =
    upstream === undefined || (typeof upstream === 'string' && /^https?:$/.test(URL.parse(upstream)?.protocol ?? ''))
  checkArgument('startReplayServer', isUrl, '`upstream` as the address of a provider', upstream)
  const isGemini = (path: string): boolean => apiOf({ method: 'POST', url: `http://${path}` })?.name === 'gemini'
  return serveFetch((url, init) => {
    const { pathname, search } = new URL(String(url))
    const base = upstream ?? (isGemini(pathname) ? geminiUrl : unknownUrl)
    return fetch(`${base.replace(/\/+$/, '')}${pathname}${search}`, init).catch((cause: unknown) => {
      throw base === unknownUrl
        ? new Error(`${reasonOf(cause)}; to record, name the provider: startReplayServer(fetch, { upstream })`)
        : cause
    })
  }, decompressBytes)
}

const geminiUrl = 'https://generativelanguage.googleapis.com'
const unknownUrl = 'http://provider.invalid'

/**
 * A `fetch` as a server. The URLs that it gets have the paths of the requests.
 *
 * @param decompress decodes compressed requests
 * @param onDelivered called after each answer was sent, or could not be
 */
export const serveFetch = async (
  fetch: Fetch,
  decompress: Decompress,
  onDelivered?: () => void,
): ReturnType<typeof startReplayServer> => {
  const start = `/${randomBytes(12).toString('hex')}`
  const server = createServer((incoming, outgoing) => {
    if (onDelivered !== undefined) outgoing.on('close', onDelivered)
    respond(incoming, outgoing, start, fetch, decompress).catch((cause: unknown) => {
      if (outgoing.headersSent) outgoing.destroy()
      else refuse(incoming, outgoing, 502, (cause as Error).message)
    })
  })
  server.on('upgrade', (_, socket) => {
    // Programs then post their requests.
    socket.end('HTTP/1.1 426 Upgrade Required\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return Object.freeze({
    url: `http://127.0.0.1:${port}${start}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}

const respond = async (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  start: string,
  fetch: Fetch,
  decompress: Decompress,
): Promise<void> => {
  const { method = 'GET', url = '', headers } = incoming
  const reason = whyRefused(headers, '127.0.0.1', hostname())
  if (reason !== undefined) return refuse(incoming, outgoing, 403, reason)
  if (!url.startsWith(`${start}/`))
    return refuse(incoming, outgoing, 404, 'the address lacks the secret of this server')
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming) {
    length += (chunk as Buffer).length
    if (length > mostPlain) return refuse(incoming, outgoing, 413, `the request is longer than ${mostPlain} bytes`)
    chunks.push(chunk as Buffer)
  }
  const encoding = headers['content-encoding']
  const sent = Buffer.concat(chunks)
  const body = isIdentity(encoding) ? sent : await decompress(encoding as string, sent)
  const aborted = new AbortController()
  outgoing.on('close', () => aborted.abort())
  const response = await fetch(`http://127.0.0.1${url.slice(start.length)}`, {
    method,
    headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined || ownHeaders.has(name) ? [] : [[name, [value].flat().join(', ')]],
    ),
    ...(method !== 'GET' && method !== 'HEAD' && { body: new Uint8Array(body) }),
    signal: aborted.signal,
  })
  // `fetch` has decoded the body.
  outgoing.writeHead(
    response.status,
    Object.fromEntries([...response.headers].filter(([name]) => !ownHeaders.has(name))),
  )
  if (response.body === null) return void outgoing.end()
  await pipeline(Readable.fromWeb(response.body as never), outgoing)
}

/** Headers of one connection, and of a body's form in it. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'keep-alive', 'expect', 'upgrade', 'te', 'trailer', 'proxy-connection'],
  ...['accept-encoding', 'content-encoding', 'content-length', 'transfer-encoding'],
])

const refuse = (incoming: IncomingMessage, outgoing: ServerResponse, status: number, reason: string): void => {
  incoming.resume()
  outgoing.writeHead(status, refusalHeaders)
  outgoing.end(JSON.stringify({ error: { message: `Refused: ${reason}.` } }))
}
