import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assistant, createSession, memoryStore, toolCall, toolResult, user, type Session, type Store } from 'indelible'
import { startView, type View } from '@indelible/view'
import type { Overview, ViewedRow, ViewedSession } from '../src/protocol.ts'
import { blocksInFrames, framedBlocks } from '../src/protocol.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'

let store: Store
let session: Session
let view: View
let key = ''

const long = 'a long text '.repeat(500)

beforeAll(async () => {
  store = memoryStore()
  session = await createSession(store, { id: 'viewed', metadata: { title: 'A title' } })
  await session.append([user('hello'), assistant(toolCall('c1', 'look', '{}')), toolResult('c1', long)])
  view = await startView({ store, name: 'the store', version: '1.2.3' })
  const { status, body } = await ask('api/enter', {
    method: 'POST',
    body: JSON.stringify({ token: tokenOf(view.open()) }),
  })
  expect(status).toBe(200)
  key = (JSON.parse(body.toString()) as { readonly key: string }).key
})
afterAll(() => view.close())

interface Asked {
  readonly method?: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
}

const tokenOf = (address: string): string => /#token=([\w-]+)/.exec(address)?.[1] ?? ''

/** With headers that `fetch` would not send. */
const ask = (path: string, { method = 'GET', headers = {}, body }: Asked = {}) =>
  new Promise<{
    readonly status: number
    readonly headers: { readonly [name: string]: unknown }
    readonly body: Buffer
  }>((resolve, reject) => {
    const asking = request({ host: '127.0.0.1', port: view.port, path: `/${path}`, method, headers }, (answer) => {
      const pieces: Buffer[] = []
      answer.on('data', (piece: Buffer) => pieces.push(piece))
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(pieces) }),
      )
    })
    asking.on('error', reject)
    asking.end(body)
  })

const read = async <T>(path: string): Promise<T> =>
  JSON.parse((await ask(path, { headers: { authorization: `Bearer ${key}` } })).body.toString()) as T

describe('access to a view', () => {
  it('is granted once per address', async () => {
    const body = JSON.stringify({ token: tokenOf(view.open('s/viewed')) })
    expect((await ask('api/enter', { method: 'POST', body })).status).toBe(200)
    expect((await ask('api/enter', { method: 'POST', body })).status).toBe(401)
    for (const other of ['', '{}', '{"token":7}', '{"token":""}', '[]', 'null'])
      expect([other, (await ask('api/enter', { method: 'POST', body: other })).status]).toEqual([
        other,
        other === '' ? 400 : 401,
      ])
  })
  it('is denied without a key', async () => {
    for (const path of [
      'store',
      'sessions',
      'session?id=viewed',
      'rows?id=viewed&from=0&to=1',
      'follow?id=viewed&from=0',
    ])
      for (const headers of [{}, { authorization: 'Bearer x' }, { authorization: `Bearer ${key}x` }, { cookie: key }])
        expect([path, (await ask(`api/${path}`, { headers: headers as Record<string, string> })).status]).toEqual([
          path,
          401,
        ])
  })
  it('is denied to other sites, by name, origin, or fetch metadata', async () => {
    const authorization = `Bearer ${key}`
    const own = `127.0.0.1:${view.port}`
    const status = async (headers: { readonly [name: string]: string }) =>
      (await ask('api/store', { headers: { authorization, ...headers } })).status
    expect(await status({ host: own })).toBe(200)
    expect(await status({ host: `localhost:${view.port}` })).toBe(200)
    expect(await status({ host: own, origin: `http://${own}`, 'sec-fetch-site': 'same-origin' })).toBe(200)
    for (const host of [
      'hostile.example',
      `hostile.example:${view.port}`,
      '127.0.0.1.hostile.example',
      '192.168.1.4',
      '127.0.0.1@hostile',
    ])
      expect([host, await status({ host })]).toEqual([host, 403])
    for (const origin of ['http://hostile.example', 'null', `https://${own}`, 'http://127.0.0.1:1'])
      expect([origin, await status({ host: own, origin })]).toEqual([origin, 403])
    for (const site of ['cross-site', 'same-site'])
      expect(await status({ host: own, 'sec-fetch-site': site })).toBe(403)
    expect((await ask('', { headers: { host: 'hostile.example' } })).status).toBe(403)
    // A file or a link may lead to the page in a window, to nothing else, and not in a frame.
    const opens = {
      host: own,
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    }
    expect((await ask('', { headers: opens })).status).toBe(200)
    expect((await ask('', { headers: { ...opens, 'sec-fetch-dest': 'iframe' } })).status).toBe(403)
    expect((await ask('', { headers: { ...opens, host: 'hostile.example' } })).status).toBe(403)
    expect(await status(opens)).toBe(403)
  })
})

