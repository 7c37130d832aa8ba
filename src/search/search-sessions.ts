/** Answers a question: the sessions that it may be about, each with its best passages. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from '../json/index.ts'
import type { Range } from '../history/index.ts'
import type { SessionInfo } from '../session/index.ts'
import type { Store, StoredRow } from '../store/index.ts'
import { isRecorded, Slices } from '../store/internal.ts'
import { fail, need, type Steps } from '../task/index.ts'
import type { SearchFault } from './fault.ts'
import type { QuestionPlan, SearchHit, SessionsFound } from './hit.ts'
import { blocksFor, hitIn, isInRanges, searchedIn } from './judge.ts'
import { passageIn } from './passage.ts'
import type { Month, Question } from './question.ts'
import { rankRows, scoreSession, sumOfBits, weightOf, type RankedRow, type WordRows } from './rank-sessions.ts'

/** The places of a word: numbers of groups, each followed by a position. Newest group first, then last position first. */
type Places = readonly number[]

/** A session among the candidates. Rows are grouped by the session that they were appended to. */
export interface Candidate {
  readonly info: SessionInfo
  readonly retracted: readonly Range[]
}

type Answer<T> = Promise<Either<SearchFault, T>>

/** Where the words of a question are: an index, or messages that were read. */
export interface WordSource {
  /** The number of messages of the scope. */
  readonly messages: number
  /** The places of each word, at most `mostPlaces`; with `groups` all that are in them, and perhaps others. */
  readonly places: (words: readonly number[], groups?: readonly number[]) => Answer<readonly Places[]>
  /** The sessions of groups, each with a position of the group; absent if it has none that may be searched. */
  readonly sessions: (
    groups: readonly (readonly [group: number, position: number])[],
  ) => Answer<ReadonlyMap<number, Candidate>>
  /** What the result says of the search. */
  readonly report: () => Answer<Omit<SessionsFound, 'sessions' | 'more'>>
  /** Lists a session as damaged. */
  readonly damaged: (id: string) => void
}

/**
 * The most places of a word that are counted, and of all words that are compared at first, rare words first. The other
 * words are looked for only in the sessions with these.
 */
export const mostPlaces = 20_000
const mostCompared = 60_000
/** The number of sessions that are compared in full, and how many are looked up at a time to find them. */
const leastCandidates = 40
const candidatesAtOnce = 50

/** Answers a question from a source. */
export async function* sessionsFor(
  store: Store,
  source: WordSource,
  question: Question,
  plan: QuestionPlan,
): Steps<SearchFault, SessionsFound> {
  const all = question.words.map((_, index) => index)
  const found = yield* need(source.places(all))
  const weights = found.map((places) => weightOf(places.length / 2, source.messages))
  const rare = rareWords(found)
  const groups = groupPlaces(found, rare)
  const candidates = yield* firstCandidates(source, groups, weights, plan)
  const common = all.filter((index) => !rare.includes(index))
  if (common.length > 0) {
    const filled = yield* need(source.places(common, [...candidates.keys()]))
    for (const [at, places] of filled.entries()) addPlaces(groups, places, common[at] as number, candidates)
  }
  const ranked = rankSessions(groups, candidates, weights, question.month)
  const sessions: SessionsFound['sessions'][number][] = []
  const search = { store, source, question, plan, weights, slices: new Slices() }
  for (const session of ranked) {
    if (sessions.length === plan.limit) break
    const passages = yield* passagesOf(search, session)
    if (passages.length === 0) continue
    const more = session.rows.length - passages.length
    const { score, candidate } = session
    sessions.push(
      Object.freeze({
        session: candidate.info.id,
        score: rounded(score),
        passages: Object.freeze(passages),
        more: Math.max(0, more),
      }),
    )
  }
  const report = yield* need(source.report())
  const more = Math.max(0, groups.size - sessions.length)
  return Object.freeze({ sessions: Object.freeze(sessions), more, ...report })
}

/** The words that are compared in all sessions: the rarest, at least one. */
const rareWords = (found: readonly Places[]): readonly number[] => {
  const rarestFirst = [...found.keys()].toSorted((a, b) => (found[a] as Places).length - (found[b] as Places).length)
  const rare: number[] = []
  let compared = 0
  for (const index of rarestFirst) {
    const places = (found[index] as Places).length / 2
    if (compared > 0 && (places >= mostPlaces || compared + places > mostCompared)) break
    compared += places
    rare.push(index)
  }
  return rare
}

const rounded = (score: number): number => Math.round(Math.min(1, score) * 1000) / 1000

const groupPlaces = (found: readonly Places[], words: readonly number[]): Map<number, WordRows> => {
  const groups = new Map<number, WordRows>()
  for (const word of words) addPlaces(groups, found[word] as Places, word)
  return groups
}

/** @param only adds those of these groups alone. Default: all */
const addPlaces = (
  groups: Map<number, WordRows>,
  places: Places,
  word: number,
  only?: ReadonlyMap<number, unknown>,
): void => {
  for (let at = 0; at < places.length; at += 2) {
    const [group, position] = [places[at] as number, places[at + 1] as number]
    if (only?.has(group) === false) continue
    let rows = groups.get(group)
    if (rows === undefined) groups.set(group, (rows = { bits: new Map() }))
    rows.bits.set(position, (rows.bits.get(position) ?? 0) | (1 << word))
  }
}

