/** Reading from the server that gave the page. */
import {
  blocksInFrames,
  mostBlocks,
  type Entered,
  type Failure,
  type FoundBlock,
  type FoundMessages,
  type Overview,
  type SessionList,
  type Trace,
  type Verdict,
  type ViewedEvidence,
  type ViewedRow,
  type ViewedSession,
  type ViewedSpending,
  type ViewedStore,
} from '../../../src/protocol.ts'
import { reasonOf, NoAnswer, ReadFailure, retryUntilAnswered, type Source } from './source.ts'

/** Under which name the browser keeps the key. Only pages of this host and port see it. */
const keyName = 'indelible.key'

/**
 * Exchange the token of the address for a key, and take it out of the address. Other tabs of this browser then need no
 * token.
 *
 * @throws NoAnswer if the address was used before
 */
export const exchangeToken = async (): Promise<void> => {
  const fields = addressFields()
  const token = fields.get('token')
  if (token === null) return
  history.replaceState(null, '', `#/${fields.get('to') ?? ''}`)
  dispatchEvent(new Event('hashchange'))
  const response = await fetch('api/enter', { method: 'POST', body: JSON.stringify({ token }) })
  if (response.ok) localStorage.setItem(keyName, ((await response.json()) as Entered).key)
  else if (localStorage.getItem(keyName) === null) throw await failureOfResponse(response)
}

/** Whether the address has a token. */
export const hasToken = (): boolean => addressFields().has('token')

const addressFields = (): URLSearchParams => new URLSearchParams(location.hash.slice(1))

export const servedSource = (): Source => ({
  exported: false,
  store: () => json<ViewedStore>('store'),
  sessions: (after) => json<SessionList>('sessions', after === undefined ? {} : { after }),
  overviews: (ids) => json<readonly Overview[]>('overviews', {}, postOf(ids)),
  session: (id) => json<ViewedSession>('session', { id }),
  rows: (id, from, to) => json<readonly ViewedRow[]>('rows', { id, from, to }),
  nodes: (id, from, to) => json<readonly string[]>('nodes', { id, from, to }),
  blocks: async (ids) => {
    const found: FoundBlock[] = []
    for (let at = 0; at < ids.length; at += mostBlocks) {
      const response = await call('blocks', {}, postOf(ids.slice(at, at + mostBlocks)))
      const frames = new Uint8Array(await readWhole(response, (body) => body.arrayBuffer()))
      for (const block of blocksInFrames(frames)) found.push(block)
    }
    return found
  },
  spending: () => json<ViewedSpending>('spending'),
  trace: (id) => json<Trace>('trace', { id }),
  search: (words, after, signal) => json<FoundMessages>('search', { words, ...(after && { after }) }, { signal }),
  html: async (selection) =>
    new Blob([await readWhole(await call('html', {}, postOf(selection)), (response) => response.arrayBuffer())], {
      type: 'text/html',
    }),
  verdict: (id, signal) => json<Verdict>('verdict', { id }, { signal }),
  evidence: (id) => json<ViewedEvidence>('evidence', { id }),
  follow: (id, from, followed) => {
    const ended = new AbortController()
    let next = from
    const read = async (): Promise<void> => {
      const root = followed.root(next)
      const response = await call('follow', { id, from: next, ...(root && { root }) }, { signal: ended.signal })
      followed.state('live')
      for await (const { event, data } of eventsOf(response)) {
        if (event === 'row') {
          const row = JSON.parse(data) as ViewedRow
          next = row.position + 1
          followed.row(row)
        } else {
          const state = event === 'removed' || event === 'replaced' || event === 'fault' ? event : 'ended'
          return followed.state(state, (JSON.parse(data) as Partial<Failure>).error)
        }
      }
      throw new NoAnswer(noAnswerText)
    }
    retryUntilAnswered(read, ended.signal, ({ message }) => followed.state('lost', message)).catch((cause: unknown) => {
      if (ended.signal.aborted) return
      const gone = cause instanceof ReadFailure && cause.missing
      followed.state(gone ? 'removed' : 'fault', reasonOf(cause))
    })
    return () => ended.abort()
  },
})

type Query = { readonly [name: string]: string | number }

const call = async (name: string, query: Query, init: RequestInit = {}): Promise<Response> => {
  const search = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]))
  const response = await fetch(`api/${name}?${search}`, {
    ...init,
    headers: { authorization: `Bearer ${localStorage.getItem(keyName) ?? ''}` },
  }).catch((cause: unknown) => {
    if (init.signal?.aborted === true) throw cause
    throw new NoAnswer(noAnswerText)
  })
  if (!response.ok) throw await failureOfResponse(response)
  return response
}

const postOf = (value: unknown): RequestInit => ({ method: 'POST', body: JSON.stringify(value) })

const noAnswerText = 'the server does not answer; it may have ended: run "indelible view" again'

const json = async <T>(name: string, query: Query = {}, init: RequestInit = {}): Promise<T> =>
  (await readWhole(await call(name, query, init), (response) => response.json())) as T

const failureOfResponse = async (response: Response): Promise<ReadFailure> => {
  const failure = (await response.json().catch(() => undefined)) as
    | (Failure & { readonly position?: number })
    | undefined
  const reason = failure?.error ?? `the server answers with ${response.status}`
  if (response.status === 401)
    return new NoAnswer(`this page may not read the store: ${reason}; open the address that "indelible view" prints`)
  return new ReadFailure(reason, failure?.position, response.status === 404)
}

/** A body that comes to its end. */
const readWhole = async <T>(response: Response, read: (response: Response) => Promise<T>): Promise<T> =>
  read(response).catch((cause: unknown) => {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new NoAnswer(noAnswerText)
  })

/** The events of a stream. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html */
async function* eventsOf(response: Response): AsyncGenerator<{ readonly event: string; readonly data: string }> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const piece = await reader?.read().catch(() => {
      throw new NoAnswer(noAnswerText)
    })
    if (piece === undefined || piece.done) return
    const events = (rest + piece.value).split('\n\n')
    rest = events.pop() ?? ''
    for (const text of events) {
      const event = /^event: (.*)$/m.exec(text)?.[1]
      const data = /^data: (.*)$/m.exec(text)?.[1]
      if (event !== undefined && data !== undefined) yield { event, data }
    }
  }
}
