/** The parts of the store in PostgreSQL that need no server: errors as faults, retries, texts, sums, and cancel requests. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { cancelStatement } from '../src/cancel.ts'
import { ConnectionLost, Database, type PostgresClient } from '../src/database.ts'
import { faultOf, isTransient, retryUntil } from '../src/fault.ts'
import { escapeBody, unescapeBody } from '../src/rows.ts'
import { createdSum, metaSum, sumOf } from '../src/sum.ts'
import { termsOf } from '../src/terms.ts'

const place = { name: 'db/schema', schema: '"s"', timeout: 700 }
const errorOf = (code: string): Error => Object.assign(new Error('no'), { code, severity: 'ERROR' })

describe('an error of the server', () => {
  it.each<readonly [string, object]>([
    ['25006', { _tag: 'ReadOnly', path: 'db/schema' }],
    ['42501', { _tag: 'ReadOnly', path: 'db/schema' }],
    ['53100', { _tag: 'Full', path: 'db/schema' }],
    ...['57014', '55P03', '23503', '23505', '40001', '40P01', '42P06', '42P07'].map(
      (code) => [code, { _tag: 'Busy', waited: 700 }] as const,
    ),
  ])('with the state %s is a fault of its own', (code, fault) => {
    expect(faultOf(errorOf(code), place, 'append')).toEqual(fault)
  })

  it('of any other kind is Io with its cause, and the outcome is unknown if the connection was lost', () => {
    for (const cause of [errorOf('42P01'), new Error('x'), 'x', undefined])
      expect(faultOf(cause, place, 'append')).toStrictEqual({ _tag: 'Io', operation: 'append', cause })
    const cause = new ConnectionLost('cut')
    expect(faultOf(cause, place, 'append')).toStrictEqual({
      _tag: 'Io',
      operation: 'append',
      cause,
      outcome: 'unknown',
    })
  })

  it('may not occur again where another transaction was first', () => {
    const codes = ['23503', '23505', '40001', '40P01', '42P06', '42P07', '57014', '55P03', '25006', '53100', '42P01']
    expect(codes.filter((code) => isTransient(errorOf(code)))).toEqual(codes.slice(0, 6))
    expect([null, 'x', new Error('40001')].map(isTransient)).toEqual([false, false, false])
  })
})

describe('a prepared statement', () => {
  const seen: { readonly text: string; readonly name?: string | undefined }[] = []
  const released: (boolean | undefined)[] = []
  let columns = ['a', 'b']
  const client: PostgresClient = {
    query: async (query) => {
      seen.push(query)
      return { rows: [Object.fromEntries(columns.map((name) => [name, 1]))], fields: columns.map((name) => ({ name })) }
    },
    release: (destroy) => void released.push(destroy),
    on: () => undefined,
    off: () => undefined,
  }
  const db = new Database({ connect: async () => client, end: async () => undefined }, place, undefined)

  it('has a name that is derived from its text alone', async () => {
    const texts = ['select 1 as a, 2 as b', 'select 1 as a, 2 as b ']
    for (const text of texts) await db.write(text, ['x'])
    await db.write('begin')
    await db.readFresh('select 3', ['x'])
    const digests = texts.map((text) => createHash('sha256').update(text).digest('hex'))
    expect(seen.map(({ name }) => name)).toEqual([...digests.map((digest) => `indelible_${digest.slice(0, 32)}`), undefined, undefined]) // oxfmt-ignore
  })
  it('whose response has other columns than before ends its connection, and is not read', async () => {
    await db.write('select a, b', ['x'])
    columns = ['a']
    released.length = 0
    await expect(db.write('select a, b', ['x'])).rejects.toThrow(/columns of another statement/)
    expect(released).toEqual([true])
    columns = ['a', 'b']
    expect(await db.write('select a, b', ['x'])).toEqual([{ a: 1, b: 1 }])
  })
})

describe('work that other transactions are in the way of', () => {
  it('is tried again until it succeeds', async () => {
    let tries = 0
    const work = async (): Promise<string> => {
      if (++tries < 4) throw errorOf('40001')
      return 'done'
    }
    expect([await retryUntil(60_000, work), tries]).toEqual(['done', 4])
  })

  it('fails at once with another error, and with the last one when its time is over', async () => {
    const other = vi.fn(async () => Promise.reject(errorOf('42P01')))
    await expect(retryUntil(60_000, other)).rejects.toMatchObject({ code: '42P01' })
    expect(other).toHaveBeenCalledTimes(1)
    const late = vi.fn(async () => Promise.reject(errorOf('40001')))
    await expect(retryUntil(1000, late, performance.now() - 2000)).rejects.toMatchObject({ code: '40001' })
    expect(late).toHaveBeenCalledTimes(1)
  })
})

it.each([
  '',
  'plain',
  '\0',
  '\u0001',
  '\u00010',
  '\u00011',
  '\0\u0001',
  'a\0b\u0001c\0',
  '\u0001\u0001\0\0',
  '\u00020',
])('a text with U+0000 or U+0001 is stored without U+0000, and read as it was: %j', (text) => {
  const stored = escapeBody(text)
  expect([stored.includes('\0'), unescapeBody(stored)]).toEqual([false, text])
  if (text === '' || text === 'plain') expect(stored).toBe(text)
})

it('sums are those of the columns and their order, as decimal digits of 64 bits', () => {
  const digest = createHash('sha256').update('["a",1,null]').digest()
  expect(sumOf('a', 1, null)).toBe(String(digest.readBigInt64BE(0)))
  const sums = [sumOf('a', 'b'), sumOf('b', 'a'), sumOf('ab'), metaSum('a', 'b', '{}', 1), metaSum('a', 'b', '{}', 2), createdSum('a', 'b', 1)] // oxfmt-ignore
  expect(new Set(sums).size).toBe(sums.length)
  for (const sum of sums) expect(BigInt.asIntN(64, BigInt(sum))).toBe(BigInt(sum))
})

it('the terms of metadata are one for each scalar with its path, and none of lists', () => {
  const terms = termsOf('s', { a: 1, b: { c: 'x', d: null, e: [1, { f: 2 }] }, g: {}, h: true })
  expect(terms).toEqual([
    sumOf('s', 'a', 1),
    sumOf('s', 'b', 'c', 'x'),
    sumOf('s', 'b', 'd', null),
    sumOf('s', 'h', true),
  ])
  expect(termsOf('s', {})).toEqual([])
  expect(termsOf('t', { a: 1 })).not.toEqual(termsOf('s', { a: 1 }))
})

describe('a cancel request', () => {
  it('is sixteen bytes on a connection of its own: length, code, process and key', async () => {
    const received: Buffer[] = []
    const server = createServer((socket) =>
      socket.on('data', (bytes: Buffer) => void (received.push(bytes), socket.end())),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const connected = once(server, 'connection') as Promise<[Socket]>
    cancelStatement({ host: '127.0.0.1', port, processID: 77, secretKey: -5 } as never)
    const [socket] = await connected
    await once(socket, 'close')
    const bytes = Buffer.concat(received)
    expect([bytes.length, ...[0, 4, 8, 12].map((at) => bytes.readInt32BE(at))]).toEqual([16, 16, 80877102, 77, -5])
    server.close()
  })

  it('is not sent for a client without the keys of pg', async () => {
    let connections = 0
    const server = createServer(() => void connections++)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const keys = { host: '127.0.0.1', port, processID: 77, secretKey: 5 }
    for (const lacking of ['host', 'port', 'processID', 'secretKey'])
      cancelStatement({ ...keys, [lacking]: undefined } as never)
    const connected = once(server, 'connection')
    cancelStatement(keys as never)
    await connected
    expect(connections).toBe(1)
    server.close()
  })
})
