/** The parts of the proxy that need no connection: where a path leads, which headers go on, and frames of bytes. */
import type { IncomingMessage } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { left, right } from '../../../../src/json/index.ts'
import { decompressBytes, isIdentity } from '../../src/answers/body.ts'
import { decompress } from '../../src/proxy/decompress.ts'
import {
  frameOf,
  framesIn,
  jsonBytes,
  kinds,
  lengthOf,
  recordLength,
  recordOf,
  sealedRecord,
  textIn,
  unsealBytes,
  valueIn,
} from '../../src/proxy/frames.ts'
import { answerHeaders, framingOf, headerOf, headersFor, pairs, reasonIn, trailersOf } from '../../src/proxy/headers.ts'
import { bodyOf, targetOf } from '../../src/proxy/target.ts'
import { vertexUrl } from '../../src/proxy/vertex.ts'

describe('a path of the proxy', () => {
  const upstreams = [
    { name: 'a', url: 'https://a.example/base/' },
    { name: 'b', url: 'http://b.example' },
    { name: 'v', url: '', urlOf: vertexUrl },
  ]
  it.each<readonly [string, string, string]>([
    ['/k/a/v1/x?y=/../z', 'https://a.example/base/v1/x?y=/../z', '/base/v1/x?y=/../z'],
    ['/k/a', 'https://a.example/base', '/base'],
    ['/k/b', 'http://b.example/', '/'],
    ['/k/b?q', 'http://b.example/?q', '/?q'],
    ['/k/b/a%20b//c', 'http://b.example/a%20b//c', '/a%20b//c'],
    ['/k/b/..a/b..', 'http://b.example/..a/b..', '/..a/b..'],
    ['/k/v/locations/eu/x', 'https://aiplatform.eu.rep.googleapis.com/locations/eu/x', '/locations/eu/x'],
  ])('%s leads to %s', (path, url, written) => {
    expect(targetOf(path, '/k/', upstreams)).toEqual(right({ url: new URL(url), path: written }))
  })

  const leaves = 'the path leaves the address of b: it contains ".."'
  it.each<readonly [string, number, string]>([
    ['/k/c/x', 404, 'there is no provider at /k/c/x'],
    ['/k/', 404, 'there is no provider at /k/'],
    ['/j/a/x', 404, 'there is no provider at /j/a/x'],
    ['/k/b/x#y', 400, 'the path contains a #, which no request may have'],
    ['/k/b/../x', 400, leaves],
    ['/k/b/x/..', 400, leaves],
    ['/k/b/%2e./x', 400, leaves],
    ['/k/b/y\\..\\x', 400, leaves],
    ['/k/b/x%2f..%5cy', 400, leaves],
    ['/k/b/..;x', 400, leaves],
    ['/k/b/..?x', 400, leaves],
    ['/k/v/locations/E!/x', 400, 'the path does not lead to an address of v'],
  ])('%s is refused with %d', (path, status, reason) => {
    expect(targetOf(path, '/k/', upstreams)).toEqual(left({ status, reason }))
  })

  it('that is refused has the reason in its body', () => {
    expect(bodyOf('no "x"')).toBe('{"error":{"message":"indelible record: no \\"x\\""}}')
  })
})

it.each([
  ['/v1/projects/p/locations/europe-west1/x', 'https://europe-west1-aiplatform.googleapis.com'],
  ['/v1/projects/p/locations/us/x', 'https://aiplatform.us.rep.googleapis.com'],
  ['/v1/projects/p/locations/global/x', 'https://aiplatform.googleapis.com'],
  ['/v1/projects/p/x', 'https://aiplatform.googleapis.com'],
  ['/locations/a:b', 'https://a-aiplatform.googleapis.com'],
  ['/locations/-a/x', undefined],
  ['/locations/a./x', undefined],
  ['/locations//x', undefined],
])('the region of %s is at %s', (path, url) => {
  expect(vertexUrl(path)).toBe(url)
})

