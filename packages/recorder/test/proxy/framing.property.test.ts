/**
 * Two clients that send odd requests through one proxy to one provider: what the provider parses is what was meant, and no
 * answer reaches another. 100,000 requests at full size.
 */
import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  double,
  integer,
  nat,
  oneof,
  option,
  record,
  string,
  subarray,
  type Arbitrary,
} from 'fast-check'
import { expect, it } from 'vitest'
import { startProxy } from '../../src/proxy/index.ts'
import { isFull, rounds } from '../../../../test/rounds.ts'
import { Client, startProvider, type Parsed } from './wire.ts'

const requests = rounds(400, 100_000)

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

const odd: Arbitrary<Odd> = record({
  method: constantFrom('GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'HEAD', 'TRACE', 'QUERY'),
  kind: constantFrom('plain', 'plain', 'early', 'late', 'end', 'socket'),
  framing: constantFrom('none', 'length', 'chunked', 'Chunked', 'chunks', 'both', 'gzip'),
  body: oneof(
    constantFrom(...smuggled, '', '0\r\n\r\n', '0\r\n\r\n' + smuggled[0]),
    string({ maxLength: 40, unit: integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) }),
  ),
  upgrade: option(constantFrom('h2c', 'websocket', 'h2c, websocket'), { freq: 2, nil: undefined }),
  connection: subarray(['close', 'content-length', 'transfer-encoding', 'x-drop', 'keep-alive']),
  expects: nat({ max: 5 }).map((one) => one === 0),
  cuts: array(nat({ max: 400 }), { maxLength: 3 }),
  leaves: option(double({ min: 0, max: 1, noNaN: true }), { freq: 9, nil: undefined }),
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

/**
 * The status that a request is answered with, whether the provider parses it, and whether its connection is closed. A
 * connection that is closed while more is written may be reset before the answer is read.
 */
const meant = ({
  method,
  kind,
  framing,
  body,
  upgrade,
  connection,
}: Odd): { readonly status: number; readonly reaches: boolean; readonly closes: boolean } => {
  const [reached, refused] = [
    (status: number) => ({ status, reaches: true, closes: status !== 200 || connection.includes('close') }),
    (status: number, closes: boolean) => ({ status, reaches: false, closes: closes || connection.includes('close') }),
  ]
  if (framing === 'both') return refused(400, true)
  const hasBody = framing !== 'none' && (framing !== 'length' || body !== '')
  const isSocket = method === 'GET' && upgrade?.includes('websocket') === true
  if (isSocket) return hasBody ? refused(400, true) : reached(kind === 'socket' ? 101 : 403)
  if (framing === 'gzip') return refused(501, false)
  return method === 'TRACE' && hasBody ? refused(400, false) : reached(200)
}

const cut = (text: string, places: readonly number[]): readonly string[] => {
  const at = [...new Set([0, ...places.filter((place) => place < text.length)])].toSorted((a, b) => a - b)
  return at.map((from, index) => text.slice(from, at[index + 1]))
}

it(`in ${requests} odd requests of two clients, the provider parses the intended ones and no answer is misrouted`, async () => {
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
  const exchange = async (client: Client, id: string, odd: Odd): Promise<boolean> => {
    const bytes = bytesOf(id, odd)
    const end = odd.leaves === undefined ? bytes.length : Math.floor(bytes.length * odd.leaves)
    await client.write(...cut(bytes.slice(0, end), odd.cuts))
    if (odd.leaves !== undefined) return false
    const { status, reaches, closes } = meant(odd)
    const answer = await client.answer(odd.method === 'HEAD')
    expect(reaches || !closes ? [status] : [status, 0]).toContain(answer.status)
    if (status === 101) {
      await client.write('echo')
      expect(await client.bytes(4)).toBe('echo')
    } else if (reaches && odd.method !== 'HEAD')
      expect(JSON.parse(answer.body)).toEqual({ id, method: odd.method, path: `/v1/${odd.kind}` })
    return !closes
  }

  const serve = async (all: readonly (readonly [id: string, one: Odd])[]): Promise<void> => {
    let client = new Client(proxy.port)
    for (const [id, odd] of all) {
      const goesOn = await exchange(client, id, odd)
      if (goesOn && !client.over) continue
      client.end()
      client = new Client(proxy.port)
    }
    client.end()
  }

  const round = array(odd, { minLength: 2 * perClient, maxLength: 2 * perClient })
  try {
    await assert(
      asyncProperty(round, async (ones) => {
        const named = ones.map((one) => [String(count++), one] as const)
        for (const [id, odd] of named) sent.set(id, odd)
        await Promise.all([serve(named.slice(0, perClient)), serve(named.slice(perClient))])
        const sure = named.filter(([, odd]) => meant(odd).reaches && odd.leaves === undefined).map(([id]) => id)
        for (const parsed of await provider.take(sure)) check(parsed)
      }),
      { numRuns: Math.ceil(requests / (2 * perClient)), endOnFailure: isFull },
    )
  } finally {
    await proxy.close()
    await provider.close()
  }
}, 3_600_000)
