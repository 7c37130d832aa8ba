/**
 * The runs of recorders: calls that a killed run left unanswered are marked by the next run.
 *
 * A run is a log in the store with a lease that it renews; the log is removed when the run ends. A
 * log whose lease has expired, or whose process on this machine is gone, belongs to a killed run.
 */
import { hostname } from 'node:os'
import { isLeft } from 'indelible/internal/json'
import { digestOf } from 'indelible/internal/proof'
import { listSessions, type SessionInfo } from 'indelible/session'
import type { LogInfo, Store } from 'indelible/store'
import { ownStore } from 'indelible/internal/store'
import { pagesOf } from 'indelible/internal/task'
import { openConversation } from '../conversations/conversation.ts'
import { detailsJson, runsOf, type CallDetails } from '../conversations/receipt.ts'

export interface Run {
  /** Resolves to the number of calls marked: their recorder was killed before their answers were recorded. */
  readonly marked: Promise<number>
  /** End the run in good order. */
  readonly end: () => Promise<void>
}

const mark = 'indelible.recorder.run'

/** The milliseconds for which a run counts as alive without renewing its lease. */
const ttl = 60_000

/**
 * Begin a run on a store, one for each recorded scope. It never throws; if the store fails, nothing is marked.
 *
 * Cost    one listing of the store's logs; if a run was killed, one row of each session appended to since it began
 *
 * @param marks whether to mark the calls of killed runs. A replay of a spool only keeps others from
 *   marking its sessions
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

/** Mark the calls of killed runs, and remove those runs. */
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

/** Add a receipt to each call without one, in sessions appended to between two times. */
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
  const question = conversation.at(conversation.len - 1)
  const isAnswered = question === undefined || question.role === 'assistant'
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