/** The most promising sessions, by their rare words. Their lengths are not known yet: the last position stands for them. */
async function* firstCandidates(
  source: WordSource,
  groups: ReadonlyMap<number, WordRows>,
  weights: readonly number[],
  { limit }: QuestionPlan,
): Steps<SearchFault, ReadonlyMap<number, Candidate>> {
  const lasts = [...groups].map(([group, { bits }]) => ({ group, last: lastOf(bits.keys()) }))
  const average = 1 + lasts.reduce((sum, { last }) => sum + last, 0) / Math.max(1, lasts.length)
  const ranked = lasts
    .map(({ group, last }) => ({
      group,
      last,
      score: scoreSession(groups.get(group) as WordRows, weights, (1 + last) / average, 0),
    }))
    .toSorted((a, b) => b.score - a.score || b.group - a.group)
  const wanted = Math.max(leastCandidates, 3 * limit)
  const candidates = new Map<number, Candidate>()
  for (let at = 0; at < ranked.length && candidates.size < wanted; at += candidatesAtOnce) {
    const piece = ranked.slice(at, at + candidatesAtOnce).map(({ group, last }) => [group, last] as const)
    for (const [group, candidate] of yield* need(source.sessions(piece))) candidates.set(group, candidate)
  }
  return candidates
}

const lastOf = (positions: Iterable<number>): number => {
  let last = 0
  for (const position of positions) last = Math.max(last, position)
  return last
}

interface RankedSession {
  readonly candidate: Candidate
  readonly rows: readonly RankedRow[]
  readonly score: number
}

const rankSessions = (
  groups: ReadonlyMap<number, WordRows>,
  candidates: ReadonlyMap<number, Candidate>,
  weights: readonly number[],
  month: Month | undefined,
): readonly RankedSession[] => {
  const average =
    1 + [...candidates.values()].reduce((sum, { info }) => sum + ownLength(info), 0) / Math.max(1, candidates.size)
  return [...candidates]
    .map(([group, candidate]) => {
      const rows = groups.get(group) as WordRows
      const score = scoreSession(
        rows,
        weights,
        (1 + ownLength(candidate.info)) / average,
        month === undefined ? 0 : shareOfMonth(month, candidate.info.appended),
      )
      const best = rankRows(rows, weights).toSorted((a, b) => b.score - a.score || a.position - b.position)
      return { group, candidate, rows: best, score }
    })
    .toSorted((a, b) => b.score - a.score || b.group - a.group)
}

/** The number of messages that were appended to the session itself. */
const ownLength = ({ len, forkedFrom }: SessionInfo): number => len - (forkedFrom?.at ?? 0)

/** 1 in the month; half as much for a fortnight after it, when people speak of it. */
const shareOfMonth = ({ month, year }: Month, at: number): number => {
  const isIn = (time: Date): boolean =>
    time.getUTCMonth() === month && (year ?? time.getUTCFullYear()) === time.getUTCFullYear()
  if (isIn(new Date(at))) return 1
  return isIn(new Date(at - fortnight)) ? 0.5 : 0
}

const fortnight = 14 * 24 * 3600 * 1000

/** Faults of a session that was removed meanwhile, or whose key was. */
const isNothing: ReadonlySet<string> = new Set(['NoSuchLog', 'NoKey'])

/** The most messages of a session that are read for its passages: some may be retracted or altered. */
const mostRead = 50

interface PassageSearch {
  readonly store: Store
  readonly source: WordSource
  readonly question: Question
  readonly plan: QuestionPlan
  readonly weights: readonly number[]
  readonly slices: Slices
}

/** The best messages of a session, read from the record. */
async function* passagesOf(search: PassageSearch, session: RankedSession): Steps<SearchFault, readonly SearchHit[]> {
  const { store, plan, weights } = search
  const { id } = session.candidate.info
  const total = sumOfBits(-1, weights)
  const passages: SearchHit[] = []
  const rows = session.rows.slice(0, mostRead)
  for (let next = 0; next < rows.length && passages.length < plan.passages;) {
    const some = rows.slice(next, next + plan.passages - passages.length)
    next += some.length
    const reads = await Promise.all(some.map(({ position }) => store.read(id, { from: position, to: position + 1 })()))
    for (const [at, read] of reads.entries()) {
      if (isLeft(read) && read.left._tag === 'DamagedLog') search.source.damaged(id)
      else if (isLeft(read) && !isNothing.has(read.left._tag)) yield* fail(read.left)
      const row = isLeft(read) ? undefined : read.right[0]
      const score = rounded((some[at] as RankedRow).score / total)
      const passage = row && (await passageOf(search, session.candidate, row, score))
      if (passage !== undefined) passages.push(passage)
    }
  }
  return passages
}

/** A message as a passage; undefined if it does not belong to the answer, or is not what was recorded. */
const passageOf = async (
  { store, source, question, plan, weights, slices }: PassageSearch,
  { info: { id }, retracted: ranges }: Candidate,
  row: StoredRow,
  score: number,
): Promise<SearchHit | undefined> => {
  const retracted = isInRanges(ranges, row.index)
  if (retracted && !plan.retracted) return undefined
  const searched = searchedIn(row, await blocksFor(store, [row]), plan)
  if (searched === 'unread') return void source.damaged(id)
  const passage = searched && (await passageIn(searched.texts, question, weights, slices))
  if (searched === undefined || passage === undefined) return undefined
  const recorded = await isRecorded(store, id, row)()
  if (isLeft(recorded) || !recorded.right) return void source.damaged(id)
  return Object.freeze({ session: id, ...hitIn(row, searched, { ...passage, score }), retracted })
}