describe('a view on another address than loopback', () => {
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address

  it(
    'requires its key, accepts its own names and page, and is read-only',
    leftOutIf(outside === undefined, 'this machine has no address but loopback'),
    async () => {
      const open = await startView({ store, name: 'open', version: '1', host: '0.0.0.0' })
      const own = `${outside}:${open.port}`
      const asked = (path: string, { method = 'GET', headers = {}, body }: Asked = {}) =>
        new Promise<readonly [number | undefined, string]>((resolve, reject) => {
          const asking = request(
            { host: outside, port: open.port, path: `/api/${path}`, method, headers },
            (answer) => {
              let text = ''
              answer.on('data', (piece) => (text += String(piece)))
              answer.on('end', () => resolve([answer.statusCode, text]))
            },
          )
          asking.on('error', reject)
          asking.end(body)
        })
      const before = JSON.stringify([await store.list({}), await store.read('viewed')])
      expect((await asked('sessions'))[0]).toBe(401)
      expect((await asked('sessions', { headers: { authorization: `Bearer ${key}` } }))[0]).toBe(401) // of the other view
      const token = tokenOf(open.open())
      expect(
        (
          await asked('enter', { method: 'POST', headers: { host: 'hostile.example' }, body: `{"token":"${token}"}` })
        )[0],
      ).toBe(403)
      expect(
        (
          await asked('enter', {
            method: 'POST',
            headers: { origin: 'http://hostile.example' },
            body: `{"token":"${token}"}`,
          })
        )[0],
      ).toBe(403)
      const [, entered] = await asked('enter', { method: 'POST', body: JSON.stringify({ token }) })
      const authorization = `Bearer ${(JSON.parse(entered) as { readonly key: string }).key}`
      expect((await asked('session?id=viewed', { headers: { authorization } }))[0]).toBe(200)
      expect(
        (await asked('session?id=viewed', { headers: { authorization, host: own, origin: `http://${own}` } }))[0],
      ).toBe(200)
      for (const headers of [
        { host: 'hostile.example' },
        { host: `hostile.example:${open.port}` },
        { origin: 'http://hostile.example' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
      ])
        expect([
          headers,
          (await asked('session?id=viewed', { headers: { authorization, ...(headers as Record<string, string>) } }))[0],
        ]).toEqual([headers, 403])
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'])
        for (const path of ['session?id=viewed', 'rows?id=viewed&from=0&to=1', 'sessions', 'nothing'])
          expect([method, path, (await asked(path, { method, headers: { authorization } }))[0]]).toEqual([
            method,
            path,
            405,
          ])
      expect(JSON.stringify([await store.list({}), await store.read('viewed')])).toBe(before)
      await open.close()
    },
  )
})

describe('the served page', () => {
  it('runs only its own script, in no frame, uncached', async () => {
    const { status, headers, body } = await ask('')
    expect(status).toBe(200)
    expect(headers['content-type']).toMatch(/^text\/html/)
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['cache-control']).toBe('no-store')
    expect(body.toString()).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>/) // none within the page itself
  })
  it('is read-only, and no other file is served', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect((await ask('', { method })).status).toBe(405)
    for (const path of ['../package.json', '%2e%2e/package.json', 'page/../../cli/main.js', 'nothing', 'api/nothing'])
      expect([404, 401]).toContain((await ask(path)).status)
    for (const [name, method, takes] of [
      ['sessions', 'POST', 'GET'],
      ...['enter', 'overviews', 'blocks', 'html'].map((name) => [name, 'GET', 'POST'] as const),
    ] as const) {
      const { status, body } = await ask(`api/${name}`, { method, headers: { authorization: `Bearer ${key}` } })
      expect([status, body.toString()]).toEqual([405, expect.stringContaining(`api/${name} takes ${takes} only`)])
    }
  })
})

