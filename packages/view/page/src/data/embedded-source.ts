/** Reading what an exported file carries. */
import type { BlockId } from 'indelible/internal/proof'
import { exportedId, type ExportedView } from '../../../src/protocol.ts'
import { ReadFailure, type Source } from './source.ts'

/** The session in this file; undefined if the page comes from a server. */
export const embeddedSource = (): Source | undefined => {
  const text = document.getElementById(exportedId)?.textContent
  if (text === undefined || text === null) return undefined
  const { session, rows, nodes, blocks, library, evidence = {} } = JSON.parse(text) as ExportedView
  const requireOwnId = (id: string): void => {
    if (id !== session.id) throw new ReadFailure(`this file carries the session "${session.id}" only`)
  }
  return {
    exported: true,
    store: async () => ({ name: 'this file', scope: '', version: library }),
    sessions: async () => ({ sessions: [session], damaged: [] }),
    overviews: async () => [],
    session: async (id) => {
      requireOwnId(id)
      return session
    },
    rows: async (id, from, to) => {
      requireOwnId(id)
      return rows.slice(from, to)
    },
    nodes: async (_, from, to) =>
      Array.from({ length: Math.min(to, rows.length) - from }, (_, index) =>
        nodes.slice((from + index) * 64, (from + index + 1) * 64),
      ),
    blocks: async (ids) =>
      ids.map((id: BlockId) => (Object.hasOwn(blocks, id) ? bytesOf(blocks[id] as string) : undefined)),
    evidence: async () => evidence,
    follow: (_id, _from, { state }) => {
      state('ended')
      return () => {}
    },
  }
}

/** The id of the session in this file. */
export const embeddedId = async (source: Source): Promise<string> => (await source.sessions()).sessions[0]?.id ?? ''

const bytesOf = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
