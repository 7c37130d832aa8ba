/**
 * Requests that no well-meant client sends. None ends the proxy, none reaches a provider as another than it was meant, and
 * the next client is answered. As a program it runs all of them: `node --experimental-strip-types odd-requests.ts`, on the
 * oldest Node, too.
 */
import { strictEqual } from 'node:assert'
import { startProxy } from '../../src/proxy/index.ts'
import { createRecorder } from '../../src/index.ts'
import { vertexUrl } from '../../src/proxy/vertex.ts'
import { memoryStore } from 'indelible/store'
import { Client, startProvider } from './wire.ts'

/** What is written, the status of the answer, and what the provider parses. 0: the connection is closed at any time. */
interface OddRequest {
  readonly written: readonly string[]
  readonly status: number
  readonly parsed?: { readonly method: string; readonly path: string; readonly body?: string }
}

const hidden = 'GET /slow HTTP/1.1\r\nhost: x\r\n\r\n'
const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
const head = (line: string, ...headers: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'host: localhost', 'x-id: odd', ...headers, '', ''].join('\r\n')
const toUpgrade = ['connection: upgrade', 'upgrade: websocket'] as const
const withH2c = ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAMAAABkAAQCAAAAAAIAAAAA']

const smuggling = Object.fromEntries(
  ['GET', 'DELETE', 'OPTIONS', 'POST', 'PUT', 'PATCH'].map((method) => [
    `${method} with a request as its chunked body`,
    {
      written: [head(`${method} /u/a`, 'transfer-encoding: chunked'), chunked(hidden)],
      status: 200,
      parsed: { method, path: '/v1/a', body: hidden },
    },
  ]),
)

/** By what is odd. */
export const oddRequests: { readonly [name: string]: OddRequest } = {
  ...smuggling,
  'DELETE with a request as its body and a length': {
    written: [head('DELETE /u/a', `content-length: ${hidden.length}`) + hidden],
    status: 200,
    parsed: { method: 'DELETE', path: '/v1/a', body: hidden },
  },
  'connection names the framing': {
    written: [head('DELETE /u/a', 'connection: content-length, keep-alive', 'content-length: 3'), 'abc'],
    status: 200,
    parsed: { method: 'DELETE', path: '/v1/a', body: 'abc' },
  },
  'TRACE with a body': { written: [head('TRACE /u/a', 'content-length: 3'), 'abc'], status: 400 },
  'an encoding of transfer that nobody here reads': {
    written: [head('POST /u/a', 'transfer-encoding: gzip, chunked'), chunked('abc')],
    status: 501,
  },
  'two framings': {
    written: [head('POST /u/a', 'content-length: 3', 'transfer-encoding: chunked') + chunked('abc')],
    status: 400,
  },
  'an answer that comes before the body': {
    written: [head('POST /u/early', `content-length: ${hidden.length}`), hidden],
    status: 200,
    parsed: { method: 'POST', path: '/v1/early' },
  },
  'a WebSocket with a body': {
    written: [head('GET /u/socket', ...toUpgrade, 'content-length: 400')],
    status: 400,
  },
  'a WebSocket that the provider refuses': {
    written: [head('GET /u/x', ...toUpgrade)],
    status: 403,
    parsed: { method: 'GET', path: '/v1/x' },
  },
  'a WebSocket to an invalid host': { written: [head('GET /vertex/v1/locations/xn--a/x', ...toUpgrade)], status: 400 },
  'an invalid host': { written: [head('GET /vertex/v1/locations/xn--a/x')], status: 400 },
  'an upgrade to h2c with a body': {
    written: [head('POST /u/chat/completions', ...withH2c, 'content-length: 13'), '{"input":"x"}'],
    status: 200,
    parsed: { method: 'POST', path: '/v1/chat/completions', body: '{"input":"x"}' },
  },
  'an upgrade to h2c without one': {
    written: [head('GET /u/a', ...withH2c)],
    status: 200,
    parsed: { method: 'GET', path: '/v1/a' },
  },
  'a POST that asks for a WebSocket': {
    written: [head('POST /u/a', ...toUpgrade, 'transfer-encoding: chunked') + chunked('abc')],
    status: 200,
    parsed: { method: 'POST', path: '/v1/a', body: 'abc' },
  },
  'an upgrade behind a request that is not answered': {
    written: [head('GET /u/late') + head('GET /u/socket', ...toUpgrade)],
    status: 0,
  },
  'a path that leaves the address': { written: [head('GET /u/../../admin')], status: 400 },
  'the same in escapes': { written: [head('GET /u/%2e%2E%2f..%5cadmin')], status: 400 },
  'a path with a fragment': { written: [head('GET /u/a#b')], status: 400 },
  'a whole address': { written: [head('GET http://example.org/u/a')], status: 404 },
  'signs that addresses escape': {
    written: [head('GET /u/a|b/./c?x={y}')],
    status: 200,
    parsed: { method: 'GET', path: '/v1/a|b/./c?x={y}' },
  },
  '15,000 slashes': {
    written: [head(`POST /u${'/'.repeat(15_000)}x`, 'content-length: 0')],
    status: 200,
    parsed: { method: 'POST', path: `/v1${'/'.repeat(15_000)}x` },
  },
  'HTTP/2 from the start': {
    written: ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '\0\0\0\x04\0\0\0\0\0'],
    status: 505,
  },
  'no HTTP': { written: ['\x16\x03\x01\x02\0\x01'], status: 400 },
  'headers without an end': { written: [`GET /u/a HTTP/1.1\r\nx: ${'x'.repeat(20_000)}`], status: 431 },
  'a chunk that has no length': { written: [head('POST /u/a', 'transfer-encoding: chunked') + 'x\r\n'], status: 400 },
  'no path': { written: [head('OPTIONS *')], status: 404 },
  'no provider': { written: [head('GET /')], status: 404 },
}