describe("the page's data", () => {
  it('includes the sessions, rows as stored, and nodes', async () => {
    expect(await read('api/store')).toEqual({ name: 'the store', scope: 'default', version: '1.2.3' })
    const { sessions } = await read<{ readonly sessions: readonly ViewedSession[] }>('api/sessions')
    expect(sessions).toEqual([await read('api/session?id=viewed')])
    expect(sessions[0]).toMatchObject({ id: 'viewed', len: 3, metadata: { title: 'A title' }, head: session.head() })
    const rows = await read<readonly ViewedRow[]>('api/rows?id=viewed&from=0&to=99')
    expect(rows).toEqual(await store.read('viewed'))
    expect(await read<readonly string[]>('api/nodes?id=viewed&from=0&to=3')).toHaveLength(3)
  })
  it('includes overviews of up to the maximum of sessions, with ids of any length', async () => {
    const headers = { authorization: `Bearer ${key}` }
    const overviews = (body: unknown) => ask('api/overviews', { method: 'POST', headers, body: JSON.stringify(body) })
    const others = Array.from({ length: 499 }, (_, index) => `${'語'.repeat(80)}${index}`)
    const found = await overviews(['viewed', ...others])
    expect(found.status).toBe(200)
    const [first, second, ...more] = JSON.parse(found.body.toString()) as readonly Overview[]
    expect(first).toEqual({ id: 'viewed', words: 'hello', models: [], input: 0, output: 0 })
    expect(second).toMatchObject({ id: others[0], unreadable: expect.stringContaining('no session or log') as string })
    expect(more).toHaveLength(498)
    for (const wrong of [{}, [7], ['x', ...others, 'viewed']]) expect((await overviews(wrong)).status).toBe(400)
  })
  it('includes framed blocks, also beside missing ones', async () => {
    const rows = await read<readonly ViewedRow[]>('api/rows?id=viewed&from=2&to=3')
    const id = /"id":"([0-9a-f]{64})"/.exec(rows[0]?.body ?? '')?.[1] ?? ''
    const headers = { authorization: `Bearer ${key}` }
    const body = JSON.stringify(['0'.repeat(64), id])
    const answer = await ask('api/blocks', { method: 'POST', headers, body })
    const [missing, found] = blocksInFrames(answer.body)
    expect(missing).toBeUndefined()
    expect(Buffer.from(found ?? []).toString()).toBe(long)
    for (const wrong of ['{}', '["x"]', 'no', JSON.stringify(Array.from({ length: 1001 }, () => id))])
      expect((await ask('api/blocks', { method: 'POST', headers, body: wrong })).status).toBe(400)
    const blocks = [new Uint8Array([1, 2]), undefined, new Uint8Array(0)]
    expect(blocksInFrames(framedBlocks(blocks))).toEqual(blocks)
  })
  it('is a sentence for missing data', async () => {
    const asked = async (path: string) => {
      const { status, body } = await ask(path, { headers: { authorization: `Bearer ${key}` } })
      return [status, (JSON.parse(body.toString()) as { readonly error: string }).error]
    }
    expect(await asked('api/session?id=none')).toEqual([404, expect.stringContaining('none')])
    expect(await asked('api/rows?id=viewed&from=x&to=1')).toEqual([400, expect.stringContaining('from')])
    expect(await asked('api/follow?id=none&from=0')).toEqual([404, expect.stringContaining('none')])
  })
  it('is empty beyond the end, for rows and nodes', async () => {
    for (const name of ['rows', 'nodes'])
      for (const range of ['from=3&to=9', 'from=99&to=200', 'from=2&to=1', 'from=999999999999999&to=999999999999999'])
        expect([name, range, await read(`api/${name}?id=viewed&${range}`)]).toEqual([name, range, []])
    expect(await read<readonly string[]>('api/nodes?id=viewed&from=1&to=99')).toHaveLength(2)
    const { status } = await ask('api/nodes?id=none&from=0&to=1', { headers: { authorization: `Bearer ${key}` } })
    expect(status).toBe(404)
  })
  it('is status 400 for an invalid path or HTTP request', async () => {
    const answered = (sent: string) =>
      new Promise<string>((resolve) => {
        let text = ''
        const socket = connect(view.port, '127.0.0.1', () => socket.end(sent))
        socket.on('data', (piece) => (text += String(piece)))
        socket.on('close', () => resolve(text))
      })
    for (const path of ['//', 'http://[', '//:x', 'http://a:99999/'])
      expect(await answered(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`)).toMatch(
        /^HTTP\/1\.1 400 .*"error":"expected a path, found /s,
      )
    for (const line of ['GET\r\n\r\n', 'no request at all\r\n\r\n', 'GET / HTTP/9\r\n\r\n'])
      expect(await answered(line)).toMatch(/^HTTP\/1\.1 400 /)
  })
  it('is followed by at most 100 pages at a time', async () => {
    const follow = () =>
      new Promise<IncomingMessage>((resolve) => {
        const [host, path] = ['127.0.0.1', '/api/follow?id=viewed&from=0']
        request({ host, port: view.port, path, headers: { authorization: `Bearer ${key}` } }, resolve).end()
      })
    const followers = await Promise.all(Array.from({ length: 100 }, follow))
    expect(followers.map(({ statusCode }) => statusCode)).toEqual(followers.map(() => 200))
    const over = await follow()
    expect(over.statusCode).toBe(503)
    expect(String(await over.setEncoding('utf8').toArray())).toContain('100 pages')
    expect(await read('api/session?id=viewed')).toMatchObject({ id: 'viewed' })
    for (const follower of followers) follower.destroy()
    await expect.poll(async () => (await follow().then((one) => (one.destroy(), one))).statusCode).toBe(200)
  })
  it('includes search results', async () => {
    expect(await read('api/search?words=hel')).toEqual({
      hits: [{ session: 'viewed', position: 0, role: 'user', text: 'hello', marks: [[0, 5]] }],
    })
    expect(await read('api/search?words=')).toEqual({ hits: [] })
  })
  it.each([
    ['html', null, 400],
    ['html', {}, 400],
    ['html', { id: 7 }, 400],
    ['html', { id: 'viewed', from: -1 }, 400],
    ['html', { id: 'viewed', from: 0.5 }, 400],
    ['html', { id: 'viewed', to: '1' }, 400],
    ['html', { id: 'viewed', only: 1 }, 400],
    ['html', { id: 'viewed', only: [0, -1] }, 400],
    ['html', { id: 'viewed', from: 0, to: 1 }, 200],
    ['html', { id: 'viewed', only: [0] }, 200],
    ['html', { id: 'none' }, 404],
    ['none', {}, 405],
  ])('takes for api/%s %j with status %i', async (name, body, status) => {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await ask(`api/${name}`, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.status).toBe(status)
    if (status === 200) expect(answer.headers['content-disposition']).toBe('attachment')
  })
  it('is a page of the selected messages, with secrets removed where it is asked for', async () => {
    const secret = `sk-proj-${'aB3'.repeat(16)}`
    await createSession(store, {
      id: 'selected',
      messages: ['zeroth-said', 'first-said', `second-said ${secret}`, 'third-said'].map((output) => user(output)),
    })
    const headers = { authorization: `Bearer ${key}` }
    const page = async (selection: object): Promise<readonly boolean[]> => {
      const { body } = await ask('api/html', {
        method: 'POST',
        headers,
        body: JSON.stringify({ id: 'selected', ...selection }),
      })
      return ['zeroth-said', 'first-said', 'second-said', 'third-said', secret].map((output) =>
        body.toString().includes(Buffer.from(output).toString()),
      )
    }
    expect(await page({})).toEqual([true, true, true, true, true])
    expect(await page({ redact: true })).toEqual([true, true, true, true, false])
    expect(await page({ redact: 'yes' })).toEqual([true, true, true, true, true])
    expect(await page({ from: 1, to: 2 })).toEqual([false, true, false, false, false])
    expect(await page({ only: [0, 3] })).toEqual([true, false, false, true, false])
  })
  it('takes at most 1 MiB at once', async () => {
    const headers = { authorization: `Bearer ${key}` }
    const status = async (length: number) =>
      (await ask('api/blocks', { method: 'POST', headers, body: `[]${' '.repeat(length - 2)}` })).status
    expect([await status(2 ** 20), await status(2 ** 20 + 1)]).toEqual([200, 413])
  })
  it('takes each call by one method', async () => {
    const headers = { authorization: `Bearer ${key}` }
    for (const [name, method] of [
      ['enter', 'GET'],
      ['overviews', 'GET'],
      ['blocks', 'GET'],
      ['html', 'GET'],
      ['store', 'POST'],
      ['store', 'HEAD'],
    ] as const)
      // oxfmt-ignore
      expect([name, (await ask(`api/${name}`, { method, headers })).status]).toEqual([name, 405])
    expect((await ask('api/none', { headers })).status).toBe(404)
    const [got, head] = [await ask(''), await ask('', { method: 'HEAD' })]
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([
      200,
      0,
      got.headers['content-length'],
    ])
    expect(Number(got.headers['content-length'])).toBe(got.body.length)
    for (const id of ['1234567890123456', '-1', '1.0', ''])
      expect((await ask(`api/rows?id=viewed&from=${id}&to=1`, { headers })).status).toBe(400)
  })
  it('has at most 1,000 rows, and 50 found messages with the next page', async () => {
    const many = await createSession(store, {
      id: 'many',
      messages: Array.from({ length: 1001 }, () => user('needle')),
    })
    const count = async (range: string) => (await read<readonly unknown[]>(`api/rows?id=many&${range}`)).length
    expect([await count('from=0&to=1001'), await count('from=1&to=1001'), await count('from=0&to=5')]).toEqual([
      1000, 1000, 5,
    ])
    type Page = { readonly hits: readonly { readonly position: number }[]; readonly next?: string }
    const first = await read<Page>('api/search?words=needle')
    expect([first.hits.length, typeof first.next]).toEqual([50, 'string'])
    const second = await read<Page>(`api/search?words=needle&after=${encodeURIComponent(first.next ?? '')}`)
    expect(new Set([...first.hits, ...second.hits].map(({ position }) => position)).size).toBe(100)
    await many.close()
  })
  it('ends a stream of rows when its session is sealed, removed or another one', async () => {
    const following = async (
      query: string,
    ): Promise<{ readonly text: () => string; readonly ended: Promise<unknown> }> => {
      const asking = await new Promise<IncomingMessage>((resolve) => {
        request({ host: '127.0.0.1', port: view.port, path: `/api/follow?${query}`, headers: { authorization: `Bearer ${key}` } }, resolve).end() // oxfmt-ignore
      })
      let text = ''
      asking.on('data', (piece: Buffer) => (text += String(piece)))
      return { text: () => text, ended: new Promise((resolve) => asking.on('close', resolve)) }
    }
    const made = await createSession(store, { id: 'followed', messages: [user('a'), user('b')] })
    const { size, root } = made.head()
    for (const [query, event] of [
      [`id=followed&from=${size}&root=${'0'.repeat(64)}`, 'replaced'],
      [`id=followed&from=${size + 1}&root=${root}`, 'replaced'],
    ] as const) {
      const { text, ended } = await following(query)
      await ended
      expect([query, text().includes(`event: ${event}\n`)]).toEqual([query, true])
    }
    const same = await following(`id=followed&from=${size}&root=${root}`)
    await made.append(user('c'))
    await expect.poll(() => same.text()).toContain('event: row\n')
    await made.close()
    await store.remove('followed')
    await same.ended
    expect(
      same
        .text()
        .split('event: ')
        .slice(1)
        .map((one) => one.split('\n')[0]),
    ).toEqual(['row', 'removed'])
  })
  it('includes appended rows as they come', async () => {
    const asking = await new Promise<IncomingMessage>((resolve) => {
      request(
        {
          host: '127.0.0.1',
          port: view.port,
          path: '/api/follow?id=viewed&from=2',
          headers: { authorization: `Bearer ${key}` },
        },
        resolve,
      ).end()
    })
    let text = ''
    const until = async (wanted: string): Promise<void> => {
      for await (const piece of asking.iterator({ destroyOnReturn: false })) {
        text += String(piece)
        if (text.includes(wanted)) return
      }
    }
    await until('"position":2')
    await session.append(user('while it is open'))
    await until('while it is open')
    expect(text.match(/^event: row$/gm)).toHaveLength(2)
    asking.destroy()
  })
})
