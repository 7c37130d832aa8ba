/**
 * Two clients that send odd requests through one proxy to one provider: what the provider parses is what was meant, and no
 * answer reaches another. `INDELIBLE_FRAMING=100000` for so many requests.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { startProxy } from '../../../src/recorder/proxy/index.ts'
import { Client, startProvider, type Parsed } from './wire.ts'

const requests = Number(process.env['INDELIBLE_FRAMING'] ?? 800)

/** Requests of each of the two clients in a round. */
const perClient = 4

interface Odd {
  readonly method: string
  readonly kind: 'plain' | 'early' | 'late' | 'end' | 'socket'
  readonly framing: 'none' | 'length' | 'chunked' | 'Chunked' | 'chunks' | 'both' | 'gzip'
  readonly body: string
  readonly upgrade: 'h2c' | 'websocket' | 'h2c, websocket' | undefined
  readonly connection: readonly string[]
  readonly expects: boolean
  /** Where the bytes are cut. */
  readonly cuts: readonly number[]
  /** The client goes away within the request, after this share of it. */
  readonly leaves: number | undefined
}

const smuggled = [
  'GET /v1/slow HTTP/1.1\r\nhost: x\r\nx-id: smuggled\r\n\r\n',
  'POST /v1/a HTTP/1.1\r\nx-id: smuggled\r\ncontent-length: 500\r\n\r\n',
]

const odd: fc.Arbitrary<Odd> = fc.record({
  method: fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'HEAD', 'TRACE', 'QUERY'),
  kind: fc.constantFrom('plain', 'plain', 'early', 'late', 'end', 'socket'),
  framing: fc.constantFrom('none', 'length', 'chunked', 'Chunked', 'chunks', 'both', 'gzip'),
  body: fc.oneof(
    fc.constantFrom(...smuggled, '', '0\r\n\r\n', '0\r\n\r\n' + smuggled[0]),
    fc.string({ maxLength: 40, unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) }),
  ),
  upgrade: fc.option(fc.constantFrom('h2c', 'websocket', 'h2c, websocket'), { freq: 2, nil: undefined }),
  connection: fc.subarray(['close', 'content-length', 'transfer-encoding', 'x-drop', 'keep-alive']),
  expects: fc.nat({ max: 5 }).map((one) => one === 0),
  cuts: fc.array(fc.nat({ max: 400 }), { maxLength: 3 }),
  leaves: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { freq: 9, nil: undefined }),
})

/** What a client writes. */
const bytesOf = (id: string, { method, kind, framing, body, upgrade, connection, expects }: Odd): string => {
  const tokens = [...connection, ...(upgrade === undefined ? [] : ['Upgrade'])]
  const encoding = framing === 'gzip' ? 'gzip, chunked' : framing === 'Chunked' ? 'Chunked' : 'chunked'
  const hasLength = framing === 'length' || framing === 'both'
  const headers = [
    'host: localhost',
    `x-id: ${id}`,
    'x-drop: 1',
    ...(tokens.length > 0 ? [`connection: ${tokens.join(', ')}`] : []),
    ...(upgrade === undefined ? [] : [`upgrade: ${upgrade}`]),
    ...(expects ? ['expect: 100-continue'] : []),
    ...(hasLength ? [`content-length: ${body.length}`] : []),
    ...(framing === 'none' || framing === 'length' ? [] : [`transfer-encoding: ${encoding}`]),
  ]
  const parts = framing === 'chunks' ? [body.slice(0, 3), body.slice(3)] : [body]
  const chunks = parts.map((part) => (part === '' ? '' : `${part.length.toString(16)};x=y\r\n${part}\r\n`)).join('')
  const written = framing === 'none' ? '' : framing === 'length' ? body : `${chunks}0\r\n\r\n`
  return [`${method} /u/${kind} HTTP/1.1`, ...headers, '', written].join('\r\n')
}

/** The status that a request is answered with, and whether the provider parses it. */
const meant = ({
  method,
  kind,
  framing,
  body,
  upgrade,
}: Odd): { readonly status: number; readonly reaches: boolean } => {
  const refused = (status: number) => ({ status, reaches: false })
  if (framing === 'both') return refused(400)
  const hasBody = framing !== 'none' && (framing !== 'length' || body !== '')
  const isSocket = method === 'GET' && upgrade?.includes('websocket') === true
  if (isSocket && hasBody) return refused(400)
  if (isSocket) return { status: kind === 'socket' ? 101 : 403, reaches: true }
  if (framing === 'gzip') return refused(501)
  if (method === 'TRACE' && hasBody) return refused(400)
  return { status: 200, reaches: true }
}

