/** A proxy between programs and their model providers, which shows a recorder what goes by. */
import {
  createServer,
  request as httpRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { request as httpsRequest, Agent as HttpsAgent } from 'node:https'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import type { Recorder } from '../recorder.ts'
import { mostPlain } from '../body.ts'
import { apiOf } from '../wire.ts'

/** Where the calls of a provider go: the first part of a path of the proxy, and the address that stands for it. */
export interface Upstream {
  /** The first part of the path. */
  readonly name: string
  /** Without a slash at its end. */
  readonly url: string
  /** The address by the rest of a path, where it depends on it. Default: `url`. */
  readonly urlOf?: (path: string) => string
}

/** How a proxy works. */
export interface ProxyOptions {
  /** What it listens on. Everything but loopback can be reached by others: give a token then. */
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
  /** What every path begins with, so that nobody else on the machine uses the proxy; empty: nothing. */
  readonly token: string
  /** Where calls may go. */
  readonly upstreams: readonly Upstream[]
  /** The recorder of a request; undefined: it is not recorded. */
  readonly recorderOf: (request: IncomingMessage) => Recorder | undefined
}

/** A proxy that listens. */
export interface Proxy {
  /** The port that it listens on. */
  readonly port: number
  /** What stands for an upstream. */
  readonly urlOf: (name: string) => string
  /** Take no new calls, and end those that run. */
  readonly close: () => Promise<void>
}

/** Headers between two neighbours only. Source: RFC 9110, section 7.6.1 */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Start a proxy. Calls and their answers go through byte for byte and as they come; its neighbours' headers
 * (`connection` and the like) and `host` are its own. HTTP_PROXY, HTTPS_PROXY and NO_PROXY are honoured by Node 22.21 and
 * 24.5 and later. WebSockets go through and are not recorded, but for those of a path whose posts are: they are refused with
 * 426, and clients that would have a conversation there post it.
 *
 * @throws Error if it can't listen there
 */
export const startProxy = async ({ host, port, token, upstreams, recorderOf }: ProxyOptions): Promise<Proxy> => {
  // Node reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY where `proxyEnv` is known to it: from 22.21 and 24.5 on.
  const agentOptions = { keepAlive: true, proxyEnv: process.env }
  const agents = { 'http:': new HttpAgent(agentOptions), 'https:': new HttpsAgent(agentOptions) }
  const start = token === '' ? '/' : `/${token}/`

  /** The address that a path stands for. */
  const addressOf = (path: string): URL | undefined => {
    if (!path.startsWith(start)) return undefined
    const [, name, rest = ''] = /^([^/?]+)(.*)$/s.exec(path.slice(start.length)) ?? []
    const upstream = upstreams.find((one) => one.name === name)
    return upstream === undefined ? undefined : new URL((upstream.urlOf?.(rest) ?? upstream.url) + rest)
  }

  const forward = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const address = addressOf(incoming.url ?? '')
    if (address === undefined) {
      incoming.resume()
      outgoing.writeHead(404, { 'content-type': 'application/json' })
      outgoing.end(
        JSON.stringify({ error: { message: `indelible record: no provider stands at ${incoming.url ?? ''}` } }),
      )
      return
    }
    const call = recorderOf(incoming)?.observe({
      method: incoming.method ?? 'GET',
      url: address.href,
      header: (name) => headerOf(incoming, name),
    })
    const send = address.protocol === 'https:' ? httpsRequest : httpRequest
    const asking = send(address, {
      method: incoming.method,
      headers: headersFor(incoming, address),
      agent: agents[address.protocol as keyof typeof agents],
    })
    const body: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => {
      if (call !== undefined) body.push(chunk)
      if (!asking.write(chunk)) {
        incoming.pause()
        asking.once('drain', () => incoming.resume())
      }
    })
    incoming.on('end', () => {
      asking.end()
      call?.sent(Buffer.concat(body))
      body.length = 0
    })
    const broken = (cause: unknown): void => {
      call?.fail(cause)
      asking.destroy()
      if (outgoing.headersSent) outgoing.destroy()
      else {
        outgoing.writeHead(502, { 'content-type': 'application/json' })
        outgoing.end(
          JSON.stringify({
            error: { message: `indelible record: ${address.origin} can't be reached: ${String(cause)}` },
          }),
        )
      }
    }
    asking.on('error', broken)
    asking.on('upgrade', (_, socket) => {
      socket.destroy()
      broken('it switches to another protocol, which nobody asked it to do')
    })
    incoming.on('error', broken)
    outgoing.on('close', () => {
      if (outgoing.writableFinished) return
      call?.fail('the client closed the connection')
      asking.destroy()
    })
    asking.on('response', (answer) => {
      answer.on('error', broken)
      const { statusCode = 0 } = answer
      if (statusCode < 100) return broken(`it answers with the status ${statusCode}`)
      call?.answered(statusCode, (name) => headerOf(answer, name))
      outgoing.writeHead(statusCode, reasonIn(answer), rawHeaders(answer))
      outgoing.flushHeaders()
      answer.on('data', (chunk: Buffer) => {
        call?.chunk(chunk)
        if (!outgoing.write(chunk)) {
          answer.pause()
          outgoing.once('drain', () => answer.resume())
        }
      })
      answer.on('end', () => {
        call?.end()
        outgoing.end()
      })
    })
  }

  const server = createServer(forward)
  server.requestTimeout = 0 // a model may think for long, and so may a client
  const sockets = new Set<{ readonly destroy: () => unknown }>()
  server.on('upgrade', (incoming, socket, head) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    // WebSockets of Realtime go through; they are not recorded.
    const address = addressOf(incoming.url ?? '')
    if (address === undefined) {
      socket.destroy()
      return
    }
    // A conversation over a WebSocket could not be recorded. Codex and others then post their requests.
    if (apiOf({ method: 'POST', url: address.href }) !== undefined) {
      socket.end('HTTP/1.1 426 Upgrade Required\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
      return
    }
    recorderOf(incoming)?.observe({ method: 'GET', url: address.href, header: () => undefined })
    const send = address.protocol === 'https:' ? httpsRequest : httpRequest
    const asking = send(address, {
      headers: { ...headersFor(incoming, address), connection: 'upgrade', upgrade: incoming.headers.upgrade },
    })
    asking.on('upgrade', (answer, upstream, rest) => {
      const lines = pairs(answer.rawHeaders).map(([name, value]) => `${name}: ${value}`)
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`)
      if (rest.length > 0) socket.write(rest)
      if (head.length > 0) upstream.write(head)
      upstream.on('error', () => socket.destroy())
      upstream.on('close', () => socket.destroy())
      socket.on('close', () => upstream.destroy())
      if (socket.destroyed) upstream.destroy()
      else upstream.pipe(socket).pipe(upstream)
    })
    asking.on('response', (answer) => {
      // It was refused.
      const lines = pairs([...rawHeaders(answer), 'connection', 'close']).map(([name, value]) => `${name}: ${value}`)
      socket.write(`HTTP/1.1 ${answer.statusCode} ${reasonIn(answer)}\r\n${lines.join('\r\n')}\r\n\r\n`, 'latin1')
      answer.on('error', () => socket.destroy())
      answer.pipe(socket)
    })
    asking.on('error', () => socket.destroy())
    socket.on('close', () => asking.destroy())
    asking.end()
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
      agents['http:'].destroy()
      agents['https:'].destroy()
    },
  }
}

const headerOf = ({ headers }: IncomingMessage, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

const pairs = (raw: readonly string[]): readonly (readonly [string, string])[] =>
  Array.from({ length: raw.length / 2 }, (_, index) => [raw[index * 2] as string, raw[index * 2 + 1] as string])

/** The headers of a request as they came, but for those between neighbours. */
const headersFor = (incoming: IncomingMessage, address: URL): { [name: string]: string | string[] } => {
  const headers = new Map<string, readonly [name: string, values: readonly string[]]>()
  for (const [name, value] of pairs(incoming.rawHeaders)) {
    const lower = name.toLowerCase()
    if (hopByHop.has(lower) || lower === 'host') continue
    const [written, values] = headers.get(lower) ?? [name, []]
    headers.set(lower, [written, [...values, value]])
  }
  const sent = [...headers.values()].map(([name, values]) => [name, values.length === 1 ? values[0] : values] as const)
  return Object.fromEntries([...sent, ['host', address.host]]) as { [name: string]: string | string[] }
}

/** The words behind a status, without what can't be sent. */
const reasonIn = ({ statusMessage = '' }: IncomingMessage): string =>
  statusMessage.replaceAll(/[^\t -~\u0080-\u00ff]/g, ' ')

const rawHeaders = (answer: IncomingMessage): string[] =>
  pairs(answer.rawHeaders).flatMap(([name, value]) => (hopByHop.has(name.toLowerCase()) ? [] : [name, value]))

type Read = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Promise<Uint8Array>

const readers: { readonly [encoding: string]: Read | undefined } = {
  gzip: promisify(zlib.gunzip),
  'x-gzip': promisify(zlib.gunzip),
  deflate: promisify(zlib.inflate),
  br: promisify(zlib.brotliDecompress),
  zstd: promisify(zlib.zstdDecompress),
}

/**
 * Bytes in any encoding that Node reads. Throws Error on another, and on more than `limit` bytes.
 *
 * @param encoding the `content-encoding`
 * @param bytes the body
 * @param limit the most bytes that are read of it. Default: 268,435,456
 * @returns the bytes
 */
export const decompress = async (
  encoding: string,
  bytes: Uint8Array,
  limit: number = mostPlain,
): Promise<Uint8Array> => {
  let plain = bytes
  for (const one of encoding.toLowerCase().split(',').toReversed()) {
    const read = readers[one.trim()]
    if (read === undefined) throw new Error(`the encoding ${JSON.stringify(one.trim())} can't be read`)
    plain = await read(plain, { maxOutputLength: limit })
  }
  return plain
}
