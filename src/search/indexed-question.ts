/** The words of a question in an index. */
import { isLeft, present, right } from '../json/index.ts'
import { retractionTerm } from '../entry/internal.ts'
import { describeSession, type SessionInfo } from '../session/index.ts'
import type { Store } from '../store/index.ts'
import type { RowIndex } from '../store/internal.ts'
import { need, untilFault, type Steps } from '../task/index.ts'
import type { SearchFault } from './fault.ts'
import { reportOf, type QuestionPlan } from './hit.ts'
import { askCurrentIndex, damagedSessionsIn, described, encryptedLogsIn, filterTerms } from './indexed.ts'
import { retractionsIn } from './judge.ts'
import type { Question } from './question.ts'
import { mostPlaces, type Candidate, type WordSource } from './search-sessions.ts'
import { sessionsWhere } from './sessions-where.ts'

/** Looks the words up. Undefined if the store has no index. */
export async function* indexedWords(
  store: Store,
  index: RowIndex,
  { words }: Question,
  plan: QuestionPlan,
): Steps<SearchFault, WordSource | undefined> {
  const { session, since, until } = plan
  const query = { words, all: filterTerms(plan), ...present({ log: session, since, until }) }
  const found = yield* askCurrentIndex(index, () => index.places({ ...query, most: mostPlaces }))
  if (found === undefined) return undefined
  const only = session === undefined ? undefined : yield* need(describeSession(store, session))
  let allowed: ReadonlySet<string> | undefined
  if (plan.where !== undefined)
    allowed = new Set((yield* sessionsWhere(store, plan.where, plan.sessions)).map(({ id }) => id))
  else if (plan.sessions !== undefined) allowed = new Set(plan.sessions)
  let known = found.places.map(knownPlaces)
  if (allowed !== undefined && session === undefined)
    known = yield* placesInSegments(index, query, known, yield* need(index.segmentsOf([...allowed])))
  const unread = new Set<string>()
  return {
    messages: found.messages,
    places: async (numbers, groups) => {
      const wanted = numbers.map((word) => known[word] as KnownPlaces)
      const lists = wanted.map(({ places }) => inOneGroup(places, session))
      const before = Math.max(...wanted.map(({ from }) => from))
      const older = groups?.filter((group) => session !== undefined || group < before) ?? []
      if (before === 0 || older.length === 0) return right(lists)
      const more = await index.places({
        ...query,
        words: numbers.map((word) => words[word] ?? []),
        most: Infinity,
        ...(session === undefined && { segments: older }),
      })()
      if (isLeft(more)) return more
      return right(lists.map((list, at) => list.concat(inOneGroup(more.right?.places[at] ?? [], session))))
    },
    sessions: (groups) =>
      untilFault(() =>
        only === undefined
          ? candidatesIn(store, index, groups, allowed)
          : candidatesOf(index, new Map(groups.map(([group]) => [group, only] as const)), allowed),
      ),
    damaged: (id) => void unread.add(id),
    report: () =>
      untilFault(async function* () {
        const damaged = yield* damagedSessionsIn(store, index, { unread, wanted: present({ session }) })
        const encrypted = yield* encryptedLogsIn({ index, wanted: present({ session }) })
        return reportOf({ indexed: true, behind: found.behind, damaged, encrypted })
      }),
  }
}

/** Places of one session: those that it shares with its original are in other segments. */
const inOneGroup = (places: readonly number[], session: string | undefined): readonly number[] =>
  session === undefined ? places : places.map((each, at) => (at % 2 === 0 ? 0 : each))

/** Places of a word: all that are in segments from one on. */
interface KnownPlaces {
  readonly places: readonly number[]
  readonly from: number
}

/** Of a frequent word only the newest places are known. */
const knownPlaces = (places: readonly number[]): KnownPlaces => ({
  places,
  from: places.length < 2 * mostPlaces ? 0 : 1 + (places.at(-2) as number),
})

/** The most segments in which a word is looked for, if only its newest places are known. */
const mostSegments = 500

/** Those places of words that are in certain segments. */
async function* placesInSegments(
  index: RowIndex,
  query: Omit<Parameters<RowIndex['places']>[0], 'most'>,
  known: readonly KnownPlaces[],
  segments: readonly number[],
): Steps<SearchFault, KnownPlaces[]> {
  const wanted = new Set(segments)
  const found: KnownPlaces[] = []
  for (const [word, { places, from }] of known.entries()) {
    if (from > 0 && segments.length <= mostSegments) {
      const all = yield* need(
        index.places({
          ...query,
          words: [query.words[word] ?? []],
          most: mostPlaces,
          segments: [...segments].toSorted((a, b) => b - a),
        }),
      )
      found.push(knownPlaces(all?.places[0] ?? []))
      continue
    }
    const kept: number[] = []
    for (let at = 0; at < places.length; at += 2)
      if (wanted.has(places[at] as number)) kept.push(places[at] as number, places[at + 1] as number)
    found.push({ places: kept, from })
  }
  return found
}

/** For each group, the oldest of the sessions that have the row at a position of it. */
async function* candidatesIn(
  store: Store,
  index: RowIndex,
  groups: readonly (readonly [group: number, position: number])[],
  allowed: ReadonlySet<string> | undefined,
): Steps<SearchFault, ReadonlyMap<number, Candidate>> {
  const logs = yield* need(index.logsAt(groups.flat()))
  const ids = [...new Set(logs.flat())].filter((id) => allowed?.has(id) !== false)
  const infos = yield* described(store, ids)
  const sessions = new Map<number, SessionInfo>()
  for (const [at, [group]] of groups.entries())
    for (const id of logs[at] ?? []) {
      const info = infos.get(id)
      if (info === undefined || isLeft(info)) continue
      sessions.set(group, info.right)
      break
    }
  return yield* candidatesOf(index, sessions, allowed)
}

async function* candidatesOf(
  index: RowIndex,
  sessions: ReadonlyMap<number, SessionInfo>,
  allowed: ReadonlySet<string> | undefined,
): Steps<SearchFault, ReadonlyMap<number, Candidate>> {
  const ids = [...new Set([...sessions.values()].map(({ id }) => id))]
  const notes = yield* need(index.findIn(ids, retractionTerm))
  const found = new Map<number, Candidate>()
  for (const [group, info] of sessions)
    if (allowed?.has(info.id) !== false) found.set(group, { info, retracted: retractionsIn(notes.get(info.id) ?? []) })
  return found
}