describe('the headers of a message', () => {
  const messageOf = (raw: readonly string[], more: object = {}): IncomingMessage => {
    const headers: { [name: string]: string } = {}
    for (const [name, value] of pairs(raw))
      headers[name.toLowerCase()] = [headers[name.toLowerCase()], value].filter((one) => one !== undefined).join(', ')
    return { method: 'POST', rawHeaders: raw, headers, ...more } as never
  }

  it('go on as they are written, without those of the connection and of the proxy itself', () => {
    const raw = [
      ...['Host', 'proxy', 'X-A', '1', 'x-a', '2', 'Content-Length', '5', 'TE', 'trailers', 'Expect', '100-continue'],
      ...['Connection', 'close, X-Mine', 'x-mine', '1', 'Keep-Alive', '5', 'Authorization', 'k', 'Upgrade', 'h2c'],
      ...['Proxy-Authorization', 'p', 'Transfer-Encoding', 'chunked', 'Trailer', 'x'],
    ]
    const message = messageOf(raw)
    expect(headersFor(message, 'a.example', { 'content-length': '5' })).toEqual({
      ...{ 'X-A': ['1', '2'], Authorization: 'k', 'content-length': '5', host: 'a.example' },
    })
    expect(answerHeaders(message)).toEqual([
      'Host',
      'proxy',
      'X-A',
      '1',
      'x-a',
      '2',
      'Content-Length',
      '5',
      'Authorization',
      'k',
    ])
    expect(headersFor(messageOf([]), 'h', {})).toEqual({ host: 'h' })
    expect([headerOf(message, 'x-a'), headerOf(message, 'none')]).toEqual(['1, 2', undefined])
    expect(headerOf({ headers: { a: ['1', '2'] } } as never, 'a')).toBe('1, 2')
  })

  it.each<readonly [string, readonly string[], ReturnType<typeof framingOf>]>([
    ['POST', [], right({})],
    ['POST', ['Content-Length', '5'], right({ 'content-length': '5' })],
    ['POST', ['Transfer-Encoding', ' Chunked '], right({ 'transfer-encoding': 'chunked' })],
    ['POST', ['Transfer-Encoding', 'gzip'], left({ status: 501, reason: 'the transfer-encoding "gzip" can\'t be forwarded' })], // oxfmt-ignore
    ['TRACE', [], right({})],
    ['TRACE', ['Content-Length', '0'], right({ 'content-length': '0' })],
    ['TRACE', ['Content-Length', '1'], left({ status: 400, reason: 'a TRACE request has no body' })],
    ['TRACE', ['Transfer-Encoding', 'chunked'], left({ status: 400, reason: 'a TRACE request has no body' })],
  ])('of a %s with %j frame its body', (method, raw, expected) => {
    expect(framingOf(messageOf(raw, { method }))).toEqual(expected)
  })

  it('at its end are those that may stand there', () => {
    const rawTrailers = ['X-Sum', '1', 'Host', 'h', 'Connection', 'x', 'te', 'y', 'X-Sum', '2']
    expect(trailersOf({ rawTrailers } as never)).toEqual([
      ['X-Sum', '1'],
      ['X-Sum', '2'],
    ])
  })

  it('have a reason without characters that can not be sent', () => {
    expect(reasonIn({ statusMessage: 'a\n\u0100\t~\u007f\u0080é' } as never)).toBe('a  \t~ \u0080é')
    expect(reasonIn({} as never)).toBe('')
  })
})

