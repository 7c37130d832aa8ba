/** The faults of searching. */
import { describe } from '../json/index.ts'
import type { ReadSessionFault } from '../session/index.ts'
import { sessionSentences } from '../session/fault.ts'
import type { ListFault, StoreFaultOf } from '../store/index.ts'
import {
  sentencesOf,
  taskOf,
  taskOfSteps,
  type CallbackThrew,
  type Sentences,
  type TaskOf,
  type TaskOfSteps,
} from '../task/index.ts'
import type { BlockFault, MediumFault } from '../store/internal.ts'

/** Faults that only searches have. */
export type SearchOnlyFault =
  /** The query has no word to search for. */
  {
    readonly _tag: 'EmptyQuery'
    /** The query. */
    readonly query: string
  }

/** Faults of searching a store. */
export type SearchFault = SearchOnlyFault | ListFault | ReadSessionFault | BlockFault | StoreFaultOf<'DamagedIndex'>

/** Faults of making, rebuilding or dropping an index. */
export type IndexFault = MediumFault | StoreFaultOf<'NoFullText'> | CallbackThrew

export const searchSentences: Sentences<SearchOnlyFault> = {
  EmptyQuery: ({ query }) =>
    `the query ${describe(query)} has no word to search for; give at least one word, "some words" or begin*; -word only excludes messages, and dashes are ignored`,
}

/** Makes tasks whose faults have these sentences. */
export const searchTask: TaskOf<SearchFault | IndexFault> = taskOf(
  sentencesOf<SearchFault | IndexFault>({ ...sessionSentences, ...searchSentences }),
)

/** Makes such tasks from steps. */
export const searchSteps: TaskOfSteps<SearchFault | IndexFault> = taskOfSteps(searchTask)
