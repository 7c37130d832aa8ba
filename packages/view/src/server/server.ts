/** The read-only server of a view: the page, and the data that it reads from a store. */
import { checkStore } from 'indelible/internal/session'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { Trust } from '@indelible/evidence'
import { isBlockId } from 'indelible/internal/proof'
import { follow } from 'indelible/session'
import type { Store } from 'indelible/store'
import { headOf, rangeAt } from 'indelible/internal/store'
import { FaultError, reasonOf } from 'indelible/internal/task'
import { readAssets, type Asset, type Assets } from './assets.ts'
import { Keys } from './keys.ts'
import { overviewsOf } from './overview.ts'
import { spendingOf } from './spending.ts'
import { traceOf } from './trace.ts'
import { Verdicts } from './verdict.ts'
import {
  framedBlocks,
  mostBlocks,
  mostOverviews,
  mostRows,
  type Failure,
  type FoundMessages,
  type HtmlSelection,
  type ViewedEvidence,
  type ViewedStore,
} from '../protocol.ts'
import { searchStore } from 'indelible/search'
import { htmlOf } from './html.ts'
import { whyRefused } from '@indelible/recorder/internal/proxy'
import { isLeft, optionsOf, type OptionNames } from 'indelible/internal/json'
import { blocksOf, evidenceOf, nodesOf, rowsOf, sessionOf, sessionsOf, viewedRow } from './read-view.ts'

/** The options of a view. */
export interface ViewOptions {
  /** The store to view. It stays open when the server ends. */
  readonly store: Store
  /** The name for display. */
  readonly name: string
  /** The version of the library, shown on the page. */
  readonly version: string
  /** The address to listen on. Default: 127.0.0.1, which only this machine can reach. */
  readonly host?: string
  /** The port. Default: any free one. */
  readonly port?: number
  /** The keys whose signatures of the ledger count. Default: none; the page asks for them. */
  readonly trust?: Trust
}

/** A running view. */
export interface View {
  /** The port that it listens on. */
  readonly port: number
  /**
   * A URL that opens the page once: its token is exchanged for a key that the browser keeps.
   *
   * @param path the place in the page, such as `s/SESSION`. Default: the list of sessions
   */
  readonly open: (path?: string) => string
  /** End the server and its running calls. */
  readonly close: () => Promise<void>
}

/**
 * Serve a page that shows the sessions of a store. Anyone with a URL from `open` can read the whole
 * scope, but change nothing.
 *
 * @param options the store, and the address to listen on
 * @throws Error if the page was not built, or the address can't be used
 */