/** Write one to a proxy, and then an ordinary request of another client. Throws AssertionError. */
export const tryOdd = async ({ written, status, parsed }: OddRequest): Promise<void> => {
  const provider = await startProvider()
  const recorder = createRecorder({ store: memoryStore() })
  const proxy = await startProxy({
    host: '127.0.0.1',
    port: 0,
    token: '',
    upstreams: [
      { name: 'u', url: `${provider.url}/v1` },
      { name: 'vertex', url: 'https://aiplatform.googleapis.com', urlOf: vertexUrl },
    ],
    recorderOf: () => recorder,
  })
  const [odd, other] = [new Client(proxy.port), new Client(proxy.port)]
  try {
    await odd.write(...written)
    strictEqual((await odd.answer()).status, status)
    if (status === 0) await odd.closed()
    await other.write(head('POST /u/b', 'content-length: 5').replace('odd', 'other'), 'other')
    const answer = await other.answer()
    strictEqual(answer.body, JSON.stringify({ id: 'other', method: 'POST', path: '/v1/b' }))
    // Once the proxy is closed, nothing more comes to the provider.
    await proxy.close()
    const others = provider.parsed.filter(({ id }) => id === 'other')
    strictEqual(others.map(({ body }) => body).join(), 'other')
    const found = provider.parsed.filter(({ id }) => id !== 'other')
    if (status !== 0)
      strictEqual(
        found.map(({ id, method, path }) => `${id} ${method} ${path}`).join(),
        parsed === undefined ? '' : `odd ${parsed.method} ${parsed.path}`,
      )
    if (parsed?.body !== undefined) strictEqual(found[0]?.body, parsed.body)
  } finally {
    odd.end()
    other.end()
    await proxy.close().catch(() => undefined)
    await provider.close()
    await recorder.settled()
  }
}

if (process.argv[1] === import.meta.filename) {
  for (const [name, request] of Object.entries(oddRequests)) {
    await tryOdd(request).catch((cause: unknown) => {
      throw new Error(`${name}, on Node ${process.version}`, { cause })
    })
  }
  process.stdout.write(`${Object.keys(oddRequests).length} odd requests on Node ${process.version}\n`)
}