const cut = (text: string, places: readonly number[]): readonly string[] => {
  const at = [...new Set([0, ...places.filter((place) => place < text.length)])].toSorted((a, b) => a - b)
  return at.map((from, index) => text.slice(from, at[index + 1]))
}

it(`in ${requests} odd requests of two clients the provider parses what was meant, and no answer reaches another`, async () => {
  const provider = await startProvider()
  const proxy = await startProxy({
    host: '127.0.0.1',
    port: 0,
    token: '',
    upstreams: [{ name: 'u', url: `${provider.url}/v1` }],
    recorderOf: () => undefined,
  })
  let count = 0
  const sent = new Map<string, Odd>()

  /** Checks what the provider parsed. */
  const check = ({ id, method, path, body, whole, headers }: Parsed): void => {
    const one = sent.get(id)
    if (one === undefined) throw new Error(`the provider parsed a request that nobody sent: ${method} ${path}`)
    sent.delete(id) // a second one with its id is one that nobody sent
    expect(meant(one).reaches).toBe(true)
    expect([method, path]).toEqual([one.method, `/v1/${one.kind}`])
    const mayBeCut = one.leaves !== undefined || one.kind === 'early'
    if (mayBeCut && !whole) expect(one.body.startsWith(body)).toBe(true)
    else expect([body, whole]).toEqual([one.framing === 'none' ? '' : one.body, true])
    expect(headers.expect).toBeUndefined()
    expect(headers['x-drop']).toBe(one.connection.includes('x-drop') ? undefined : '1')
    expect(headers.upgrade).toBe(meant(one).status === 101 || meant(one).status === 403 ? 'websocket' : undefined)
  }

  /** One request; true: its connection serves the next one. */
  const exchange = async (client: Client, id: string, one: Odd): Promise<boolean> => {
    const bytes = bytesOf(id, one)
    const end = one.leaves === undefined ? bytes.length : Math.floor(bytes.length * one.leaves)
    await client.write(...cut(bytes.slice(0, end), one.cuts))
    if (one.leaves !== undefined) return false
    const { status } = meant(one)
    const answer = await client.answer(one.method === 'HEAD')
    expect(answer.status).toBe(status)
    if (status === 101) {
      await client.write('echo')
      expect(await client.bytes(4)).toBe('echo')
      return false
    }
    if ((status === 200 && one.method !== 'HEAD') || status === 403)
      expect(JSON.parse(answer.body)).toEqual({ id, method: one.method, path: `/v1/${one.kind}` })
    if (status === 403 || status === 400 || one.connection.includes('close')) {
      if (one.framing === 'both' || status === 403 || one.upgrade !== undefined || one.connection.includes('close'))
        return false
    }
    return true
  }

  const serve = async (all: readonly (readonly [id: string, one: Odd])[]): Promise<void> => {
    let client = new Client(proxy.port)
    for (const [id, one] of all) {
      const goesOn = await exchange(client, id, one)
      if (goesOn && !client.over) continue
      client.end()
      client = new Client(proxy.port)
    }
    client.end()
  }

  const round = fc.array(odd, { minLength: 2 * perClient, maxLength: 2 * perClient })
  try {
    await fc.assert(
      fc.asyncProperty(round, async (ones) => {
        const named = ones.map((one) => [String(count++), one] as const)
        for (const [id, one] of named) sent.set(id, one)
        await Promise.all([serve(named.slice(0, perClient)), serve(named.slice(perClient))])
        const sure = named.filter(([, one]) => meant(one).reaches && one.leaves === undefined).map(([id]) => id)
        for (const parsed of await provider.take(sure)) check(parsed)
      }),
      { numRuns: Math.ceil(requests / (2 * perClient)), endOnFailure: process.env['INDELIBLE_FRAMING'] !== undefined },
    )
  } finally {
    await proxy.close()
    await provider.close()
  }
}, 3_600_000)
