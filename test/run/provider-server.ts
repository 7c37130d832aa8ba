/** A provider on loopback: real HTTP and server-sent events, with what it says scripted, and damage where it is asked for. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the server says to one request. */
export interface Reply {
  /** Default 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A whole body, as JSON. */
  readonly body?: unknown
  /** Streamed events, each the JSON text of one. */
  readonly events?: readonly string[]
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
    let text = ''
    for await (const chunk of incoming) text += String(chunk)
    const request: Request = {
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: JSON.parse(text) as Request['body'],
    }
    requests.push(request)
    const {
      status = 200,
      headers = {},
      body,
      events,
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
    response.writeHead(status, { 'content-type': 'text/event-stream', ...headers })
    const bytes = Buffer.from(eventStream(events, request.path, hang))
    const end = Math.min(bytes.length, cutAfter)
    for (let at = 0; at < end; at += pieces) {
      if (response.destroyed) return
      response.write(bytes.subarray(at, Math.min(at + pieces, end)))
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause))
    }
    if (hang) return
    if (end < bytes.length && broken) response.destroy()
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

/** Events as the providers frame them: Chat Completions ends with a line of its own, the others name each event. */
const eventStream = (events: readonly string[], path: string, open: boolean): string => {
  if (path.endsWith('/chat/completions'))
    return [...events, ...(open ? [] : ['[DONE]'])].map((event) => `data: ${event}\n\n`).join('')
  return events
    .map((event) => `event: ${/"type":\s*"([^"]+)"/.exec(event)?.[1] ?? 'message'}\ndata: ${event}\n\n`)
    .join('')
}
