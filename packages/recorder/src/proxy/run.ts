/**
 * The runs of recorders: what one that was killed left without an answer is marked by the next one.
 *
 * A run is a log of its own in the store, with a lease that it renews while it lives, and is removed when it ends. A log
 * whose lease has expired, or whose process is gone from this machine, is of a run that was killed.
 */
import { hostname } from 'node:os'
import { isLeft } from 'indelible/json/kit'
import { digestOf } from 'indelible/proof/kit'
import { listSessions, type SessionInfo } from 'indelible/session'
import type { LogInfo, Store } from 'indelible/store'
import { ownStore } from 'indelible/store/kit'
import { pagesOf } from 'indelible/task/kit'
import { openConversation } from '../conversation.ts'
import { detailsJson, runsOf, type CallDetails } from '../receipt.ts'

/** A run of a recorder. */
export interface Run {
  /** Resolves to the number of calls that were marked: their recorder was killed before their answers were recorded. */
  readonly marked: Promise<number>
  /** The run has ended in good order. */
  readonly end: () => Promise<void>
}

const mark = 'indelible.recorder.run'

/** Milliseconds that a run is taken to live without a renewal. */
const ttl = 60_000

/**
 * Begin a run on a store: one for each scope that is recorded into. It never throws; a store that fails marks nothing.
 *
 * Cost    a look at the store's logs; if a run was killed, one row of each session that was appended to since it began
 *
 * @param marks whether it marks what killed runs left. One that replays a spool only keeps others from marking its sessions.
 */
export const beginRun = (store: Store, marks = true): Run => {
  const id = `${mark}.${crypto.randomUUID()}`
  const began = store.now()
  let timer: NodeJS.Timeout | undefined
  let ended = false
  const begun = (async (): Promise<number> => {
    const holder = `${hostname()}:${process.pid}`
    const made = await ownStore(store).create({ id, meta: { [mark]: 1, began, holder }, encrypt: false })()
    if (isLeft(made)) return 0
    const lease = await store.lease(id, { holder, ttl })()
    if (!isLeft(lease) && !ended) {
      const { number } = lease.right
      timer = setInterval(() => void store.renew(id, { number, ttl })(), ttl / 3)
      timer.unref()
    }
    return marks ? markKilled(store, id) : 0
  })()
  const marked = begun.catch(() => 0)
  return {
    marked,
    end: async () => {
      ended = true
      await marked
      clearInterval(timer)
      await ownStore(store).remove(id)()
    },
  }
}

/** Mark what killed runs left, and forget them. */
const markKilled = async (store: Store, own: string): Promise<number> => {
  const logs: LogInfo[] = []
  for await (const page of pagesOf((from) => store.list({ limit: 1000, where: { [mark]: 1 }, ...from })())) {
    if (isLeft(page)) return 0
    logs.push(...page.right.logs.filter(({ id }) => id !== own))
  }
  const isKilled = await Promise.all(logs.map((log) => hasEnded(store, log)))
  const killed = logs.filter((_, index) => isKilled[index])
  if (killed.length === 0) return 0
  const since = Math.min(...killed.map(({ created }) => created))
  // Calls appended since another run began may belong to that run and still be open.
  const until = Math.min(Infinity, ...logs.filter((_, index) => !isKilled[index]).map(({ created }) => created))
  const marked = await markUnanswered(store, since, until)
  if (until === Infinity) for (const { id } of killed) await ownStore(store).remove(id)()
  return marked
}

/** Whether the process of a run is gone. */
const hasEnded = async (store: Store, { id, meta }: LogInfo): Promise<boolean> => {
  const lease = await store.leaseOf(id)()
  if (isLeft(lease)) return false
  if (lease.right === undefined) return true
  const [, host, pid] = /^(.*):(\d+)$/.exec(String(meta['holder'])) ?? []
  if (host !== hostname()) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/** Write a receipt behind each call that has none, of sessions that were appended to between two times. */
const markUnanswered = async (store: Store, since: number, until: number): Promise<number> => {
  let marked = 0
  for await (const page of pagesOf((from) => listSessions(store, { limit: 1000, by: 'appended', ...from })())) {
    if (isLeft(page)) return marked
    for (const info of page.right.sessions) {
      if (info.appended < since) return marked
      if (info.appended < until && info.metadata['recorder'] !== undefined && (await markSession(store, info))) marked++
    }
  }
  return marked
}

const markSession = async (store: Store, { id, head, metadata, appended }: SessionInfo): Promise<boolean> => {
  const last = await store.read(id, { from: Math.max(0, head.size - 1), to: head.size })()
  // A receipt ends every call.
  if (isLeft(last) || last.right.length === 0 || last.right[0]?.body.startsWith('{"type":"receipt"') === true)
    return false
  const opened = await openConversation(store, id)
  if (isLeft(opened)) return false
  const conversation = opened.right
  const { session } = conversation
  const asked = conversation.at(conversation.len - 1)
  const isAnswered = asked === undefined || asked.role === 'assistant'
  const sent = runsOf(Array.from({ length: conversation.len }, (_, index) => conversation.entryAt(index)))
  const done = isAnswered
    ? undefined
    : await conversation.finish([], {
        type: 'receipt',
        len: session.len,
        head: session.head(),
        contextDigest: digestOf(JSON.stringify(sent)),
        model: String(metadata['model'] ?? 'unknown'),
        details: detailsJson({
          api: String(metadata['recorder']) as CallDetails['api'],
          sent,
          at: appended,
          duration: 0,
          error: 'the recorder was killed before the answer was recorded',
        }),
      })
  await session.close()()
  return done !== undefined && !isLeft(done)
}
