/** The proxy and odd requests: what the provider parses is what the client meant, and no answer reaches another. */
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { array, assert, asyncProperty, constantFrom, oneof, string } from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { afterEach, describe, expect, it } from 'vitest'
import { startProxy, type ProxyOptions } from '../../src/proxy/index.ts'
import { rounds } from '../../../../test/rounds.ts'
import { oddRequests, tryOdd } from './odd-requests.ts'
import { targetOf } from '../../src/proxy/target.ts'
import type { ObservedCall } from '../../src/observed-call.ts'
import { Client, startProvider } from './wire.ts'

describe('the proxy survives and correctly forwards or refuses:', () => {
  it.each(Object.entries(oddRequests))('%s', async (_, request) => {
    await expect(tryOdd(request)).resolves.toBeUndefined()
  })
})

const close: (() => unknown)[] = []
afterEach(async () => {
  while (close.length > 0) await close.pop()?.()
})

const proxyTo = async (url: string, options: Partial<ProxyOptions> = {}) => {
  const upstreams = [{ name: 'u', url }]
  const all = { host: '127.0.0.1', port: 0, token: '', upstreams, recorderOf: () => undefined, ...options }
  const proxy = await startProxy(all)
  close.push(() => proxy.close())
  return proxy
}
const provided = async () => {
  const provider = await startProvider()
  close.push(() => provider.close())
  return provider
}
/** The status of the answer to a request on a connection of its own. */
const statusOf = async (port: number, path: string, ...headers: readonly string[]): Promise<number> => {
  const client = new Client(port)
  await client.write([`GET ${path} HTTP/1.1`, 'x-id: a', ...headers, '', ''].join('\r\n'))
  const { status } = await client.answer()
  client.end()
  return status
}

describe('a proxy without a token', () => {
  it('accepts programs of this machine and refuses web pages', async () => {
    const provider = await provided()
    const { port } = await proxyTo(provider.url)
    const own = `host: 127.0.0.1:${port}`
    for (const headers of [
      [own],
      ['host: localhost'],
      [own, 'sec-fetch-site: none'],
      [own, `origin: http://127.0.0.1:${port}`],
    ])
      expect([headers, await statusOf(port, '/u/a', ...headers)]).toEqual([headers, 200])
    const upgrade = ['connection: upgrade', 'upgrade: websocket']
    for (const headers of [
      ['host: evil.example'],
      ['host: 192.168.0.7'],
      [own, 'origin: http://evil.example'],
      [own, 'origin: null'],
      [own, 'sec-fetch-site: cross-site'],
      [own, 'origin: http://evil.example', ...upgrade],
    ])
      expect([headers, await statusOf(port, '/u/socket', ...headers)]).toEqual([headers, 403])
    expect(provider.parsed).toHaveLength(4)
  })

  it('with a token accepts anyone who has it, by any name', async () => {
    const provider = await provided()
    const { port } = await proxyTo(provider.url, { token: 'a-long-token' })
    expect(await statusOf(port, '/a-long-token/u/a', 'host: host.docker.internal:8080')).toBe(200)
    expect(await statusOf(port, '/u/a', 'host: localhost')).toBe(404)
  })
})

/** Bytes that a provider might answer with, whole or broken. */
const answers = array(
  oneof(
    constantFrom(
      'HTTP/1.1 200 OK\r\n',
      'HTTP/1.1 100 Continue\r\n\r\n',
      'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      'HTTP/1.1 204 No Content\r\n',
      'HTTP/1.1 304 Not Modified\r\n',
      'HTTP/1.1 999 \xff\r\n',
      'HTTP/1.0 200\r\n',
      'content-length: 5\r\n',
      'content-length: 0\r\n',
      'transfer-encoding: chunked\r\n',
      'connection: content-length, x\r\n',
      'connection: close\r\n',
      'x: \xe9\t\x7f\r\n',
      'set-cookie: a\r\nset-cookie: b\r\n',
      '\r\n',
      '5\r\nhello\r\n0\r\n\r\n',
      '0\r\nx: y\r\n\r\n',
      'hello',
    ),
    string({ maxLength: 10, unit: 'binary-ascii' }),
  ),
  { maxLength: 8 },
)

