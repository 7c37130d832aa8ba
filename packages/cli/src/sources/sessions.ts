/** The sessions of a store, and look-up by the text that a user typed. */
import { existsSync } from 'node:fs'
import { isLeft, present } from 'indelible/internal/json'
import { describeSession, listSessions, type SessionInfo } from 'indelible/session'
import type { ListQuery, Store } from 'indelible/store'
import { didYouMean } from './advice.ts'
import { Unreadable, type Call, type Terminal } from '../terminal/command.ts'
import { valueOrUnreadable, headText, withStore } from './place.ts'
import { idStart, isLongOn, matchesIdPattern, shortIds } from './short-ids.ts'
import { countText, oneLine, shellWord } from '../terminal/screen.ts'
import { activityOf } from '@indelible/view/internal'
import type { DamagedEntry } from 'indelible/internal/store'

/**
 * Sessions of a scope, newest first or in the order `by`, behind the cursor `after`; unreadable logs go into `damaged`.
 * Pages grow from `first`.
 */
export async function* allSessions(
  store: Store,
  damaged: DamagedEntry[] = [],
  { by = 'created', first = 500, after: from }: Pick<ListQuery, 'by' | 'after'> & { readonly first?: number } = {},
): AsyncGenerator<SessionInfo> {
  let after = from
  let limit = first
  do {
    const page = await valueOrUnreadable(listSessions(store, { by, limit, ...(after !== undefined && { after }) }))
    limit = Math.min(500, 2 * limit)
    yield* page.sessions
    for (const entry of page.damaged ?? []) damaged.push(entry)
    after = page.next
  } while (after !== undefined)
}

/** The same, all at once. */
export const sessionsIn = async (store: Store, damaged?: DamagedEntry[]): Promise<readonly SessionInfo[]> => {
  const infos: SessionInfo[] = []
  for await (const info of allSessions(store, damaged)) infos.push(info)
  return infos
}

/** A line about a session that can't be read. */
export const damagedText = ({ id, reason }: DamagedEntry): string => `${oneLine(id)} is damaged: ${reason}`

/** The fields of a session for programs. */
export const sessionFields = (info: SessionInfo): object =>
  present({
    ...info,
    encrypted: undefined,
    head: headText(info.head),
    created: new Date(info.created).toISOString(),
    appended: new Date(info.appended).toISOString(),
  })

/** Run work on the session that `given` names, or on the latest one, in the store that the options name. */
export const withSession = async <T>(
  call: Call,
  name: string | undefined,
  work: (store: Store, id: string) => Promise<T>,
): Promise<T> => withStore(call, {}, async (store) => work(store, await sessionOrLatest(store, name, call.terminal)))

/** Like `sessionOrAdvice`; without a text the session with the latest activity. */
export const sessionOrLatest = async (store: Store, name: string | undefined, terminal: Terminal): Promise<string> =>
  name === undefined ? latestSession(store, terminal) : sessionOrAdvice(store, name, terminal)

/** The session with the latest activity. Throws Unreadable if the scope has none. */
export const latestSession = async (store: Store, terminal: Terminal): Promise<string> => {
  let latest: SessionInfo | undefined
  for await (const info of allSessions(store, [], { by: 'appended', first: 20 })) {
    if (latest !== undefined && activityOf(latest) >= info.appended) break // no later one is more recent
    if (latest === undefined || activityOf(info) > activityOf(latest)) latest = info
  }
  if (latest === undefined) throw new Unreadable(await noSessionsText(store, terminal))
  terminal.tell([`latest session: ${latest.id}`])
  return latest.id
}

/** A sentence about a scope without sessions: where there are some, and how to bring them in. */
export const noSessionsText = async (store: Store, { env }: Terminal): Promise<string> => {
  const others = await scopesBeside(store)
  if (others.length > 0)
    return `no sessions in the scope ${JSON.stringify(store.scope)}, but in ${namesOf(others)}: --scope NAME, or --all-scopes`
  const { importAdvice } = await import('./machine-sessions.ts')
  return `no sessions yet; ${(await importAdvice(env)) ?? '"indelible import FILE" creates one'}`
}

/** Like `findSessionId`; if a file of that name exists, the error mentions it. */
export const sessionOrAdvice = async (store: Store, name: string, { path }: Terminal): Promise<string> => {
  try {
    return await findSessionId(store, name)
  } catch (error) {
    if (!(error instanceof Unreadable) || !existsSync(path(name))) throw error
    const file = shellWord(name)
    throw new Unreadable(
      `${name} is a file, but this command takes a SESSION: "indelible import ${file}" stores a conversation as a session; for a session of a store, write "--store ${file} SESSION"`,
    )
  }
}

/**
 * The same for operations that can't be undone: they require the whole id, and the error for a
 * beginning shows it. Throws Unreadable.
 */
