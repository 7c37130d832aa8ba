/** The answers of a rerun: from the record, and with `--from` from the provider. */
import { forkSession, openSession, type SessionInfo } from 'indelible/session'
import type { Store } from 'indelible/store'
import { jsonOrText, isObject } from 'indelible/internal/json'
import type { ReceiptNote } from 'indelible/internal/notes'
import { detailsOf, recordingFetch, type RecordingFetch } from '@indelible/recorder'
import { carriesConversation } from '@indelible/recorder/internal'
import { callsOfSessions, fetchFrom, type Ignored } from '@indelible/recorder/internal/replay'
import type { ReplayingFetch } from '@indelible/recorder/replay'
import { upstreamsOf } from '../record/providers.ts'
import { valueOrUnreadable } from '../sources/place.ts'
import { Misuse, Unreadable, type Call } from '../terminal/command.ts'
import { countText, shellWord } from '../terminal/screen.ts'

/** The answers of a rerun. */
interface RerunAnswers {
  readonly answer: (request: Request, provider: string) => Promise<Response>
  /** The difference of the first call that is not as recorded. */
  readonly difference: () => string | undefined
  /** Report the rerun. @returns whether all calls were as recorded */
  readonly close: () => Promise<boolean>
}

/** Begin to answer. @param sessions the named session, then those beside it */
export const answersOf = async (
  store: Store,
  sessions: readonly SessionInfo[],
  from: number | undefined,
  ignore: readonly Ignored[],
  call: Call,
): Promise<RerunAnswers> => {
  const { terminal } = call
  const [named, ...others] = sessions as readonly [SessionInfo, ...SessionInfo[]]
  const live = from === undefined ? undefined : await forkAt(store, named.id, from, call)
  const replaying = (ids: readonly string[]): ReplayingFetch =>
    fetchFrom({ calls: () => callsOfSessions(store, ids), ignore, redact: undefined, recordAnew }, 'instant')
  const own = replaying([live?.fork ?? named.id])
  const beside = others.length === 0 ? undefined : replaying(others.map(({ id }) => id))
  let difference: string | undefined

  const fromRecord = async (request: Request): Promise<Response> => {
    const response = await own(request.clone())
    if (!isMiss(response)) return response
    const other = await beside?.(request.clone())
    return other === undefined || isMiss(other) ? response : other
  }
  return {
    answer: async (request, provider) => {
      const { method, url } = request
      if (live?.isAsked === true) return live.ask(request, provider)
      if (!carriesConversation({ method, url })) return own(request)
      const response = await fromRecord(request)
      if (!isMiss(response)) return response
      if (live !== undefined && own.summary().unused === 0) return live.ask(request, provider)
      difference ??= await reasonIn(response.clone())
      return response
    },
    difference: () => difference,
    close: async () => {
      await Promise.all([own.close().catch(() => {}), beside?.close().catch(() => {})])
      const { answered, unused } = own.summary()
      const all = answered + unused
      if (difference !== undefined) terminal.tell([...difference.split('\n'), ...raceLines(others)])
      terminal.tell([
        `${answered} of ${countText(all, 'call')} as recorded${beside === undefined ? '' : `, and ${countText(beside.summary().answered, 'call')} of ${countText(others.length, 'other session')}`}`,
        ...(difference === undefined && unused > 0
          ? [`${countText(unused, 'recorded call')} ${unused === 1 ? 'was' : 'were'} never asked`]
          : []),
        ...(ignore.length > 0 ? [`not compared: ${ignore.join(', ')}`] : []),
      ])
      await live?.close(named.id, call)
      return difference === undefined && unused === 0 && (live === undefined || live.isAsked)
    },
  }
}

/** What to do about a change that is meant, for messages. */
const recordAnew = 'record the program again with "indelible record"'

/** Whether the record has no answer. No provider sends this header with this status. */
const isMiss = ({ status, headers }: Response): boolean => status === 400 && headers.get('x-should-retry') === 'false'