describe('a frame', () => {
  const frame = { kind: kinds.chunk, call: 2 ** 32 - 1, at: 1_700_000_000_000.5, bytes: Buffer.from('é{}') }

  it('is read as it was written, alone, in a row, and encrypted', () => {
    const [start, bytes] = recordOf(frame)
    const record = Buffer.concat([start, bytes])
    expect([record.length, lengthOf([start, bytes]), recordLength(record)]).toEqual([21, 21, 21])
    expect(frameOf(record.subarray(4))).toEqual(frame)
    const two = Buffer.concat([record, ...recordOf({ ...frame, kind: kinds.over, bytes: new Uint8Array() })])
    const read = [...framesIn(two)]
    expect(read).toEqual([frame, { ...frame, kind: kinds.over, bytes: Buffer.alloc(0) }])
    expect([...framesIn(Uint8Array.of(1, ...two).subarray(1))]).toEqual(read)
    const key = new Uint8Array(32).fill(1)
    const sealed = Buffer.concat(sealedRecord([start, bytes], key))
    expect([sealed.length, recordLength(sealed)]).toEqual([21 + 28, 21 + 28])
    expect(frameOf(unsealBytes(sealed.subarray(4), key))).toEqual(frame)
    expect(() => unsealBytes(sealed.subarray(4), new Uint8Array(32))).toThrow()
    expect(() => unsealBytes(sealed.subarray(4).fill(0, 20, 21), key)).toThrow()
  })

  it('is none where bytes are missing or its kind is unknown', () => {
    const content = Buffer.concat(recordOf(frame)).subarray(4)
    expect(frameOf(content.subarray(0, 12))).toBeUndefined()
    expect(frameOf(content.subarray(0, 13))).toEqual({ ...frame, bytes: Buffer.alloc(0) })
    for (const [kind, isFrame] of [
      [0, true],
      [9, true],
      [10, false],
      [255, false],
    ] as const) {
      // oxfmt-ignore
      const other = Buffer.from(content)
      other[0] = kind
      expect([kind, frameOf(other) !== undefined]).toEqual([kind, isFrame])
    }
    expect([recordLength(Buffer.alloc(3)), recordLength(Buffer.alloc(4))]).toEqual([undefined, 4])
    const cut = Buffer.concat([...recordOf(frame), ...recordOf(frame)]).subarray(0, 24)
    expect([...framesIn(cut)]).toEqual([frame])
  })

  it('has a text or JSON in its bytes', () => {
    const bytes = Uint8Array.of(0, ...jsonBytes({ a: 'é' })).subarray(1)
    expect([textIn({ bytes }), valueIn({ ...frame, bytes }), valueIn({ ...frame, bytes: Buffer.from('{') })]).toEqual([
      '{"a":"é"}',
      { a: 'é' },
      undefined,
    ])
  })
})

describe('a compressed body', () => {
  const plain = Buffer.from('a body '.repeat(10))
  const encodings = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync } // oxfmt-ignore

  it.each(Object.entries(encodings))('in %s is read, up to a limit', async (encoding, compress) => {
    const bytes = compress(plain)
    expect(Buffer.from(await decompress(encoding.toUpperCase(), bytes))).toEqual(plain)
    expect(Buffer.from(await decompress(encoding, bytes, plain.length))).toEqual(plain)
    await expect(decompress(encoding, bytes, plain.length - 1)).rejects.toThrow()
    if (encoding === 'br' || encoding === 'zstd') return
    expect(Buffer.from(await decompressBytes(encoding.toUpperCase(), bytes))).toEqual(plain)
    expect(Buffer.from(await decompressBytes(encoding, bytes, plain.length))).toEqual(plain)
    await expect(decompressBytes(encoding, bytes, plain.length - 1)).rejects.toThrow(
      'the body is longer than 69 bytes when it is decompressed',
    )
  })

  it('in several encodings is read from the last one on', async () => {
    const twice = gzipSync(brotliCompressSync(plain))
    expect(Buffer.from(await decompress('br, gzip', twice))).toEqual(plain)
    await expect(decompress('gzip, br', twice)).rejects.toThrow()
  })

  it('in an unknown encoding is not read', async () => {
    await expect(decompress('gzip, Compress', plain)).rejects.toThrow(`the encoding "compress" can't be read`)
    await expect(decompressBytes('br', plain)).rejects.toThrow(
      `the encoding "br" can't be decoded here; pass the option decompress`,
    )
    expect([undefined, '', 'Identity', 'gzip'].map(isIdentity)).toEqual([true, true, true, false])
  })
})