export const wholeId = async (store: Store, name: string, terminal: Terminal): Promise<string> => {
  const id = await sessionOrAdvice(store, name, terminal).catch((error: unknown) => {
    throw error instanceof Unreadable ? new Unreadable(`${error.message}; nothing was changed`) : error
  })
  if (id === name) return id
  throw new Unreadable(
    `${JSON.stringify(name)} is only the beginning of an id; did you mean ${id}? This can't be undone, so write the whole id. Nothing was changed`,
  )
}

/**
 * The id of the session that a text names: a whole id, or a unique beginning. Throws Unreadable
 * with suggestions if there is none or more than one.
 */
export const findSessionId = async (store: Store, name: string): Promise<string> => {
  const whole = await describeSession(store, name)()
  if (!isLeft(whole) || whole.left._tag !== 'NoSuchLog') return name // the command reports other problems
  const found = await idsFrom(store, name)
  if (found.length === 1) return found[0] as string
  if (found.length > 1) throw new Unreadable(ambiguousText(found, name))
  const near = didYouMean(name, await idsFrom(store, ''))
  throw new Unreadable(
    `this store has no session ${JSON.stringify(name)}${near === '' ? `${await otherScopeAdvice(store, name)}; "indelible list" shows its sessions` : near}`,
  )
}

/**
 * The ids in a scope that a text means: by their beginning, or in a list's shortened form.
 *
 * Cost    a list of the sessions whose ids have that beginning
 */
export const idsFrom = async (store: Store, name: string): Promise<readonly string[]> => {
  const start = idStart(name)
  if (start === '') return (await sessionsIn(store)).map(({ id }) => id).filter((id) => matchesIdPattern(name, id))
  const whole = await describeSession(store, start)()
  if (isLeft(whole) && whole.left._tag === 'InvalidId') return []
  const ids = isLeft(whole) || !matchesIdPattern(name, start) ? [] : [start]
  for await (const { id } of allSessions(store, [], { by: 'id', first: 20, after: start })) {
    if (!id.startsWith(start)) break
    if (matchesIdPattern(name, id)) ids.push(id)
  }
  return ids
}

/**
 * Shortens the ids of sessions on a terminal, each among those of its store; elsewhere they stay whole.
 *
 * Cost    a list of all sessions of a store with a long id
 */
export const shortIdsByScope = async (
  sessions: readonly { readonly store: Store; readonly id: string }[],
  terminal: Pick<Terminal, 'shows' | 'columns'>,
): Promise<(session: { readonly store: Store; readonly id: string }) => string> => {
  const short = new Map<Store, (id: string) => string>()
  for (const [store, own] of Map.groupBy(sessions, (session) => session.store))
    if (own.some(({ id }) => isLongOn(terminal)(id)))
      short.set(
        store,
        shortIds(
          [...(await sessionsIn(store)), ...own].map(({ id }) => id),
          terminal,
        ),
      )
  return ({ store, id }) => short.get(store)?.(id) ?? oneLine(id)
}

const ambiguousText = (ids: readonly string[], beginning: string): string =>
  `${countText(ids.length, 'session')} of this store begin with ${JSON.stringify(beginning)}: ${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', …' : ''}; write more of the id`

/** Another scope with a session of that id. */
const otherScopeAdvice = async (store: Store, id: string): Promise<string> => {
  for (const other of await otherScopes(store)) {
    const scoped = store.scoped(other)
    if (isLeft(scoped)) continue
    const found = await describeSession(scoped.right, id)()
    if (!isLeft(found))
      return ` in the scope "${store.scope}", but one in the scope "${other}": --scope ${shellWord(other)}`
  }
  return ''
}

/** The other scopes; empty if the store can't list them. */
const otherScopes = async (store: Store): Promise<readonly string[]> =>
  ((await valueOrUnreadable(store.scopes())) ?? []).filter((name) => name !== store.scope)

/** The other scopes that have sessions; empty if there are none or the store can't list them. */
export const scopesBeside = async (store: Store): Promise<readonly string[]> => {
  const names: string[] = []
  for (const name of await otherScopes(store)) {
    const scoped = store.scoped(name)
    if (isLeft(scoped)) continue
    const { sessions } = await valueOrUnreadable(listSessions(scoped.right, { limit: 1 }))
    if (sessions.length > 0) names.push(name)
    if (names.length > mostNamed) break
  }
  return names
}

/** The most scopes that a message names. */
const mostNamed = 5

/** `the scopes "a" and "b"`. */
export const namesOf = (scopes: readonly string[]): string =>
  `${scopes.length === 1 ? 'the scope' : 'the scopes'} ${scopes
    .slice(0, mostNamed)
    .map((name) => JSON.stringify(name))
    .join(', ')}${scopes.length > mostNamed ? ' and more' : ''}`
