/** The sessions that the server answers about: of the project, of those that are neither encrypted nor erased from. */
import { readSession, type SessionInfo } from 'indelible/session'
import type { Store } from 'indelible/store'
import { activityOf, importedFrom, workFolderOf } from '@indelible/view/internal'
import { titleOf as programTitle } from '../sources/agent-sessions.ts'
import { valueOrUnreadable } from '../sources/place.ts'
import { marksIn } from '../sources/session-badges.ts'
import { allSessions } from '../sources/sessions.ts'
import type { Terminal } from '../terminal/command.ts'
import { belongsTo, type Project } from './project.ts'

/** What the user allowed when the server was installed. No call can ask for more. */
export interface Bounds {
  /** Undefined: all projects. */
  readonly project: Project | undefined
  /** In milliseconds since 1970. Undefined: any time. */
  readonly since: number | undefined
}

/** The arguments by which a call asks for fewer sessions. */
export interface SessionFilter {
  readonly project?: string | undefined
  readonly program?: string | undefined
  readonly since?: number | undefined
}

/** After this, all sessions are listed again: some may have been removed, or have a time before that of others. */
const listedForMs = 60_000

export class ReadableSessions {
  readonly #store: Store
  readonly #bounds: Bounds
  readonly #terminal: Terminal
  #infos = new Map<string, SessionInfo>()
  #listedAt = -Infinity
  /** By folder, whether it is of the project; by session, whether it is. */
  #folders = new Map<string, boolean>()
  #belongs = new WeakMap<SessionInfo, boolean>()
  #read: { readonly id: string; readonly root: string; readonly positions: readonly number[] } | undefined
  #isErased: (info: SessionInfo) => boolean = () => false

  constructor(store: Store, bounds: Bounds, terminal: Terminal) {
    this.#store = store
    this.#bounds = bounds
    this.#terminal = terminal
  }

  /** Read what changed in the store since the last call. Cost: O(changed sessions); once a minute O(sessions). */
  async refresh(): Promise<void> {
    const now = performance.now()
    const isFull = now - this.#listedAt > listedForMs
    const infos = isFull ? new Map<string, SessionInfo>() : this.#infos
    if (isFull) this.#folders.clear() // a repository may be new; all descriptions are new too
    for await (const info of allSessions(this.#store, [], { by: 'appended', first: isFull ? 500 : 20 })) {
      if (!isFull && infos.get(info.id)?.head.root === info.head.root) break
      infos.set(info.id, info)
    }
    this.#infos = infos
    if (isFull) this.#listedAt = now
    const marks = await marksIn(this.#store, this.#terminal, infos.values())
    this.#isErased = (info) => marks(info).erased !== undefined
  }

  /** The description of a session; undefined if it is not answered about. */
  get(id: string): SessionInfo | undefined {
    const info = this.#infos.get(id)
    return info !== undefined && this.#isReadable(info) ? info : undefined
  }

  /** The number of sessions that a search can find at all: an index has no encrypted ones. */
  get size(): number {
    let size = 0
    for (const { encrypted, len } of this.#infos.values()) if (encrypted !== true && len > 0) size += 1
    return size
  }

  /** What the user allowed, as the end of a sentence. */
  get about(): string {
    const { project, since } = this.#bounds
    const of = project === undefined ? 'all projects' : JSON.stringify(project.folder.slice(-200))
    return `the sessions of ${of}${since === undefined ? '' : ` since ${new Date(since).toISOString()}`}`
  }

  /** The positions of a session's messages that are not retracted. Those of the last one are kept: an agent reads it in several calls. */
  async positions({ id, head: { root } }: SessionInfo): Promise<readonly number[]> {
    if (this.#read?.id !== id || this.#read.root !== root) {
      const conversation = (await valueOrUnreadable(readSession(this.#store, id))).conversation()
      const positions = Array.from({ length: conversation.length }, (_, index) => conversation.positionAt(index) ?? 0)
      this.#read = { id, root, positions }
    }
    return this.#read.positions
  }

  /** Those that match a filter, in any order. */
  matching(filter: SessionFilter): readonly SessionInfo[] {
    const found: SessionInfo[] = []
    for (const info of this.#infos.values()) if (matches(info, filter) && this.#isReadable(info)) found.push(info)
    return found
  }

  #isReadable(info: SessionInfo): boolean {
    const { project, since } = this.#bounds
    if (info.encrypted === true || info.len === 0 || this.#isErased(info)) return false
    if (since !== undefined && activityOf(info) < since) return false
    if (project === undefined) return true
    let belongs = this.#belongs.get(info)
    if (belongs === undefined) this.#belongs.set(info, (belongs = this.#isOf(project, info)))
    return belongs
  }

  #isOf(project: Project, info: SessionInfo): boolean {
    const folder = workFolderOf(info)
    if (folder === undefined) return false
    const known = this.#folders.get(folder) ?? belongsTo(project, folder)
    this.#folders.set(folder, known)
    return known
  }
}

/** Whether a session passes the filter of a call. A project is a folder, or the last name of one; a program any of its names. */
const matches = (info: SessionInfo, { project, program, since }: SessionFilter): boolean => {
  if (since !== undefined && activityOf(info) < since) return false
  if (program !== undefined) {
    const own = programOf(info)
    if (![own, programTitle(own)].some((name) => name.toLowerCase() === program.trim().toLowerCase())) return false
  }
  if (project === undefined) return true
  const folder = (workFolderOf(info) ?? '').replaceAll('\\', '/').replace(/\/+$/, '')
  const wanted = project.trim().replaceAll('\\', '/').replace(/\/+$/, '')
  return folder === wanted || folder.startsWith(`${wanted}/`) || folder.endsWith(`/${wanted}`)
}

/** The program that a session is of; `indelible` for one that was written here. */
export const programOf = (info: SessionInfo): string => {
  const { import: kept } = info.metadata
  const program = (kept as { readonly program?: unknown } | undefined)?.program ?? importedFrom(info)['format']
  return typeof program === 'string' ? program : 'indelible'
}
