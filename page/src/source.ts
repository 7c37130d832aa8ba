/** Where the page reads: a server, or what an exported file carries. */
import { blockIdOf, portableSha256, type BlockId } from 'indelible/proof'
import type {
  FoundMessages,
  HtmlSelection,
  Overview,
  SessionList,
  ViewedRow,
  ViewedSession,
  ViewedStore,
} from 'indelible/view'

export interface Source {
  /** Whether the page stands for itself, with one session and no server. */
  readonly exported: boolean
  readonly store: () => Promise<ViewedStore>
  readonly sessions: () => Promise<SessionList>
  readonly overviews: (ids: readonly string[]) => Promise<readonly Overview[]>
  readonly session: (id: string) => Promise<ViewedSession>
  /** Rejects with `Unread` where rows can't be read. */
  readonly rows: (id: string, from: number, to: number) => Promise<readonly ViewedRow[]>
  /** The tree nodes beside rows, in hexadecimal digits. */
  readonly nodes: (id: string, from: number, to: number) => Promise<readonly string[]>
  /** Bytes that are not what their ids say are as good as missing. */
  readonly blocks: (ids: readonly BlockId[]) => Promise<readonly (Uint8Array | undefined)[]>
  /** Messages with these words, in all sessions; behind a cursor of the page before. Absent where nothing can be searched. */
  readonly search?: (words: string, after: string | undefined, signal: AbortSignal) => Promise<FoundMessages>
  /** A session as a file. Absent where the page is one. */
  readonly html?: (selection: HtmlSelection) => Promise<Blob>
  /** Rows as they are appended. Gives a function that ends it. */
  readonly follow: (id: string, from: number, followed: Followed) => () => void
}

/** What a follower is told. */
export interface Followed {
  readonly row: (row: ViewedRow) => void
  /** It is live, or no longer: sealed, removed, or the server is gone. */
  readonly state: (state: 'live' | 'ended' | 'lost') => void
}

/** What could not be read, in a sentence, with the row where the damage is. */
export class Unread extends Error {
  readonly position: number | undefined
  constructor(message: string, position?: number) {
    super(message)
    this.position = position
  }
}

/** The same source, whose blocks are checked against their ids. */
export const checked = (source: Source): Source => ({
  ...source,
  blocks: async (ids) => {
    const found = await source.blocks(ids)
    return ids.map((id, index) => {
      const bytes = found[index]
      return bytes !== undefined && blockIdOf(bytes, portableSha256) === id ? bytes : undefined
    })
  },
})
