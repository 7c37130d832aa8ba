/** The inbox of a scope: which calls wait for a person, over all its sessions. */
import { describe, isLeft, optionsOf, present } from '../../json/index.ts'
import { readSession, type ReadSessionFault } from '../../session/index.ts'
import { checkStore, sessionFaultText } from '../../session/internal.ts'
import type { ListFault, LogInfo, Store } from '../../store/index.ts'
import { amount, fail, need, type Steps, type Task } from '../../task/index.ts'
import { sessionSteps } from '../../session/fault.ts'
import type { WaitingCall } from '../open-answer.ts'
import { waitingStep } from './start.ts'
import { markedSession, markerPrefix } from '../recording/waiting-marker.ts'

/** A call of the inbox. */
export interface InboxCall extends WaitingCall {
  /** The id of its session: open it, and pass the token `approval` to `resume`. */
  readonly session: string
  /** When the session began to wait, in milliseconds since 1970. */
  readonly since: number
  /** Whether a run had started the call before it died: it may have had side effects. */
  readonly started?: true
}

/** One page of the inbox. */
export interface InboxPage {
  /** The calls, the longest waiting first. */
  readonly calls: readonly InboxCall[]
  /** Sessions with waiting calls that can't be read, and why. Absent if there are none. */
  readonly unread?: readonly { readonly session: string; readonly reason: string }[]
  /** The cursor of the next page: pass it as `after`. Absent on the last page. */
  readonly next?: string
}

/** Selects a page of the inbox. */
export interface InboxQuery {
  /** The maximum number of calls, from 1 to 1,000. Default: 100. */
  readonly limit?: number
  /** The `next` of the page before. Default: the first page. */
  readonly after?: string
}

/**
 * List the calls that wait for a person, over all sessions of the store's scope, the longest waiting first: those that need
 * an approval, and those of tools without `run`, which need a result. Reading changes nothing.
 *
 * A session shows up when its run ends with `approval`, and is gone once the calls are decided or denied by a new
 * input. A fork or a copy of it shows up when a run of its own ends with `approval`.
 *
 * Cost    O(waiting sessions) for the list of their ids, and that of reading each session of the page
 *
 * @param store the store
 * @param options the page size, and the cursor of the page before
 * @returns one page
 * @throws TypeError if `limit` is out of range, or `after` is not the `next` of a page
 * @example
 * const { calls, next } = await listWaiting(store)
 * await resume(await openSession(store, calls[0].session), { model, tools, approve: [calls[0].approval] }).result()
 */
export const listWaiting = (store: Store, options: InboxQuery = {}): Task<ListFault | ReadSessionFault, InboxPage> => {
  checkStore('listWaiting', store)
  const { limit = 100, after } = optionsOf('listWaiting', options, { limit: true, after: true })
  amount('listWaiting: limit', limit, { unit: 'calls', least: 1, most: 1000, whole: true })
  const from = cursorOf(after)
  return sessionSteps(async function* () {
    const calls: InboxCall[] = []
    const unread: { readonly session: string; readonly reason: string }[] = []
    for (const marker of yield* markersIn(store)) {
      const order = from === undefined ? 1 : compare(marker, from)
      if (order < 0) continue
      const session = markedSession(marker)
      if (session === undefined) continue
      const found = yield* waitingIn(store, session, marker.created)
      if (typeof found === 'string') {
        if (order > 0) unread.push(Object.freeze({ session, reason: found }))
        continue
      }
      const known = order === 0 ? (from?.calls ?? 0) : 0
      const more = found.slice(known, known + limit - calls.length)
      calls.push(...more)
      if (known + more.length < found.length) {
        const next = `${marker.created}.${marker.id.slice(markerPrefix.length)}.${known + more.length}`
        return page(calls, unread, next)
      }
    }
    return page(calls, unread, undefined)
  }, 'listWaiting')
}

const page = (
  calls: readonly InboxCall[],
  unread: NonNullable<InboxPage['unread']>,
  next: string | undefined,
): InboxPage =>
  Object.freeze({
    calls: Object.freeze(calls),
    ...(unread.length > 0 && { unread: Object.freeze(unread) }),
    ...present({ next }),
  })

/** The waiting calls of a session; the reason why it can't be read, as a text. */
async function* waitingIn(
  store: Store,
  id: string,
  since: number,
): Steps<ListFault | ReadSessionFault, readonly InboxCall[] | string> {
  const read = await readSession(store, id)()
  if (isLeft(read)) {
    const { _tag } = read.left
    if (_tag === 'NoSuchLog' || _tag === 'NotASession') return []
    if (_tag === 'Io' || _tag === 'Closed' || _tag === 'Busy') yield* fail(read.left)
    return sessionFaultText(read.left)
  }
  if (read.right.state === 'sealed') return []
  const open = waitingStep(read.right)
  return (open?.calls ?? []).map((call) =>
    Object.freeze({
      ...call,
      session: id,
      since,
      ...(open?.started?.includes(call.id) === true && { started: true as const }),
    }),
  )
}

/** The markers, the oldest first. */
async function* markersIn(store: Store): Steps<ListFault, readonly LogInfo[]> {
  const markers: LogInfo[] = []
  for (let after: string | undefined = markerPrefix; after !== undefined;) {
    const { logs, next }: { readonly logs: readonly LogInfo[]; readonly next?: string } = yield* need(
      store.list({ by: 'id', after, limit: 1000 }),
    )
    const own = logs.filter(({ id }) => id.startsWith(markerPrefix))
    markers.push(...own)
    after = own.length === logs.length ? next : undefined
  }
  return markers.toSorted(compare)
}

interface Place {
  readonly created: number
  readonly id: string
}

const compare = (left: Place, right: Place): number =>
  left.created - right.created || (left.id < right.id ? -1 : left.id > right.id ? 1 : 0)

/** The place of a cursor. Throws TypeError if it is not one. */
const cursorOf = (after: string | undefined): (Place & { readonly calls: number }) | undefined => {
  if (after === undefined) return undefined
  const found = typeof after === 'string' ? /^(\d{1,16})\.([\w-]+)\.(\d{1,9})$/.exec(after) : null
  if (found === null)
    throw new TypeError(`listWaiting: \`after\` is ${describe(after)}; expected the \`next\` of another page`)
  const [, created, name, calls] = found
  return { created: Number(created), id: `${markerPrefix}${name}`, calls: Number(calls) }
}
