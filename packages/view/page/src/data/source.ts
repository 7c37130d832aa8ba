/** Where the page reads: a server, or what an exported file carries. */
import { blockIdOf, portableSha256, type BlockId } from 'indelible/internal/proof'
import type {
  FoundBlock,
  FoundMessages,
  HtmlSelection,
  Overview,
  SessionList,
  Trace,
  Verdict,
  ViewedEvidence,
  ViewedRow,
  ViewedSession,
  ViewedSpending,
  ViewedStore,
} from '../../../src/protocol.ts'

export interface Source {
  /** Whether the page stands for itself, with one session and no server. */
  readonly exported: boolean
  readonly store: () => Promise<ViewedStore>
  /** A page of the sessions: the first, or that behind a cursor. */
  readonly sessions: (after?: string) => Promise<SessionList>
  readonly overviews: (ids: readonly string[]) => Promise<readonly Overview[]>
  readonly session: (id: string) => Promise<ViewedSession>
  /** Rejects with `ReadFailure` where rows can't be read. */
  readonly rows: (id: string, from: number, to: number) => Promise<readonly ViewedRow[]>
  /** The tree nodes beside rows, in hexadecimal digits. */
  readonly nodes: (id: string, from: number, to: number) => Promise<readonly string[]>
  readonly blocks: (ids: readonly BlockId[]) => Promise<readonly FoundBlock[]>
  /** Messages with these words, in all sessions; behind a cursor of the page before. Absent where nothing can be searched. */
  readonly search?: (words: string, after: string | undefined, signal: AbortSignal) => Promise<FoundMessages>
  /** What the calls of all sessions cost. Absent where the page is a file. */
  readonly spending?: () => Promise<ViewedSpending>
  /** The tool calls and sub-agents of a session. Absent where the page is a file, which has no other session. */
  readonly trace?: (id: string) => Promise<Trace>
  /** A session as a file. Absent where the page is one. */
  readonly html?: (selection: HtmlSelection) => Promise<Blob>
  /** What the store's own verification finds. Absent where there is no store. */
  readonly verdict?: (id: string, signal: AbortSignal) => Promise<Verdict>
  /** Where a session stands in the signed ledger. */
  readonly evidence: (id: string) => Promise<ViewedEvidence>
  /** Rows as they are appended. Gives a function that ends it. */
  readonly follow: (id: string, from: number, followed: FollowCallbacks) => () => void
}

/** What a follower is told. */
interface FollowCallbacks {
  readonly row: (row: ViewedRow) => void
  /** The root of so many first rows, if it is known. */
  readonly root: (size: number) => string | undefined
  /** It is live, or no longer, and why. */
  readonly state: (state: Exclude<LiveState, 'no'>, because?: string) => void
}

/**
 * Whether what is appended is shown. `ended`: the session is sealed, or the page is a file. `lost`: the server does not answer,
 * and is asked again. `replaced`: another session stands under its id. `fault`: it can't be read on.
 */
export type LiveState = 'no' | 'live' | 'ended' | 'lost' | 'removed' | 'replaced' | 'fault'

/** What could not be read, in a sentence, with the row where the damage is. */
export class ReadFailure extends Error {
  readonly position: number | undefined
  /** There is no such session. */
  readonly missing: boolean
  constructor(message: string, position?: number, missing = false) {
    super(message)
    this.position = position
    this.missing = missing
  }
}

/** The server did not answer, or not to this page: it may yet. */
export class NoAnswer extends ReadFailure {}

export { reasonOf } from 'indelible/internal/task'

/** Milliseconds until it is tried again. */
const [firstWait, longestWait] = [500, 15_000]

/** Tries until there is an answer, ever more rarely. Other failures are thrown. */
export const retryUntilAnswered = async <T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  lost: (cause: NoAnswer) => void,
): Promise<T> => {
  for (let wait = firstWait; ; wait = Math.min(wait * 2, longestWait)) {
    const since = performance.now()
    try {
      return await work()
    } catch (cause) {
      if (!(cause instanceof NoAnswer) || signal.aborted) throw cause
      lost(cause)
      if (performance.now() - since > longestWait) wait = firstWait
      await waited(wait, signal)
      if (signal.aborted) throw cause
    }
  }
}

/** Until the time is over, the network is back, another tab has a new key, or nobody waits any more. */
const waited = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = new AbortController()
    const end = (): void => {
      clearTimeout(timer)
      done.abort()
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    for (const event of ['online', 'storage']) addEventListener(event, end, { signal: done.signal })
    signal.addEventListener('abort', end, { signal: done.signal })
  })

/** All sessions, page by page: each time all that have come. A server that does not answer is asked again. */
export const allSessions = async (
  source: Source,
  gone: AbortSignal,
  come: (list: SessionList) => void,
  lost: (cause: NoAnswer) => void,
): Promise<void> => {
  let all: SessionList = { sessions: [], damaged: [] }
  for (let after: string | undefined, first = true; (first || after !== undefined) && !gone.aborted; first = false) {
    const page = await retryUntilAnswered(() => source.sessions(after), gone, lost)
    const known = new Set(all.damaged.map(({ id }) => id))
    after = page.next
    all = {
      sessions: [...all.sessions, ...page.sessions],
      damaged: [...all.damaged, ...page.damaged.filter(({ id }) => !known.has(id))],
      ...(after !== undefined && { next: after }),
    }
    come(all)
  }
}

/** The same source, whose blocks are checked against their ids. */
export const withBlockChecks = (source: Source): Source => ({
  ...source,
  blocks: async (ids) => {
    const found = await source.blocks(ids)
    return ids.map((id, index) => {
      const bytes = found[index]
      return bytes instanceof Uint8Array && blockIdOf(bytes, portableSha256) !== id ? 'altered' : bytes
    })
  },
})
