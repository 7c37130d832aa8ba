/** A provider on loopback: real HTTP and server-sent events, with what it says scripted, and damage where it is asked for. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { zstdDecompressSync } from 'node:zlib'

/** What the server says to one request. */
export interface Reply {
  /** Default 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A whole body, as JSON. */
  readonly body?: unknown
  /** Streamed events, each the JSON text of one. */
  readonly events?: readonly string[]
  /** Send the events as one list of JSON, as Gemini does without `alt=sse`. */
  readonly list?: boolean
  /** Stop after so many bytes of the stream. */
  readonly cutAfter?: number
  /** Whether a stream that stops early breaks the connection, or ends it in good order. Default: it breaks it. */
  readonly broken?: boolean
  /** Send the events, and then nothing more, with the connection open. */
  readonly hang?: boolean
  /** Send the stream in pieces of so many bytes, with a pause between. */
  readonly pieces?: number
  readonly pause?: number
}

/** Answers of a server that is not the provider's, as behind a wrong base URL. */
export const foreignReplies: readonly Reply[] = [
  { body: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } },
  { body: { hello: 1 } },
  { events: [] },
]

export interface Request {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: { readonly [field: string]: unknown }
}

export interface ProviderServer {
  readonly url: string
  readonly requests: readonly Request[]
  readonly close: () => Promise<void>
}

/** @param reply what to say; asked once a request */
export const providerServer = async (reply: (request: Request) => Reply): Promise<ProviderServer> => {
  const requests: Request[] = []
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    const text = String(incoming.headers['content-encoding'] === 'zstd' ? zstdDecompressSync(bytes) : bytes)
    const request: Request = {
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: (text === '' ? {} : JSON.parse(text)) as Request['body'],
    }
    requests.push(request)
    const {
      status = 200,
      headers = {},
      body,
      events,
      list = false,
      cutAfter = Infinity,
      broken = true,
      hang = false,
      pieces = Infinity,
      pause = 0,
    } = reply(request)
    if (events === undefined) {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
      return
    }
    response.writeHead(status, { 'content-type': list ? 'application/json' : 'text/event-stream', ...headers })
    const stream = Buffer.from(list ? `[${events.join('\n,\r\n')}\n]` : eventStream(events, request.path, hang))
    const end = Math.min(stream.length, cutAfter)
    for (let at = 0; at < end; at += pieces) {
      if (response.destroyed) return
      response.write(stream.subarray(at, Math.min(at + pieces, end)))
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause))
    }
    if (hang) return
    if (end < stream.length && broken) response.destroy()
    else response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Events as the providers frame them: Chat Completions ends with a line of its own, Gemini names none, the others name each event. */
const eventStream = (events: readonly string[], path: string, open: boolean): string => {
  if (path.endsWith('/chat/completions'))
    return [...events, ...(open ? [] : ['[DONE]'])].map((event) => `data: ${event}\n\n`).join('')
  if (path.includes(':streamGenerateContent')) return events.map((event) => `data: ${event}\r\n\r\n`).join('')
  if (path.includes('enerateContent')) return events.map((event) => `data: ${event}\r\n\r\n`).join('')
  return events
    .map((event) => `event: ${/"type":\s*"([^"]+)"/.exec(event)?.[1] ?? 'message'}\ndata: ${event}\n\n`)
    .join('')
}