const reasonIn = async (response: Response): Promise<string> => {
  const text = await response.text()
  const body = jsonOrText(text)
  const { message } = (isObject(body) && isObject(body['error']) ? body['error'] : {}) as { readonly message?: unknown }
  return typeof message === 'string' ? message : text
}

/** What to say of sub-agents that worked side by side. */
const raceLines = (others: readonly SessionInfo[]): readonly string[] => {
  for (const [index, session] of others.entries()) {
    const other = others
      .slice(index + 1)
      .find(({ created, appended }) => created <= session.appended && session.created <= appended)
    if (other !== undefined)
      return [
        `Sessions ${session.id} and ${other.id} were recorded side by side, and the order in which sub-agents end can change from run to run. If only that order differs above, this is a race: run it again. Calls are never matched loosely.`,
      ]
  }
  return []
}

/** The calls that go to the provider. */
interface LiveCalls {
  readonly fork: string
  isAsked: boolean
  readonly ask: (request: Request, provider: string) => Promise<Response>
  readonly close: (id: string, call: Call) => Promise<void>
}

/** Fork a session before a call. Throws Unreadable if it has no such call. */
const forkAt = async (store: Store, id: string, number: number, { values, terminal }: Call): Promise<LiveCalls> => {
  const session = await valueOrUnreadable(openSession(store, id))
  const receipts = [...session.notes()].filter(
    (note): note is ReceiptNote => note.type === 'receipt' && detailsOf(note as ReceiptNote, session) !== undefined,
  )
  await valueOrUnreadable(session.close())
  const receipt = receipts[number - 1]
  if (receipt === undefined)
    throw new Unreadable(
      `session ${id} has ${countText(receipts.length, 'recorded call')}, so it has no call ${number} for --from`,
    )
  const { model, upstream } = values
  if (upstream !== undefined && !/^https?:\/\/\S+$/.test(String(upstream)))
    throw new Misuse(`--upstream takes a URL, not "${String(upstream)}"`)
  const upstreams = upstreamsOf([], terminal)
  const before = detailsOf(receipt, session)?.requested ?? receipt.model
  const fork = await valueOrUnreadable(forkSession(store, id, { at: receipt.len }))
  await valueOrUnreadable(fork.close())
  let recording: RecordingFetch | undefined
  const live: LiveCalls = {
    fork: fork.id,
    isAsked: false,
    ask: async (request, provider) => {
      const isFirst = !live.isAsked
      live.isAsked = true
      recording ??= recordingFetch({ store, sessionOf: () => (first.pop() ? fork.id : undefined) })
      const { pathname, search } = new URL(request.url)
      const known = upstreams.find((upstream) => upstream.name === provider)
      const base = String(upstream ?? known?.urlOf?.(pathname) ?? known?.url).replace(/\/+$/, '')
      if (isFirst) first.push(true)
      const body = model === undefined ? await request.text() : withModel(await request.text(), before, String(model))
      const path = model === undefined ? pathname : pathname.replace(`/models/${before}:`, `/models/${String(model)}:`)
      const { method, headers, signal } = request
      return recording(`${base}${path}${search}`, { method, headers, signal, ...(body !== '' && { body }) })
    },
    close: async () => {
      if (recording === undefined) {
        await valueOrUnreadable(store.remove(fork.id))
        return terminal.tell([`call ${number} was not asked, so nothing was recorded`])
      }
      await recording.close()
      const { calls } = recording.summary()
      terminal.tell([
        `${countText(calls, 'call')} from call ${number} on went to the provider, recorded as ${fork.id}`,
        `  indelible diff ${shellWord(id)} ${shellWord(fork.id)}`,
      ])
    },
  }
  const first: true[] = []
  return live
}

const withModel = (body: string, before: string, model: string): string => {
  const value = jsonOrText(body)
  return isObject(value) && value['model'] === before ? JSON.stringify({ ...value, model }) : body
}