export const startView = async (options: ViewOptions): Promise<View> => {
  const { store, name, version, host = '127.0.0.1', port = 0, trust } = optionsOf('startView', options, optionNames)
  checkStore('startView', store)
  const assets = await readAssets()
  const keys = new Keys()
  const about: ViewedStore = { name, scope: store.scope, version }
  const verdicts = new Verdicts(store)
  const overviews = overviewsOf(store, verdicts)
  const spending = spendingOf(store)
  const calls: Calls = { store, about, keys, trust, verdicts, overviews, spending, followers: new Set() }
  const server = createServer((request, response) => {
    answer(request, response, host, assets, calls).catch((cause: unknown) => sendFailure(response, cause))
  })
  await new Promise<void>((listening, failed) => {
    server.once('error', failed)
    server.listen(port, host, listening)
  })
  const { port: own } = server.address() as AddressInfo
  const named = host.includes(':') ? `[${host}]` : host === '0.0.0.0' ? '127.0.0.1' : host
  return {
    port: own,
    open: (path = '') => `http://${named}:${own}/#token=${keys.issue()}${path === '' ? '' : `&to=${path}`}`,
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}

interface Calls {
  readonly store: Store
  readonly about: ViewedStore
  readonly keys: Keys
  readonly trust: Trust | undefined
  readonly verdicts: Verdicts
  readonly overviews: ReturnType<typeof overviewsOf>
  readonly spending: ReturnType<typeof spendingOf>
  readonly followers: Set<ServerResponse>
}

/** A request for something that does not exist or is invalid, with its status. */
class BadCall extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const answer = async (
  request: IncomingMessage,
  response: ServerResponse,
  host: string,
  assets: Assets,
  calls: Calls,
): Promise<void> => {
  for (const [header, value] of Object.entries(headers)) response.setHeader(header, value)
  const reason = whyRefused(opensPage(request) ? { host: request.headers.host } : request.headers, host, hostname())
  if (reason !== undefined) throw new BadCall(403, `refused: ${reason}`)
  const address = URL.parse(request.url ?? '/', 'http://view')
  if (address === null) throw new BadCall(400, `expected a path, found ${JSON.stringify(request.url)}`)
  const { pathname, searchParams } = address
  if (pathname.startsWith('/api/')) {
    const wanted = { calls, id: searchParams.get('id') ?? '', query: searchParams, request, response }
    return call(pathname.slice('/api/'.length), wanted)
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') throw new BadCall(405, 'this server only reads')
  const asset = assets.get(pathname === '/' ? 'index.html' : pathname.slice(1))
  if (asset === undefined) throw new BadCall(404, `there is no ${pathname}`)
  send(response, asset)
}

/**
 * Whether a browser opens the page in a window, which any link or file may do. The page alone
 * contains nothing of the store.
 */
const opensPage = ({ method, url, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  url === '/' &&
  headers['sec-fetch-mode'] === 'navigate' &&
  headers['sec-fetch-dest'] === 'document'

/** No other site may embed the page, only its own scripts may run, and nothing loads from elsewhere. */
const headers = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    'img-src blob: data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types worker',
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'cache-control': 'no-store',
} as const

const send = (response: ServerResponse, { type, bytes }: Pick<Asset, 'type' | 'bytes'>): void => {
  response.setHeader('content-type', type)
  response.setHeader('content-length', bytes.length)
  response.end(response.req.method === 'HEAD' ? undefined : bytes)
}

const sendJson = (response: ServerResponse, value: unknown): void =>
  send(response, { type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) })

const sendFailure = (response: ServerResponse, cause: unknown): void => {
  if (response.headersSent) return void response.destroy()
  response.statusCode = cause instanceof BadCall ? cause.status : isMissing(cause) ? 404 : 500
  const position = damagedRow(cause)
  sendJson(response, { error: reasonOf(cause), ...(position !== undefined && { position }) } satisfies Failure)
}

const damagedRow = (cause: unknown): number | undefined => {
  const position = cause instanceof FaultError && (cause.fault as { readonly position?: unknown }).position
  return typeof position === 'number' ? position : undefined
}

const isMissing = (cause: unknown): boolean =>
  cause instanceof FaultError && (cause.fault as { readonly _tag?: unknown })._tag === 'NoSuchLog'

/** A call whose key is known: what it asks for, and what it is answered with. */
interface Asked {
  readonly calls: Calls
  /** The session that it names. */
  readonly id: string
  readonly query: URLSearchParams
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** What each call is answered with: a value as JSON, or bytes; undefined if it was answered already. */
const answers: { readonly [name: string]: ((wanted: Asked) => unknown) | undefined } = {
  store: ({ calls }) => calls.about,
  sessions: ({ calls, query }) => sessionsOf(calls.store, query.get('after')),
  overviews: async ({ calls, request }) => calls.overviews(idsIn(await jsonOf(request))),
  session: ({ calls, id }) => sessionOf(calls.store, id),
  rows: ({ calls, id, query }) => {
    const [from, to] = rangeOf(query)
    return rowsOf(calls.store, id, from, to)
  },
  nodes: async ({ calls, id, query }) => {
    const [from, to] = rangeOf(query)
    const { head } = await sessionOf(calls.store, id)
    return nodesOf(calls.store, id, from, Math.min(to, head.size))
  },
  blocks: async ({ calls, request }) => {
    const ids = await jsonOf(request)
    if (!Array.isArray(ids) || ids.length > mostBlocks || !ids.every(isBlockId))
      throw new BadCall(400, `expected at most ${mostBlocks} ids of blocks`)
    return framedBlocks(await blocksOf(calls.store, ids))
  },
  verdict: ({ calls, id, response }) => {
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    return calls.verdicts.verify(id, gone.signal)
  },
  evidence: async ({ calls: { store, trust }, id }): Promise<ViewedEvidence> => ({
    ...(await evidenceOf(store, id)),
    ...(trust && { trust }),
  }),
  spending: ({ calls }) => calls.spending(),
  trace: ({ calls, id }) => traceOf(calls.store, id),
  search: ({ calls, query }) => findInStore(calls.store, query),
  html: async ({ calls, request, response }) => {
    const { id, ...selection } = selectionOf(await jsonOf(request))
    const lines = await htmlOf(calls.store, id, { ...selection, version: calls.about.version })
    response.setHeader('content-disposition', 'attachment')
    return Buffer.from(`${lines.join('\n')}\n`)
  },
  follow: ({ calls: { store, followers }, id, query, request, response }) => {
    if (followers.size >= mostFollowers)
      throw new BadCall(503, `${mostFollowers} pages already get live updates; close one of them`)
    followers.add(response)
    response.on('close', () => followers.delete(response))
    const root = query.get('root') ?? undefined
    return stream(request, response, store, id, { size: positionIn(query, 'from'), root })
  },
}

const call = async (name: string, wanted: Asked): Promise<void> => {
  const { calls, request, response } = wanted
  const method = isPosted.has(name) ? 'POST' : 'GET'
  if (request.method !== method) throw new BadCall(405, `api/${name} takes ${method} only`)
  if (name === 'enter') {
    const body = await jsonOf(request)
    const key = calls.keys.exchange((body as { readonly token?: unknown } | null)?.token)
    if (key === undefined) throw new BadCall(401, 'this address was already used, or belongs to another server')
    return sendJson(response, { key })
  }
  if (!calls.keys.opens(request.headers.authorization))
    throw new BadCall(401, 'the key of this browser belongs to another server')
  const answerOf = Object.hasOwn(answers, name) ? answers[name] : undefined
  if (answerOf === undefined) throw new BadCall(404, `there is no api/${name}`)
  const found = await answerOf(wanted)
  if (found instanceof Uint8Array) send(response, { type: 'application/octet-stream', bytes: found })
  else if (found !== undefined) sendJson(response, found)
}

/** Calls whose arguments do not fit into a URL. */
const isPosted: ReadonlySet<string> = new Set(['enter', 'overviews', 'blocks', 'html'])

const idsIn = (value: unknown): readonly string[] => {
  if (!Array.isArray(value) || value.length > mostOverviews || !value.every((id) => typeof id === 'string'))
    throw new BadCall(400, `expected at most ${mostOverviews} ids of sessions`)
  return value
}

const mostFound = 50

/** The most followers: each holds a connection, and keeps polling the store. */
const mostFollowers = 100

const findInStore = async (store: Store, query: URLSearchParams): Promise<FoundMessages> => {
  const after = query.get('after')
  const words = query.get('words') ?? ''
  const page = await searchStore(store, words, {
    typing: true,
    limit: mostFound,
    ...(after !== null && { after }),
  })()
  if (isLeft(page) && page.left._tag === 'EmptyQuery') return { hits: [] }
  const { hits, next } = isLeft(page) ? await searchStore(store, words) : page.right
  return {
    hits: hits.map(({ session, position, role, excerpt: { text, marks } }) => ({
      session,
      position,
      role,
      text,
      marks,
    })),
    ...(next !== undefined && { next }),
  }
}

const selectionOf = (input: unknown): HtmlSelection => {
  const { id, from, to, only, redact } = (input ?? {}) as { readonly [name in keyof HtmlSelection]?: unknown }
  const isPosition = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
  if (
    typeof id !== 'string' ||
    ![from, to].every((value) => value === undefined || isPosition(value)) ||
    !(only === undefined || (Array.isArray(only) && only.every(isPosition)))
  )
    throw new BadCall(400, 'expected a selection of a session')
  return {
    id,
    ...(isPosition(from) && { from }),
    ...(isPosition(to) && { to }),
    ...(only !== undefined && { only }),
    redact: redact === true,
  }
}

const rangeOf = (query: URLSearchParams): readonly [from: number, to: number] => {
  const from = positionIn(query, 'from')
  return [from, Math.min(positionIn(query, 'to'), from + mostRows)]
}

const positionIn = (query: URLSearchParams, name: string): number => {
  const text = query.get(name) ?? ''
  if (!/^\d{1,15}$/.test(text)) throw new BadCall(400, `${name} takes a position, not ${JSON.stringify(text)}`)
  return Number(text)
}

const mostPosted = 1 << 20

const jsonOf = async (request: IncomingMessage): Promise<unknown> => {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > mostPosted) throw new BadCall(413, `a call takes at most ${mostPosted} bytes`)
    pieces.push(piece)
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString()) as unknown
  } catch {
    throw new BadCall(400, 'expected JSON')
  }
}

