/** The words of a question in messages that are read one by one: for a store without an index. */
import { isLeft, ownFields, present, right } from '../json/index.ts'
import { describeSession, type SessionInfo } from '../session/index.ts'
import type { Store } from '../store/index.ts'
import { Slices } from '../store/internal.ts'
import { need, untilFault, type Steps } from '../task/index.ts'
import type { SearchFault } from './fault.ts'
import { reportOf, type QuestionPlan } from './hit.ts'
import { searchedIn } from './judge.ts'
import { bitsIn } from './passage.ts'
import type { Question } from './question.ts'
import { readMessages, retractionsOf, type Reading } from './read-messages.ts'
import { mostPlaces, type Candidate, type WordSource } from './search-sessions.ts'
import { sessionsWhere } from './sessions-where.ts'

/** Reads the newest messages, and returns where the words are. */
export async function* scanWords(store: Store, question: Question, plan: QuestionPlan): Steps<SearchFault, WordSource> {
  const { session } = plan
  const isFiltered = plan.where !== undefined || plan.sessions !== undefined
  const only = session === undefined ? undefined : yield* need(describeSession(store, session))
  const listed = only === undefined || isFiltered ? yield* sessionsWhere(store, plan.where, plan.sessions) : [only]
  const infos = only === undefined ? listed : listed.filter(({ id }) => id === only.id)
  const reading: Reading = {
    store,
    wanted: ownFields({ retracted: plan.retracted, ...present({ session }) }),
    damaged: [],
    encrypted: [],
    retractions: new Map(),
    rows: 0,
  }
  const slices = new Slices()
  const places = question.words.map((): number[] => [])
  let unread = 0
  for (const [index, info] of infos.entries()) {
    const group = infos.length - index // newest first
    const below = yield* readMessages(reading, info, undefined, async (row, blocks) => {
      await slices.next(row.body.length)
      const searched = searchedIn(row, blocks, plan)
      if (searched === undefined) return right(false)
      if (searched === 'unread') return right('damaged' as const)
      const bits = await bitsIn(searched.texts, question, slices)
      for (const [word, list] of places.entries()) if ((bits & (1 << word)) !== 0) list.push(group, row.position)
      return right(false)
    })
    unread += below ?? 0
  }
  const infoOf = (group: number): SessionInfo => infos[infos.length - group] as SessionInfo
  const messages =
    session === undefined && !isFiltered
      ? infos.reduce((sum, { len }) => sum + len, 0)
      : (yield* sessionsWhere(store, undefined)).reduce((sum, { len }) => sum + len, 0)
  return {
    messages,
    places: async (words, groups) =>
      right(
        words.map((word) => {
          const list = places[word] as number[]
          return groups === undefined ? list.slice(0, 2 * mostPlaces) : list
        }),
      ),
    sessions: async (groups) => {
      const found = new Map<number, Candidate>()
      for (const [group] of groups) {
        const info = infoOf(group)
        const retracted = await untilFault(() => retractionsOf(reading, info.id))
        if (!isLeft(retracted)) found.set(group, { info, retracted: retracted.right })
      }
      return right(found)
    },
    damaged: (id) => {
      if (!reading.damaged.includes(id)) reading.damaged.push(id)
    },
    report: async () => {
      const { damaged, encrypted, rows } = reading
      return right(reportOf({ indexed: false, read: rows, unread, damaged, encrypted }))
    },
  }
}
