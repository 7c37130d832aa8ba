/** The option `--where` of lists: filters sessions by their fields. */
import { isLeft, isObject, type Json } from 'indelible/internal/json'
import type { SessionInfo } from 'indelible/session'
import { callsIn } from 'indelible/internal/usage'
import type { Store } from 'indelible/store'
import { Misuse, type Call, type Terminal } from '../terminal/command.ts'
import { activityOf, workFolderOf, importedFrom, titleOf, tokensOf } from '@indelible/view/internal'
import { sentIn } from './machines.ts'
import { sessionsIn } from './sessions.ts'
import { marksIn, type Marks } from './session-badges.ts'

export const whereHelp =
  'only sessions that match: FIELD=VALUE, FIELD~TEXT (contains), FIELD>N or FIELD<N; repeatable. A FIELD is id, title, project (its folder), messages, tokens (in and out), activity, created, model, program, host and user (that it was sent from), fork, held, encrypted (true), erased (how many), or a name in the metadata (from.format)'

/** Whether a session passes every `--where`. */
interface ListFilter {
  /** `models`: those of its calls; needed only if `readsModels`. */
  (info: SessionInfo, marks: Marks, models: readonly string[]): boolean
  readonly readsModels: boolean
  readonly readsTokens: boolean
  /** The names of metadata that no session had so far. */
  readonly unknown: ReadonlySet<string>
}

/** The filter of `--where`. Throws Misuse. */
export const filterOf = (values: Call['values']): ListFilter => {
  const unknown = new Set<string>()
  const conditions = (values['where'] ?? []) as readonly string[]
  const tests = conditions.map((text) => {
    const [, name, operator, wanted] = /^([^=~<>]+)([=~<>])(.*)$/s.exec(text) ?? []
    if (name === undefined || operator === undefined || wanted === undefined || /^[<>]=/.test(`${operator}${wanted}`))
      throw new Misuse(`--where takes FIELD=VALUE, FIELD~TEXT, FIELD>N or FIELD<N, not "${text}"`)
    const field = name.trim()
    if (field === 'cost') throw new Misuse('a list has no costs: "indelible spend --by session" prints them')
    if (numbers.has(field) && operator !== '~' && !/^-?\d+$/.test(wanted.trim()))
      throw new Misuse(`--where ${field} takes a whole number, not "${wanted.trim()}"`)
    if (!Object.hasOwn(fields, field)) unknown.add(field)
    return (info: SessionInfo, marks: Marks, models: readonly string[]) => {
      const found = field === 'model' ? [...models, ...valuesOf(info, marks, field)] : valuesOf(info, marks, field)
      if (found.length > 0) unknown.delete(field)
      return found.some((value) => matchesCondition(value, operator, wanted.trim()))
    }
  })
  const passes = (info: SessionInfo, marks: Marks, models: readonly string[]): boolean =>
    tests.map((test) => test(info, marks, models)).every((result) => result)
  const asks = (name: string): boolean => conditions.some((text) => new RegExp(`^\\s*${name}\\s*[=~<>]`).test(text))
  return Object.assign(passes, { unknown, readsModels: asks('model'), readsTokens: asks('tokens') })
}

/** The models of a session's calls; empty if they can't be read. Cost: O(notes). */
export const modelsOf = async (store: Store, info: SessionInfo): Promise<readonly string[]> => {
  const notes = await store.read(info.id, { only: 'note' })()
  return isLeft(notes) ? [] : callsIn(info, notes.right).flatMap(({ model }) => (model === '' ? [] : model))
}

/** The sessions of a store that pass every `--where`. Cost: that of a list of all sessions. */
export const sessionsWhere = async (
  store: Store,
  values: Call['values'],
  terminal: Terminal,
): Promise<ReadonlyMap<string, SessionInfo>> => {
  const passes = filterOf(values)
  const sessions = await sessionsIn(store)
  const marks = await marksIn(store, terminal, sessions)
  const found = new Map<string, SessionInfo>()
  for (const info of sessions)
    if (passes(info, marks(info), passes.readsModels ? await modelsOf(store, info) : [])) found.set(info.id, info)
  return found
}

/** The values of a field; several if the metadata has a list. */
const valuesOf = (info: SessionInfo, marks: Marks, name: string): readonly Json[] => {
  const own = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (own !== undefined) return own(info, marks)
  let found: Json | undefined = info.metadata as Json
  for (const step of name.split('.')) found = isObject(found) && Object.hasOwn(found, step) ? found[step] : undefined
  return found === undefined ? [] : Array.isArray(found) ? (found as readonly Json[]) : [found]
}

const fields: { readonly [name: string]: ((info: SessionInfo, marks: Marks) => readonly Json[]) | undefined } = {
  id: ({ id }) => [id],
  title: (info) => [titleOf(info) ?? ''],
  messages: ({ len }) => [len],
  tokens: (info) => listOf(tokensOf(info)),
  project: (info) => listOf(workFolderOf(info)),
  activity: (info) => [new Date(activityOf(info)).toISOString()],
  created: ({ created }) => [new Date(created).toISOString()],
  fork: ({ forkedFrom }) => (forkedFrom === undefined ? [] : [forkedFrom.id]),
  held: (_, { held = false }) => [held],
  encrypted: (_, { encrypted = false }) => [encrypted],
  erased: (_, { erased = 0 }) => [erased],
  program: ({ metadata: { import: from } }) => (isObject(from) ? listOf(from['program']) : []),
  host: ({ metadata }) => sentIn(metadata).map(({ host }) => host),
  user: ({ metadata }) => sentIn(metadata).map(({ user }) => user),
  model: (info) => {
    const { models } = importedFrom(info)
    return [
      ...(Array.isArray(models) ? (models as readonly Json[]) : []),
      info.metadata['model'] ?? [],
    ].flat() as Json[]
  },
}

const listOf = (value: Json | undefined): readonly Json[] => (value === undefined ? [] : [value])

/** The fields that every session has. */
export const fieldNames: readonly string[] = Object.keys(fields)

/** The fields that are whole numbers. */
const numbers: ReadonlySet<string> = new Set(['messages', 'tokens', 'erased'])

const matchesCondition = (value: Json, operator: string, wanted: string): boolean => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (operator === '=') return text === wanted
  if (operator === '~') return text.toLowerCase().includes(wanted.toLowerCase())
  const [a, b] = [Number(text), Number(wanted)]
  const [left, right] = Number.isNaN(a) || Number.isNaN(b) ? [text, wanted] : [a, b] // times compare correctly as texts
  return operator === '>' ? left > right : left < right
}
