/** A server on loopback that passes the calls of a program to a function instead of a provider. */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { decompress, whyRefused } from '@indelible/recorder/internal/proxy'

/** Answers a request. `provider` is the name of the provider that the program means. */
export type AnswerRequest = (request: Request, provider: string) => Promise<Response>

export interface RerunServer {
  /** The address of a provider, for the program. */
  readonly urlOf: (provider: string) => string
  readonly close: () => Promise<void>
}

/**
 * Start the server. Its address has a secret; requests from web pages are refused, and so are WebSockets.
 *
 * @param delivered called after each answer was sent, or could not be
 */
export const startRerunServer = async (answer: AnswerRequest, delivered: () => void): Promise<RerunServer> => {
  const start = `/${randomBytes(12).toString('hex')}/`
  const server = createServer((incoming, outgoing) => {
    outgoing.on('close', delivered)
    void respond(incoming, outgoing, start, answer).catch((cause: unknown) => {
      if (outgoing.headersSent) outgoing.destroy()
      else refuse(outgoing, 502, (cause as Error).message)
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
  return {
    urlOf: (provider) => `http://127.0.0.1:${port}${start}${provider}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const mostBytes = 2 ** 28

const respond = async (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  start: string,
  answer: AnswerRequest,
): Promise<void> => {
  const { method = 'GET', url = '', headers } = incoming
  const reason = whyRefused(headers, '127.0.0.1', hostname())
  const [, provider, path = ''] = (url.startsWith(start) && /^([a-z]+)(.*)$/s.exec(url.slice(start.length))) || []
  if (reason !== undefined || provider === undefined) {
    incoming.resume()
    return refuse(outgoing, reason === undefined ? 404 : 403, reason ?? 'there is no provider at this address')
  }
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming) {
    length += (chunk as Buffer).length
    if (length > mostBytes) return refuse(outgoing, 413, `the request is longer than ${mostBytes} bytes`)
    chunks.push(chunk as Buffer)
  }
  const { 'content-encoding': encoding, ...rest } = headers
  const sent = Buffer.concat(chunks)
  const body = encoding === undefined ? sent : await decompress(encoding, sent)
  const aborted = new AbortController()
  outgoing.on('close', () => aborted.abort())
  const request = new Request(`http://${provider}${path.startsWith('/') ? path : `/${path}`}`, {
    method,
    headers: Object.entries(rest).flatMap(([name, value]): [string, string][] =>
      value === undefined || name === 'host' ? [] : [[name, [value].flat().join(', ')]],
    ),
    ...(method !== 'GET' && method !== 'HEAD' && { body: new Uint8Array(body) }),
    signal: aborted.signal,
  })
  const response = await answer(request, provider)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) return void outgoing.end()
  await pipeline(Readable.fromWeb(response.body as never), outgoing)
}

const refuse = (outgoing: ServerResponse, status: number, reason: string): void => {
  outgoing.writeHead(status, { 'content-type': 'application/json', 'x-should-retry': 'false' })
  outgoing.end(JSON.stringify({ error: { message: `indelible rerun: ${reason}` } }))
}