/**
 * Stream rows as they are committed, until the page closes or the session is sealed or removed. With a root, the
 * stream also ends when the first rows no longer match the page's: another session has taken the place of this one.
 */
const stream = async (
  request: IncomingMessage,
  response: ServerResponse,
  store: Store,
  id: string,
  { size, root }: { readonly size: number; readonly root: string | undefined },
): Promise<void> => {
  await sessionOf(store, id)
  const gone = new AbortController()
  request.on('close', () => gone.abort())
  response.on('close', () => gone.abort())
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(': follows\n\n')
  const beat = setInterval(() => response.write(': still here\n\n'), 20_000)
  const sendEvent = async (event: string, value: unknown): Promise<void> => {
    if (response.writableEnded) return
    if (response.write(`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`) || gone.signal.aborted) return
    await new Promise<void>((ready) => {
      response.once('drain', ready)
      gone.signal.addEventListener('abort', () => ready(), { once: true })
    })
  }
  const isSame = async (): Promise<boolean> => {
    const info = await store.info(id)()
    if (isLeft(info)) return true // reported by the read below
    if (info.right.head.size < size) return false
    const range = await rangeAt(store, id, size)()
    return isLeft(range) || headOf(range.right, store.hash).root === root
  }
  const refreshFollower = async (): Promise<void> => {
    if (root === undefined || gone.signal.aborted || (await isSame()) || gone.signal.aborted) return
    await sendEvent('replaced', {})
    gone.abort()
  }
  let unwatch: (() => void) | undefined
  try {
    unwatch = await store.watch(id, () => void refreshFollower().catch(() => {}))
    await refreshFollower()
    for await (const row of follow({ store, id }, { from: size, signal: gone.signal }))
      await sendEvent('row', viewedRow(row))
    await sendEvent('end', {})
  } catch (cause) {
    await sendEvent(isMissing(cause) ? 'removed' : 'fault', { error: reasonOf(cause) } satisfies Failure)
  } finally {
    unwatch?.()
    clearInterval(beat)
    response.end()
  }
}

const optionNames: OptionNames<ViewOptions> = {
  store: true,
  name: true,
  version: true,
  host: true,
  port: true,
  trust: true,
}