it('the proxy answers or closes on any provider response, and continues', async () => {
  let answer = ''
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => socket.end(answer, 'latin1'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close.push(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { port } = await proxyTo(url)
  const ask = async (path: string, ...headers: readonly string[]): Promise<void> => {
    const client = new Client(port)
    await client.write([`GET ${path} HTTP/1.1`, 'host: localhost', ...headers, '', ''].join('\r\n'))
    await client.answer()
    client.end()
  }
  await assert(
    asyncProperty(answers, async (parts) => {
      answer = parts.join('')
      await ask('/u/a', 'connection: close')
      await ask('/u/socket', 'connection: upgrade', 'upgrade: websocket')
    }),
    { numRuns: rounds(60, 20_000) },
  )
  answer = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
  expect(await statusOf(port, '/u/a', 'host: localhost')).toBe(200)
})

it('an unsolicited response is not used for the next request', async () => {
  const sockets: Socket[] = []
  const answer = (text: string): string => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.on('data', () => socket.write(answer(`answer ${sockets.length}`)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close.push(() => server.close())
  const { port } = await proxyTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const client = new Client(port)
  const ask = (): Promise<void> => client.write('GET /u/a HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await ask()
  expect((await client.answer()).body).toBe('answer 1')
  const closed = new Promise((resolve) => sockets[0]?.on('close', resolve))
  sockets[0]?.write(answer('nobody asked'))
  await closed
  await ask()
  expect((await client.answer()).body).toBe('answer 2')
  client.end()
})

it('the client gets response headers before the body starts', async () => {
  let finish = (): void => undefined
  const server = createHttpServer((_, outgoing) => {
    outgoing.writeHead(200, { 'content-length': '4' }).flushHeaders()
    finish = () => outgoing.end('body')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close.push(() => server.close())
  const { port } = await proxyTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const answer = await fetch(`http://127.0.0.1:${port}/u/a`)
  finish() // the client has the head by now
  expect(await answer.text()).toBe('body')
})

it('trailers pass through, except framing and routing ones', async () => {
  const seen: unknown[] = []
  const server = createHttpServer((incoming, outgoing) => {
    incoming.resume()
    incoming.on('end', () => {
      seen.push(incoming.rawTrailers)
      outgoing.writeHead(200, { 'transfer-encoding': 'chunked' })
      outgoing.write('hi')
      outgoing.addTrailers([
        ['X-Sum', '9'],
        ['x-sum', '10'],
      ])
      outgoing.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close.push(() => server.close())
  const { port } = await proxyTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  for (const [version, body, behind] of [
    ['1.1', '2\r\nab\r\n', 'X-Sum: 9\r\nx-sum: 10\r\n'],
    ['1.1', '', 'X-Sum: 9\r\nx-sum: 10\r\n'],
    ['1.0', '2\r\nab\r\n', ''],
  ] as const) {
    const client = new Client(port)
    const head = [`POST /u/a HTTP/${version}`, 'host: localhost', 'transfer-encoding: chunked', 'connection: close']
    const trailers = 'X-Got: é\r\nHost: evil\r\nTrailer: x\r\n'
    await client.write([...head, '', `${body}0\r\n${trailers}\r\n`].join('\r\n'))
    await client.closed()
    expect(client.heard.split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe(
      version === '1.0' ? 'hi' : `2\r\nhi\r\n0\r\n${behind}\r\n`,
    )
  }
  expect(seen).toEqual(Array.from({ length: 3 }, () => ['X-Got', 'é']))
})

it('a client that speaks HTTP/2 gets a clear error', async () => {
  const { port } = await proxyTo('http://provider.invalid')
  const client = new Client(port)
  await client.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  expect(JSON.parse((await client.answer()).body)).toEqual({
    error: { message: 'indelible record: this proxy speaks HTTP/1.1, but the client sent HTTP/2' },
  })
})

it('a WebSocket uses the proxy from the environment', async () => {
  const seen: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => {
      seen.push(bytes.toString('latin1').split('\r\n')[0] ?? '')
      socket.end('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close.push(() => server.close())
  const before = process.env['http_proxy']
  process.env['http_proxy'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const proxy = await proxyTo('http://provider.invalid').finally(() => {
    if (before === undefined) delete process.env['http_proxy']
    else process.env['http_proxy'] = before
  })
  const status = await statusOf(proxy.port, '/u/socket', 'host: localhost', 'connection: upgrade', 'upgrade: websocket')
  expect([status, seen]).toEqual([407, ['GET http://provider.invalid/socket HTTP/1.1']])
})

it('traffic continues whatever the recorder does', async () => {
  const provider = await provided()
  const recorderOf = (): never => {
    throw new Error('broken')
  }
  const { port } = await proxyTo(provider.url, { recorderOf })
  expect(await statusOf(port, '/u/a', 'host: localhost')).toBe(200)
})

/** The events of one call that a recorder receives, in order. */
const toldOf = async (write: (client: Client) => Promise<void>): Promise<readonly string[]> => {
  const output: string[] = []
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
  let over = (): void => undefined
  const done = new Promise<void>((resolve) => (over = resolve))
  const call: ObservedCall = {
    piece: (bytes) => output.push(`piece ${text(bytes)}`),
    sent: (body) => output.push(`sent ${body instanceof Error ? body.message : 'whole'}`),
    answered: (status) => output.push(`answered ${status}`),
    chunk: () => output.push('chunk'),
    end: () => (output.push('end'), over()),
    fail: (reason) => (output.push(`fail ${String(reason)}`), over()),
    over: done,
  }
  const provider = await provided()
  const { port, close: end } = await proxyTo(provider.url, { recorderOf: () => ({ observe: () => call }) })
  const client = new Client(port)
  await write(client)
  await done
  client.end()
  await end() // nothing comes after it
  return output
}
const post = (path: string, length: number): string =>
  `POST /u/${path} HTTP/1.1\r\nhost: localhost\r\nx-id: a\r\ncontent-length: ${length}\r\n\r\n`

it('a recorder gets each part of a call once, and why it ended', async () => {
  expect(
    await toldOf(async (client) => {
      await client.write(`${post('a', 2)}ab`)
      await client.answer()
    }),
  ).toEqual(['piece ab', 'sent whole', 'answered 200', 'chunk', 'end'])
  expect(
    await toldOf(async (client) => {
      await client.write(post('a', 0))
      await client.answer()
    }),
  ).toEqual(['sent whole', 'answered 200', 'chunk', 'end'])
})

it('a client that disconnects during its request ends it at the provider', async () => {
  let leave = (): void => undefined
  let ended!: (whole: boolean) => void
  const end = new Promise<boolean>((resolve) => (ended = resolve))
  const server = createHttpServer((incoming) => {
    incoming.on('error', () => undefined).on('close', () => ended(incoming.complete))
    incoming.once('data', () => leave())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close.push(() => server.close())
  const { port } = await proxyTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const socket = connect(port, '127.0.0.1')
  leave = () => socket.destroy()
  socket.write(`${post('a', 4)}ab`)
  expect(await end).toBe(false)
})

it.each<readonly [path: string, leadsTo: string | number]>([
  ['/secret/a/v1/x?y=1', 'https://a.example/base/v1/x?y=1'],
  ['/secret/a', 'https://a.example/base'],
  ['/secret/a?b', 'https://a.example/base?b'],
  ['/secret/root/x', 'https://root.example/x'],
  ['/secret/root', 'https://root.example/'],
  ['/secret/by/west/x', 'https://west.example/by/west/x'],
  ['/secret/by/nowhere', 400],
  ['/secret/broken/x', 400],
  ['/wrongs/a/v1/x', 404], // as long as the right one
  ['/secret', 404],
  ['a/v1/x', 404],
  ['', 404],
  ['/secret/', 404],
  ['/secret/b/x', 404],
  ['/secret/A/x', 404],
  ['/secret/a/x#y', 400],
  ['/secret/a/../x', 400],
  ['/secret/a/%2e%2E/x', 400],
  ['/secret/a/x\\..', 400],
  ['/secret/a/..;x', 400],
  ['/secret/a/x?../..', 'https://a.example/base/x?../..'],
  ['/secret/a/..x', 'https://a.example/base/..x'],
  ['/secret/root@evil.example/x', 404],
])('the path %s leads to %s', (path, leadsTo) => {
  const upstreams = [
    { name: 'a', url: 'https://a.example/base' },
    { name: 'root', url: 'https://root.example' },
    {
      name: 'by',
      url: '',
      urlOf: (rest: string) => (rest.startsWith('/west') ? 'https://west.example/by' : undefined),
    },
    { name: 'broken', url: 'no address' },
  ]
  const found = targetOf(path, '/secret/', upstreams)
  if (isLeft(found)) return expect(found.left.status).toBe(leadsTo)
  const { url, path: below } = found.right
  expect([url.href, `${url.origin}${below}`]).toEqual([leadsTo, leadsTo])
})

it('a proxy that is closed accepts no connection', async () => {
  const proxy = await proxyTo('http://127.0.0.1:1')
  await proxy.close()
  await expect(fetch(`http://127.0.0.1:${proxy.port}/`)).rejects.toThrow('fetch failed')
})
